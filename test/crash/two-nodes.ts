import { randomInt, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type EventStore, type RecordedEvent, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { projectionStatus } from '../../src/projections/projection-status.js'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { type Receiver, startReceiver } from '../callbacks/receiver.js'
import { runCli } from '../cli/in-process.js'
import { context } from '../support/embedded-store.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { long } from '../support/long.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { type ServiceProcess, startServiceProcess } from '../support/processes.js'
import { openServiceLog } from '../support/service-log.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

interface TwoNodes {
  /** The directory of the read models, and of an embedded log. */
  readonly directory: string
  readonly environment: { readonly [name: string]: string }
  /** How often one of the two nodes is killed. */
  readonly kills: number
}

const transfersPerBurst = 30
const settledWithinMs = 300_000

/** The results that the nodes acknowledged while one of them was killed repeatedly. */
interface Acknowledged {
  /** The trackingIds of successful creates. */
  readonly created: Set<string>
  /** How many of the two concurrent terminal commands changed each transfer, or undefined if unknown. */
  readonly finished: Map<string, number | undefined>
  cutOff: number
}

/**
 * Runs two nodes on one log and the same read models, and kills one repeatedly during concurrent creates, completions
 * and cancellations. Then checks the guarantees of one node.
 */
export async function killEitherNode(t: Test, scene: TwoNodes): Promise<void> {
  const { directory, kills } = scene
  const environment = {
    ...scene.environment,
    SANDBOX: 'off',
    CALLBACK_ALLOWED_NETWORKS: '127.0.0.0/8',
    LOG_LEVEL: 'warn',
  }
  const receiver = await startReceiver(t, (_, response) => {
    // Attempts are in flight when a node dies.
    setTimeout(() => response.writeHead(200).end('ok'), randomInt(0, 30))
  })
  const credentials = await registerMerchant(directory, environment, receiver)
  const store = await openServiceLog(directory, environment)
  t.teardown(() => store.close())
  const start = () => startServiceProcess(t, { directory, environment })
  const nodes: [ServiceProcess, ServiceProcess] = [await start(), await start()]
  const lap = stopwatch(t)
  const acknowledged: Acknowledged = { created: new Set(), finished: new Map(), cutOff: 0 }

  for (let kill = 0; kill < kills; kill++) {
    const victim = randomInt(2) as 0 | 1
    const burst = sendBurst(t, nodes, credentials, store, acknowledged)
    await sleep(randomInt(5, 300))
    await nodes[victim].end('SIGKILL')
    await burst
    const survivor = nodes[1 - victim]!
    const [restarted] = await Promise.all([
      start(),
      sendBurst(t, [survivor, survivor], credentials, store, acknowledged),
    ])
    nodes[victim] = restarted
  }
  const summary = `${acknowledged.created.size} creates acknowledged, ${acknowledged.cutOff} requests cut off`
  t.comment(summary)
  // A few kills may all fall between the responses of two bursts.
  if (long) t.ok(acknowledged.cutOff > 0, summary)

  lap(`${kills} kills`)
  const log = await wholeLog(store)
  checkLog(t, log, acknowledged)
  await checkCallbacks(t, log, receiver)
  lap('callbacks')
  await checkReadModels(t, directory, store, nodes)
  lap('read models')
}

/** Reports the durations of a slow run. */
function stopwatch(t: Test): (what: string) => void {
  let sinceMs = performance.now()
  return (what) => {
    t.comment(`${what}: after ${Math.round(performance.now() - sinceMs)} ms`)
    sinceMs = performance.now()
  }
}

async function registerMerchant(
  directory: string,
  environment: { readonly [name: string]: string },
  receiver: Receiver,
) {
  const options = ['--callback-url', receiver.url, '--sandbox', '--callback-on-create', '--rate-limit', '100000']
  const { stdout, stderr } = await runCli(
    directory,
    ['merchants', 'create', '--name', 'Two', ...options, '--json'],
    environment,
  )
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as Credentials
}

/** Sends every other create to both nodes, then completes and cancels the acknowledged ones concurrently. */
async function sendBurst(
  t: Test,
  nodes: readonly [ServiceProcess, ServiceProcess],
  credentials: Credentials,
  store: EventStore,
  acknowledged: Acknowledged,
): Promise<void> {
  const commands = transferCommands(
    store,
    () => new Date().toISOString(),
    async () => merchantSettings,
  )
  const one = async (_: unknown, n: number) => {
    const referenceId = randomUUID()
    // A create that only one node receives cannot be restored by the other if the first acknowledges and loses it.
    const targets = n % 2 === 0 ? nodes : [nodes[randomInt(2)]!]
    const responses = await Promise.all(
      targets.map(({ baseUrl }) => createDeposit(baseUrl, credentials, referenceId).catch(() => undefined)),
    )
    acknowledged.cutOff += responses.filter((response) => response === undefined).length
    const ids = responses.flatMap((response) => (response?.status === 200 ? [response.body.result!.trackingId] : []))
    if (new Set(ids).size > 1) t.fail(`two trackingIds for one create: ${ids}`)
    const [trackingId] = ids
    if (trackingId === undefined) return
    acknowledged.created.add(trackingId)
    await commands.act(trackingId, { type: 'SendToManualControl', message: null }, context).catch(ignoreUnavailable)
    const results = await Promise.all([
      commands.act(trackingId, { type: 'Complete' }, context).catch(ignoreUnavailable),
      commands.act(trackingId, { type: 'Cancel', message: null }, context).catch(ignoreUnavailable),
    ])
    const unknown = results.includes(undefined)
    const changes = results.filter((result) => result?.accepted && result.changed).length
    acknowledged.finished.set(trackingId, unknown ? undefined : changes)
  }
  await Promise.all(Array.from({ length: transfersPerBurst }, one))
}

/** Ignores an unavailable store, because the outcome is then unknown. @throws any other error */
function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreUnavailableError)) throw error
}

const terminal = new Set(['TransferCompleted', 'TransferCancelled', 'TransferFailed'])

function checkLog(t: Test, log: readonly RecordedEvent[], { created, finished }: Acknowledged): void {
  const creations = log.filter(({ type }) => type === 'DepositCreated').map(({ data }) => data.trackingId)
  const stored = new Set(creations)
  t.equal(stored.size, creations.length, 'each transfer has one creation')
  t.strictSame(
    [...created].filter((trackingId) => !stored.has(trackingId)),
    [],
    'the log contains every acknowledged create',
  )
  const ends = new Map<unknown, number>()
  for (const { type, data } of log) {
    if (terminal.has(type)) ends.set(data.trackingId, (ends.get(data.trackingId) ?? 0) + 1)
  }
  t.strictSame(
    [...ends].filter(([, count]) => count > 1),
    [],
    'no transfer has two terminal events',
  )
  const inconsistent = [...finished].filter(
    ([trackingId, changes]) => changes !== undefined && (changes !== 1 || ends.get(trackingId) !== 1),
  )
  t.strictSame(inconsistent, [], 'one of two concurrent terminal commands is accepted and in the log')
}

async function checkCallbacks(t: Test, log: readonly RecordedEvent[], { received }: Receiver): Promise<void> {
  const expected = new Map<string, number[]>()
  const expectedIds = new Set<string>()
  for (const { id, stream, revision, data } of log) {
    if (!stream.startsWith('transfer-')) continue
    const trackingId = String(data.trackingId)
    expectedIds.add(id)
    expected.set(trackingId, [...(expected.get(trackingId) ?? []), revision])
  }
  const missing = () => {
    const seen = new Set(received.map(({ webhookId }) => webhookId))
    return [...expectedIds].filter((id) => !seen.has(id))
  }
  await until(() => missing().length === 0, settledWithinMs).catch(() => undefined)
  t.strictSame(missing(), [], `each of ${expectedIds.size} changes is called back (${received.length} requests)`)
  const firsts = new Map<string, Set<number>>()
  for (const { trackingId, revision } of received) {
    firsts.set(trackingId, (firsts.get(trackingId) ?? new Set()).add(revision))
  }
  const disordered = [...expected].filter(([trackingId, revisions]) => {
    return JSON.stringify([...(firsts.get(trackingId) ?? [])]) !== JSON.stringify(revisions)
  })
  t.strictSame(disordered, [], 'the callbacks of a transfer arrive in order, apart from repeats')
}

async function checkReadModels(
  t: Test,
  directory: string,
  store: EventStore,
  nodes: readonly ServiceProcess[],
): Promise<void> {
  const readModels = await openEmbeddedReadModels({ directory: join(directory, 'data') })
  t.teardown(() => readModels.close())
  const settled = async () => {
    const projections = await projectionStatus({ store, readModels })
    const waiting = await readModels.collection('callbacks').countDocuments({ dueAt: { $exists: true } })
    return waiting === 0 && projections.every(({ state }) => state === 'current')
  }
  await until(settled, settledWithinMs)
  t.strictSame(await Promise.all(nodes.map((node) => node.end('SIGTERM'))), [0, 0], 'both nodes exit gracefully')
  const expected = expectedDocuments(await wholeLog(store))
  const found = await storedDocuments(readModels)
  for (const [collection, documents] of Object.entries(expected)) {
    t.equal(found[collection]?.join('\n'), documents.join('\n'), `${collection} equals the fold of the log`)
  }
}
