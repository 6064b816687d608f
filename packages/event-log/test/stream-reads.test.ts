import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { openEventLog, type ReadStreamOptions, type RecordedEvent, StreamDeletedError } from '../src/event-log.js'
import { StreamStore } from '../src/stream-store.js'
import { tempDirectory } from './support/temp-directory.js'

const numbered = (n: number) => ({ type: 'T', data: { n } })

/** Collects the revisions of events, and the error that ends them. */
function follow(events: AsyncIterable<RecordedEvent>) {
  const seen = { revisions: [] as number[], ended: Promise.resolve<unknown>(undefined) }
  const collect = async () => {
    for await (const { revision } of events) seen.revisions.push(revision)
  }
  seen.ended = collect().then(
    () => 'ended',
    (error: unknown) => error,
  )
  return seen
}

async function until(condition: () => boolean): Promise<void> {
  for (const endMs = Date.now() + 10_000; !condition() && Date.now() < endMs; ) await sleep(5)
}

t.test('iterating yields the events that reading returns, over page boundaries', async (t) => {
  const log = await openEventLog({ directory: tempDirectory(t), writerThread: false })
  t.teardown(() => log.close())
  const count = 2_345
  await log.append(
    'long',
    'no_stream',
    Array.from({ length: count }, (_, n) => numbered(n)),
  )
  const limit = fc.option(fc.integer({ min: 1, max: count + 10 }), { nil: undefined })
  const options = fc.record(
    { direction: fc.constantFrom('forwards', 'backwards'), fromRevision: fc.nat(count + 10), maxCount: limit },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(options, async (given) => {
      const range = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
      const events: RecordedEvent[] = []
      for await (const event of log.iterateStream('long', range as ReadStreamOptions)) events.push(event)
      t.same(events, await log.readStream('long', range as ReadStreamOptions))
    }),
    { numRuns: 50 },
  )
  t.throws(() => log.iterateStream('long', { maxCount: 0 }), { name: 'TypeError' })
})

t.test('iterating reads a page only when the previous one is consumed', async (t) => {
  const log = await openEventLog({ directory: tempDirectory(t), writerThread: false })
  t.teardown(() => log.close())
  await log.append(
    'long',
    'no_stream',
    Array.from({ length: 1_500 }, (_, n) => numbered(n)),
  )
  const events = log.iterateStream('long')[Symbol.asyncIterator]()
  await events.next()
  await log.append('long', 1_499, [numbered(1_500)])
  let last: RecordedEvent | undefined
  for (let next = await events.next(); !next.done; next = await events.next()) last = next.value
  t.equal(last?.revision, 1_500, 'the second page has an event that is younger than the first page')
})

t.test('a subscription yields the existing and the new events of one stream', async (t) => {
  const log = await openEventLog({ directory: tempDirectory(t), writerThread: false })
  t.teardown(() => log.close())
  const stopping = new AbortController()
  const { signal } = stopping
  const missing = follow(log.subscribeToStream('later', { signal }))
  await log.append('a', 'no_stream', [0, 1, 2].map(numbered))
  const all = follow(log.subscribeToStream('a', { signal }))
  const rest = follow(log.subscribeToStream('a', { fromRevision: 2, signal }))
  const future = follow(log.subscribeToStream('a', { fromRevision: 5, signal }))
  await until(() => all.revisions.length === 3)
  for (let n = 3; n < 7; n++) {
    await log.append('other', 'any', [numbered(n)])
    await log.append('a', n - 1, [numbered(n)])
  }
  await log.append('later', 'no_stream', [numbered(0)])
  await until(() => missing.revisions.length === 1 && all.revisions.length === 7 && future.revisions.length === 2)
  t.same(all.revisions, [0, 1, 2, 3, 4, 5, 6])
  t.same(rest.revisions, [2, 3, 4, 5, 6])
  t.same(future.revisions, [5, 6])
  t.same(missing.revisions, [0])
  stopping.abort()
  t.same(await Promise.all([all, rest, future, missing].map(({ ended }) => ended)), Array(4).fill('ended'))
  t.throws(() => log.subscribeToStream('a', { fromRevision: -1, signal }), { name: 'TypeError' })
})

t.test('a subscription receives every event of appends by many callers and another connection', async (t) => {
  const directory = tempDirectory(t)
  const [log, other] = [await openEventLog({ directory }), await openEventLog({ directory, writerThread: false })]
  t.teardown(() => Promise.all([log.close(), other.close()]))
  const stopping = new AbortController()
  const seen = follow(log.subscribeToStream('a', { signal: stopping.signal }))
  await Promise.all(Array.from({ length: 200 }, (_, n) => (n % 2 ? log : other).append('a', 'any', [numbered(n)])))
  await until(() => seen.revisions.length >= 200)
  stopping.abort()
  t.equal(await seen.ended, 'ended')
  t.same(
    seen.revisions,
    Array.from({ length: 200 }, (_, n) => n),
  )
})

t.test('a subscription continues after a soft deletion and ends with a tombstone', async (t) => {
  const directory = tempDirectory(t)
  const [log, streams] = [await openEventLog({ directory, writerThread: false }), StreamStore.open(directory)]
  t.teardown(() => Promise.all([log.close(), streams.close()]))
  const { signal } = new AbortController()
  await log.append('a', 'no_stream', [numbered(0)])
  const seen = follow(log.subscribeToStream('a', { signal }))
  await until(() => seen.revisions.length === 1)
  await streams.delete('a', 'any')
  await log.append('a', 'any', [numbered(1)])
  await until(() => seen.revisions.length === 2)
  await streams.tombstone('a', 'any')
  t.same(await seen.ended, new StreamDeletedError('a'))
  t.same(seen.revisions, [0, 1])
  const late = follow(log.subscribeToStream('a', { signal }))
  t.same(await late.ended, new StreamDeletedError('a'))
  t.same(late.revisions, [0, 1], 'the events remain readable')
})

t.test('closing the log ends its subscriptions with an error, and a break ends one without', async (t) => {
  const log = await openEventLog({ directory: tempDirectory(t), writerThread: false })
  const { signal } = new AbortController()
  await log.append('a', 'no_stream', [numbered(0)])
  for await (const { revision } of log.subscribeToStream('a', { signal })) {
    t.equal(revision, 0)
    break
  }
  const waiting = [follow(log.subscribeToStream('a', { signal })), follow(log.subscribeToStream('b', { signal }))]
  await until(() => waiting[0]?.revisions.length === 1)
  await log.close()
  for (const { ended } of waiting) t.match(await ended, { name: 'StoreUnavailableError' })
  t.match(await follow(log.subscribeToStream('a', { signal })).ended, { name: 'StoreUnavailableError' })
})
