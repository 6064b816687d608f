import { randomUUID } from 'node:crypto'
import t from 'tap'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import { type EventStore, type Page, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { readEvent, skipEvents } from '../../src/event-store/read-event.js'
import { discardSharedPages, follow } from '../../src/subscriptions/follow.js'
import { openTestStore } from '../support/embedded-store.js'
import { until } from '../support/until.js'

const newEvent = () => ({ id: randomUUID(), type: 'Something', data: {}, metadata: {} })

function append(store: EventStore, stream: string, count = 1) {
  return store.append(stream, 'no_stream', Array.from({ length: count }, newEvent))
}

/** Returns the store with counters of its reads and subscriptions. */
function counted(store: EventStore) {
  const counts = { reads: 0, subscriptions: 0 }
  const counting: EventStore = {
    ...store,
    readAll: (options) => {
      counts.reads++
      return store.readAll(options)
    },
    subscribeToAll: (options) => {
      counts.subscriptions++
      return store.subscribeToAll(options)
    },
  }
  return { store: counting, counts }
}

/** A follower with the received events as `stream@revision`. */
function follower(t: { teardown(end: () => Promise<void>): void }, store: EventStore, streamPrefixes: string[]) {
  const stopping = new AbortController()
  const seen: string[] = []
  const failures: Error[] = []
  const pages: Page[] = []
  const ended = follow({
    ...{ store, streamPrefixes, after: undefined, signal: stopping.signal },
    onUnavailable: (error) => failures.push(error),
    handle: (page) => {
      pages.push(page)
      seen.push(...page.events.map(({ stream, revision }) => `${stream}@${revision}`))
    },
  })
  const stop = async () => {
    stopping.abort()
    await ended
  }
  t.teardown(stop)
  return { seen, pages, failures, stop }
}

t.test('followers of one store share one subscription, and each gets its own streams once and in order', async (t) => {
  const { store, counts } = counted(await openTestStore(t))
  await append(store, 'a-1', 3)
  const a = follower(t, store, ['a-'])
  const all = follower(t, store, ['a-', 'b-'])
  await until(() => a.seen.length === 3 && all.seen.length === 3)
  for (let n = 2; n <= 20; n++) {
    await append(store, `a-${n}`)
    await append(store, `b-${n}`)
    await append(store, `c-${n}`)
  }
  await until(() => a.seen.length === 22 && all.seen.length === 41)
  t.strictSame(
    a.seen,
    all.seen.filter((place) => place.startsWith('a-')),
  )
  t.equal(new Set(all.seen).size, 41)
  t.ok(
    counts.subscriptions <= 2,
    `${counts.subscriptions} subscriptions: a new one when a follower of other streams joins`,
  )
  t.ok(counts.reads <= 4, `${counts.reads} reads`)
})

t.test('followers that catch up at the same position read each page once', async (t) => {
  const { store, counts } = counted(await openTestStore(t))
  await append(store, 'a-1', 1_700)
  const followers = [1, 2, 3, 4].map(() => follower(t, store, ['a-']))
  await until(() => followers.every(({ seen }) => seen.length === 1_700))
  t.ok(counts.reads <= 8, `${counts.reads} reads of 4 pages`)
})

t.test('decodes an event once for all followers, even if it is unreadable', async (t) => {
  const store = await openTestStore(t)
  const [one, other] = [follower(t, store, ['a-']), follower(t, store, ['a-', 'b-'])]
  await append(store, 'a-1')
  await until(() => one.seen.length === 1 && other.seen.length === 1)
  const failures = [one, other].map(({ pages }) => {
    const [event] = pages.flatMap(({ events }) => events)
    try {
      return readEvent(event!)
    } catch (error) {
      return error
    }
  })
  t.match(failures[0], { name: 'UnreadableEventError' })
  t.equal(failures[0], failures[1], 'all followers receive the same object')
})

t.test('a follower that lags behind receives every event and joins the others at the end', async (t) => {
  const store = await openTestStore(t)
  const quick = follower(t, store, ['a-'])
  await until(() => quick.pages.length > 0)
  for (let n = 1; n <= 6; n++) await append(store, `a-${n}`, 500)
  await until(() => quick.seen.length === 3_000)
  const late = follower(t, store, ['a-'])
  await until(() => late.seen.length === 3_000)
  await append(store, 'a-7')
  await until(() => late.seen.length === 3_001 && quick.seen.length === 3_001)
  t.strictSame(late.seen, quick.seen)
})

t.test('resumes after an outage of the store without gaps or repetitions', async (t) => {
  const inner = await openTestStore(t)
  let failing = 0
  const store: EventStore = {
    ...inner,
    subscribeToAll: async function* (options) {
      for await (const page of inner.subscribeToAll(options)) {
        if (failing-- > 0) throw new StoreUnavailableError('no')
        yield page
      }
    },
  }
  const [one, other] = [follower(t, store, ['a-']), follower(t, store, ['b-'])]
  await append(store, 'a-1')
  await append(store, 'b-1')
  await until(() => one.seen.length === 1 && other.seen.length === 1)
  failing = 3
  await append(store, 'a-2')
  await append(store, 'b-2')
  await until(() => one.seen.length === 2 && other.seen.length === 2)
  t.strictSame(
    [one.seen, other.seen],
    [
      ['a-1@0', 'a-2@0'],
      ['b-1@0', 'b-2@0'],
    ],
  )
  t.ok(one.failures.length + other.failures.length > 0)
})

t.test('a permanent error ends only the follower that caused it', async (t) => {
  const store = await openTestStore(t)
  const other = follower(t, store, ['a-'])
  const { signal } = new AbortController()
  const failed = follow({
    ...{ store, streamPrefixes: ['a-'], after: undefined, signal, onUnavailable: () => undefined },
    handle: (page) => {
      if (page.events.length > 0) throw new Error('a mistake')
    },
  })
  const rejected = t.rejects(failed, { message: 'a mistake' })
  await append(store, 'a-1')
  await rejected
  await append(store, 'a-2')
  await until(() => other.seen.length === 2)
})

t.test('repeats reads from before an event was skipped', async (t) => {
  const log = await openTestStore(t)
  const store = skipEvents(log)
  const first = follower(t, store, ['transfer-'])
  await append(log, 'transfer-1')
  await until(() => first.seen.length === 1)
  const { id } = first.pages.flatMap(({ events }) => events)[0]!
  const place = { stream: 'transfer-1', revision: 0, eventId: id, eventType: 'Something' }
  const data = { ...place, problem: 'unknown', reason: 'a test', at: new Date().toISOString() }
  const context = { actor: 'test', $correlationId: id, $causationId: id }
  await log.append('problems-skipped', 'no_stream', [encodeEvent({ type: 'EventSkipped', data }, context)])
  await store.readStream('problems-skipped')
  discardSharedPages(store)
  const second = follower(t, store, ['transfer-'])
  await until(() => second.seen.length === 1)
  t.equal(second.pages.flatMap(({ events }) => events)[0]?.isSkipped, true)
})

t.test('a follower stops immediately in any state of waiting', async (t) => {
  const store = await openTestStore(t)
  for (let n = 0; n < 20; n++) {
    const one = follower(t, store, ['a-'])
    const other = follower(t, store, ['b-'])
    await append(store, `b-${n}`)
    await new Promise((resolve) => setTimeout(resolve, n))
    await Promise.all([one.stop(), other.stop()])
  }
  t.pass('all ended')
})
