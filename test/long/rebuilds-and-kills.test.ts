import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { uuidV5 } from '../../src/commands/ids.js'
import type { CallbackEvent } from '../../src/domain/callback.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import type { Append } from '../../src/event-store/event-store.js'
import { allProjections } from '../../src/projections/all-projections.js'
import { readPointer } from '../../src/projections/projection-pointer.js'
import { projectionStatus } from '../../src/projections/projection-status.js'
import { ProjectionTasks } from '../../src/projections/projection-tasks.js'
import type { Collection } from '../../src/read-models/read-models.js'
import { created as samples } from '../domain/transfer-samples.js'
import { type TestStores, testStores } from '../projections/stores.js'
import { until } from '../support/until.js'

const eventsEach = 8
const transfers = 200_000 / eventsEach
/** The transfers that are projected while they are created. The first build covers all earlier ones. */
const servedTransfers = 5_000
const batch = 250
const program = fileURLToPath(new URL('../projections/projection-process.js', import.meta.url))
const namespace = '6f2d9ad8-6d3f-4a51-b0c1-0d5f3a1c9e10'
const merchants = Array.from({ length: 20 }, (_, n) => uuidV5(`merchant ${n}`, namespace))
const metadata = { actor: 'test', $correlationId: 'c', $causationId: 'c' }

/** Returns the eight events of a transfer and its callbacks. Together, the transfers cover all kinds and outcomes. */
function appendsOf(n: number): Append[] {
  const trackingId = uuidV5(`transfer ${n}`, namespace)
  const merchantId = merchants[n % merchants.length]!
  const at = new Date(Date.parse('2026-01-01T00:00:00.000Z') + n * 60_000).toISOString()
  const common = { trackingId, merchantId, referenceId: `reference-${n}`, amountMinor: BigInt(100 + n), at }
  const customer = {
    userId: `user-${n % 10_000}`,
    name: `Customer ${n}`,
    paymentMethod: 1 + (n % 3),
    callbackOnCreate: true,
  }
  const { deposit, withdrawal } = samples
  const own = { ...common, ...customer }
  const created: TransferEvent =
    n % 2 === 0
      ? { ...deposit, data: { ...deposit.data, ...own, expiresAt: at } }
      : { ...withdrawal, data: { ...withdrawal.data, ...own, accountNumber: `TR${n}` } }
  const changed = { ...common, kind: created.data.kind, message: n % 5 === 0 ? 'a message' : null }
  const money = { transactionAmountMinor: BigInt(100 + n), receivedAmountMinor: BigInt(100 + n) }
  const outcome = { ...money, hasAmountMismatch: false, receiptUrl: null, reason: null }
  const ended: TransferEvent =
    n % 7 === 0
      ? { type: 'TransferFailed', data: changed }
      : { type: 'TransferCompleted', data: { ...changed, ...outcome } }
  const controlled: TransferEvent = { type: 'TransferSentToManualControl', data: changed }
  return [
    { stream: `transfer-${trackingId}`, expectedRevision: 'no_stream', events: encoded([created, controlled, ended]) },
    { stream: `callback-${trackingId}`, expectedRevision: 'no_stream', events: encoded(callbacksOf(n, changed)) },
  ]
}

function callbacksOf(
  n: number,
  { trackingId, merchantId, referenceId, amountMinor, at }: TransferEvent['data'],
): CallbackEvent[] {
  const payload = {
    referenceId,
    message: null,
    amountMinor,
    transactionAmountMinor: 0n,
    hasAmountMismatch: false,
    receiptUrl: null,
  }
  const [first, second] = [1, 2].map((revision) => ({
    ...{ webhookId: uuidV5(`${trackingId} ${revision}`, namespace), trackingId, merchantId, at },
  }))
  const attempt = { attempt: 1, httpStatus: n % 3 === 0 ? null : 500, durationMs: 5 }
  return [
    { type: 'CallbackRecorded', data: { ...first!, transferRevision: 1, payload: { ...payload, status: 3 } } },
    { type: 'CallbackAttemptFailed', data: { ...first!, ...attempt, reason: 'timeout', nextAttemptAt: at } },
    { type: 'CallbackDelivered', data: { ...first!, attempt: 2, httpStatus: 200, durationMs: 5 } },
    { type: 'CallbackRecorded', data: { ...second!, transferRevision: 2, payload: { ...payload, status: 2 } } },
    ...(n % 11 === 0
      ? [{ type: 'CallbackParked' as const, data: { ...second!, ...attempt, reason: 'gone' } }]
      : [{ type: 'CallbackDelivered' as const, data: { ...second!, attempt: 1, httpStatus: 204, durationMs: 5 } }]),
  ]
}

function encoded(events: readonly (TransferEvent | CallbackEvent)[]) {
  return events.map((event) => encodeEvent(event, metadata))
}

t.setTimeout(900_000)

async function append(stores: TestStores, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += batch) {
    const appends = Array.from({ length: Math.min(batch, to - n) }, (_, each) => appendsOf(n + each))
    await stores.store.appendInOrder(appends.flat())
  }
}

/** Runs projections in processes that are killed after a random time, until `isDone`. Returns the number of kills. */
async function killedUntil(directory: string, upToMs: number, isDone: () => Promise<boolean>): Promise<number> {
  let kills = 0
  let child: ChildProcess | undefined
  let killAtMs = 0
  // The time grows, so that a slow machine also completes each step.
  let withinMs = upToMs
  while (!(await isDone())) {
    if (!child || performance.now() > killAtMs) {
      if (child) {
        child.kill('SIGKILL')
        await once(child, 'exit')
        kills++
      }
      child = spawn(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(child.stdout!, 'data')
      killAtMs = performance.now() + Math.random() * withinMs
      withinMs *= 1.5
    }
    await sleep(50)
  }
  child?.kill('SIGKILL')
  if (child) await once(child, 'exit')
  return kills
}

/** Returns the ids of documents that are not identical byte for byte, and the number of documents. */
async function differences(a: Collection, b: Collection): Promise<{ count: number; differing: string[] }> {
  const differing: string[] = []
  let count = 0
  let after: string | undefined
  for (;;) {
    const [left, right] = [await a.texts(after, 5_000), await b.texts(after, 5_000)]
    if (left.length === 0 && right.length === 0) return { count, differing }
    const [leftTexts, rightTexts] = [left, right].map((page) => page.map(({ _id, text }) => `${_id}\n${text}`))
    for (const [n, text] of leftTexts!.entries()) if (text !== rightTexts![n]) differing.push(left[n]!._id)
    if (left.length !== right.length) differing.push('the pages have different lengths')
    count += left.length
    if (differing.length > 0) return { count, differing }
    after = left.at(-1)?._id
  }
}

async function requestRebuilds(t: Test, stores: TestStores): Promise<() => Promise<boolean>> {
  const tasks = new ProjectionTasks(stores.readModels, stores.clock)
  for (const { name } of allProjections) await tasks.request(name, { what: 'rebuild', by: 'test' })
  return async () => {
    const found = await Promise.all(allProjections.map(({ name }) => tasks.find(name)))
    for (const task of found) if (task?.state === 'failed' || task?.reason) t.fail(JSON.stringify(task))
    return found.every((task) => task?.state === 'done' || task?.state === 'failed')
  }
}

t.test(
  '200,000 events give identical documents after any kills during projection and rebuild',
  { timeout: 900_000 },
  async (t) => {
    const stores = await testStores(t)
    const { directory, readModels } = stores
    const startedMs = performance.now()
    const report = (what: string) => t.comment(`${what}: ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`)
    await append(stores, 0, transfers / 4)
    const [, built] = await Promise.all([
      append(stores, transfers / 4, transfers - servedTransfers),
      killedUntil(directory, 4_000, await requestRebuilds(t, stores)),
    ])
    report(`built the first version with ${built} kills`)

    const serving = append(stores, transfers - servedTransfers, transfers)
    let appended = false
    serving.then(() => {
      appended = true
    })
    const served = await killedUntil(directory, 1_000, async () => {
      return appended && (await projectionStatus(stores)).every(({ lagEvents }) => lagEvents === 0)
    })
    await serving
    report(`projected new events with ${served} kills`)

    const rebuilt = await killedUntil(directory, 4_000, await requestRebuilds(t, stores))
    report(`rebuilt, compared and switched with ${rebuilt} kills`)
    t.ok(built + served + rebuilt >= 3, `${built} + ${served} + ${rebuilt} kills`)
    for (const projection of allProjections) {
      const { served, previous } = (await readPointer(readModels, projection.name))!
      const [now, before] = [served, previous!].map(({ collection }) => readModels.collection(collection))
      const { count, differing } = await differences(now!, before!)
      t.same(differing, [], `${count} documents of ${projection.name}`)
      if (projection.name === 'transfers') t.equal(count, transfers)
    }
    report('compared')
    await until(async () => (await projectionStatus(stores)).every(({ state }) => state === 'current'))
    const builds = (await readModels.listCollections()).filter((name) => name.includes('@'))
    t.equal(builds.length, 2 * allProjections.length, 'only the served and the previous builds remain')
  },
)
