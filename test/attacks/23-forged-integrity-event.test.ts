import { randomUUID } from 'node:crypto'
import { logPath } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { saveIntegrityStatus } from '../../src/audit/integrity/integrity-status.js'
import { IntegrityCommands } from '../../src/commands/integrity/integrity-commands.js'
import { integrityStream, streamPrefixes } from '../../src/domain/streams.js'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import { StoreUnavailableError } from '../../src/event-store/event-store.js'
import { backlogMetrics } from '../../src/operations/metrics.js'
import { signInAs } from '../support/dashboard.js'
import { context } from '../support/embedded-store.js'
import { destroyTestService, startTestService, type TestServiceOptions } from '../support/test-service.js'
import { until } from '../support/until.js'

const minute = 60_000
const at = '2026-03-01T08:00:00.000Z'
const payoutsStopped = /^payouts are stopped since .* the log does not verify: integrity-log@0: /

/** Starts a service with the metrics of its stores, and a user who sees the Operations page. */
async function service(t: Test, options: TestServiceOptions = {}) {
  const metrics = new Registry()
  let elapsedMs = 0
  // The clock of the rates advances a minute at each reading, so that no rate limit rejects a request.
  const monotonicMs = () => {
    elapsedMs += minute
    return elapsedMs
  }
  const started = await startTestService({ projections: true, ...options, overrides: { metrics, monotonicMs } })
  t.teardown(() => destroyTestService(started))
  const { store, readModels, directory, clock, app, http } = started
  backlogMetrics(metrics, { store, readModels, directory, clock })
  const operator = await signInAs(started, 'operations')
  const raw = http.privacy.raw
  return {
    ...started,
    /** Appends an event that the service did not write. */
    forge: async (stream: string) => {
      const resumed = encodeEvent({ type: 'PayoutsResumed', data: { reason: 'forged', at } }, context)
      const last = (await raw.readStream(stream)).at(-1)?.revision ?? 'no_stream'
      await raw.append(stream, last, [{ ...resumed, id: randomUUID() }])
    },
    /** Returns the number of unreadable events of each kind that has any. */
    counted: async () => {
      const { body } = await app.inject('/metrics')
      const found = [...body.matchAll(/transferd_unreadable_events\{kind="(\w+)"\} (\d+)/g)]
      return new Map(found.flatMap(([, kind, count]) => (count === '0' ? [] : [[kind!, Number(count)] as const])))
    },
    details: async () => (await app.inject('/health/ready')).json<{ details: string[] }>().details,
    page: async () => {
      const { items } = (await operator.get('/operations/problems')).json<{ items: { stream: string }[] }>()
      return items.map(({ stream }) => stream)
    },
    operator,
  }
}

const kindOf = (stream: string) => stream.slice(0, stream.indexOf('-'))

/** Returns the number of unreadable events of each kind that the sentences name. */
function named(details: readonly string[]): Map<string, number> {
  const kinds = details.flatMap((detail) => {
    const [, stream] = /^(\S+)@\d+ cannot be read: /.exec(detail) ?? []
    if (stream !== undefined) return [kindOf(stream)]
    if (!detail.startsWith('further events cannot be read: ')) return []
    return [...detail.matchAll(/(\d+) of (\w+)/g)].flatMap(([, count, kind]) => Array(Number(count)).fill(kind!))
  })
  return countsOf(kinds)
}

function countsOf(kinds: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

t.test('the metric, the readiness and the Operations page count the same forged events of every kind', async (t) => {
  const { forge, counted, details, page } = await service(t)
  await forge(integrityStream)
  await until(async () => (await details()).some((detail) => payoutsStopped.test(detail)))
  for (const round of [1, 2]) {
    for (const prefix of streamPrefixes) for (let n = 0; n < round; n++) await forge(`${prefix}${randomUUID()}`)
    const expected = round === 1 ? streamPrefixes.length + 1 : 3 * streamPrefixes.length + 1
    const total = async () => [...(await counted()).values()].reduce((sum, count) => sum + count, 0)
    await until(async () => (await total()) === expected)
    const counts = await counted()
    t.strictSame(new Set(counts.keys()), new Set(streamPrefixes.map((prefix) => prefix.slice(0, -1))))
    const sentences = await details()
    t.strictSame(named(sentences), counts, 'every kind is in the details')
    t.match(sentences[0], payoutsStopped, 'and the stop of payouts comes before the events')
    t.ok(sentences.length < 30, 'the response is short')
    t.strictSame(countsOf((await page()).map(kindOf)), counts)
  }
})

t.test('an event with an impossible time hides nothing, and stops payouts', async (t) => {
  for (const recordedAt of [9_000_000_000_000_000, -9_000_000_000_000_000, 'never', 1.5]) {
    const { forge, counted, details, page, path, operator, transfers } = await service(t)
    await forge(integrityStream)
    const db = new Database(logPath(path))
    db.prepare('UPDATE events SET recorded_at = ? WHERE name = ?').run(recordedAt, integrityStream)
    db.close()
    await until(async () => (await counted()).get('integrity') !== undefined)
    t.equal(await transfers.arePayoutsStopped(), true)
    await until(async () => (await details()).some((detail) => payoutsStopped.test(detail)))
    t.ok((await details()).some((detail) => detail.startsWith('integrity-log@0 cannot be read: ')))
    t.ok((await page()).includes(integrityStream))
    t.equal((await operator.get('/operations/projections')).statusCode, 200)
  }
})

t.test('a source of details that fails is named and hides no other one', async (t) => {
  let isAway = false
  const { details } = await service(t, {
    wrapStore: (store) => ({
      ...store,
      readStream: async (stream, options) => {
        if (isAway && stream === integrityStream) throw new StoreUnavailableError('away')
        return store.readStream(stream, options)
      },
    }),
  })
  const before = await details()
  isAway = true
  t.strictSame(await details(), ['the integrity of the log cannot be checked now', ...before])
})

t.test(
  'findings in spite of which payouts were resumed stay in the details while a verification counts them',
  async (t) => {
    const { store, clock, readModels, details } = await service(t)
    const finding = { kind: 'tree', place: 'tile/0/000', leafIndex: null, problem: 'The file is missing.' } as const
    const verification = { occasion: 'requested', startedAt: at, finishedAt: at, verified: 1, treeSize: 1 } as const
    const status = { note: null, signedAt: null, verifierKey: null, witnesses: [], problems: [] }
    await saveIntegrityStatus(readModels, { ...status, verifications: [{ ...verification, findings: [finding] }] })
    const commands = new IntegrityCommands(store, clock)
    await commands.report([finding], 1, context)
    t.match((await details())[0], /^payouts are stopped since .*: tile\/0\/000: The file is missing/)
    await commands.resumePayouts('the tree is restored', 0, context)
    const known = /^the log does not verify, as known when payouts were resumed: tile\/0\/000: The file is missing/
    t.match((await details())[0], known)
    await saveIntegrityStatus(readModels, { ...status, verifications: [{ ...verification, findings: [] }] })
    t.notOk((await details()).some((detail) => /verify|payouts/.test(detail)))
  },
)
