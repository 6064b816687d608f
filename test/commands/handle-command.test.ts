import t from 'tap'
import { emptyStream, handleCommand, TooMuchContentionError } from '../../src/commands/handle-command.js'
import { accept, type Decider, refuse } from '../../src/domain/decider.js'
import { type DomainEvent, encodeEvent } from '../../src/event-store/event-codec.js'
import { type EventStore, KeyReservedError, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { context, openTestStore } from '../support/embedded-store.js'

const merchantId = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'
const suspended: DomainEvent = { type: 'MerchantSuspended', data: { merchantId, at: '2026-03-01T09:00:00.000Z' } }
const resumed: DomainEvent = { type: 'MerchantResumed', data: { merchantId, at: '2026-03-01T09:00:00.000Z' } }

/** Counts events. `add` appends events while there are fewer than `below`. */
interface Add {
  readonly events: readonly DomainEvent[]
  readonly below?: number
}
const counter: Decider<number, Add, DomainEvent> = {
  initialState: 0,
  decide: ({ events, below = 100 }, count) =>
    count < below ? accept(...events) : refuse('conflict', 'claim-limit', { most: below }),
  evolve: (count) => count + 1,
}

/** Returns the store with an action that runs before each append. */
function before(store: EventStore, action: (attempt: number) => Promise<unknown>) {
  const counts = { reads: 0, appends: 0 }
  const wrapped: EventStore = {
    ...store,
    readStream: (...args) => {
      counts.reads++
      return store.readStream(...args)
    },
    appendInOrder: async (appends) => {
      await action(++counts.appends)
      return store.appendInOrder(appends)
    },
  }
  return { wrapped, counts }
}

const another = (store: EventStore, revision: number | 'no_stream') =>
  store.append('s-1', revision, [encodeEvent(resumed, context)])

t.test('appends the decided events at the revision read, and folds them into the result', async (t) => {
  const store = await openTestStore(t)
  const first = await handleCommand(store, counter, 's-1', { events: [suspended, resumed] }, context)
  t.match(first, { accepted: true, state: 2, revision: 1, events: [suspended, resumed] })
  const second = await handleCommand(store, counter, 's-1', { events: [suspended] }, context)
  t.match(second, { accepted: true, state: 3, revision: 2 })
  t.strictSame(
    (await store.readStream('s-1')).map(({ type, data }) => ({ type, data })),
    [suspended, resumed, suspended],
  )
})

t.test('appends nothing for an empty decision or a refusal, and returns the state', async (t) => {
  const store = await openTestStore(t)
  const { wrapped, counts } = before(store, async () => undefined)
  await another(store, 'no_stream')
  t.strictSame(await handleCommand(wrapped, counter, 's-1', { events: [] }, context), {
    accepted: true,
    state: 1,
    events: [],
    revision: 0,
  })
  t.match(await handleCommand(wrapped, counter, 's-1', { events: [suspended], below: 1 }, context), {
    accepted: false,
    state: 1,
    refusal: { reason: 'conflict' },
  })
  t.match(await handleCommand(wrapped, counter, 's-2', { events: [] }, context), { state: 0, revision: 'no_stream' })
  t.equal(counts.appends, 0)
})

t.test('decides again after a conflict, on the state that the other writer left', async (t) => {
  const store = await openTestStore(t)
  const { wrapped, counts } = before(store, async (attempt) => attempt === 1 && another(store, 'no_stream'))
  const result = await handleCommand(wrapped, counter, 's-1', { events: [suspended], below: 1 }, context)
  t.match(result, { accepted: false, refusal: { reason: 'conflict' }, state: 1 })
  t.strictSame(counts, { reads: 2, appends: 1 })
  t.equal((await store.readStream('s-1')).length, 1, 'only the other writer appended')
})

t.test('gives up after ten conflicts and appends nothing', async (t) => {
  const store = await openTestStore(t)
  const { wrapped, counts } = before(store, (attempt) => another(store, attempt === 1 ? 'no_stream' : attempt - 2))
  await t.rejects(handleCommand(wrapped, counter, 's-1', { events: [suspended] }, context), TooMuchContentionError)
  t.strictSame(counts, { reads: 10, appends: 10 })
  const types = (await store.readStream('s-1')).map((event) => event.type)
  t.strictSame(types, Array(10).fill('MerchantResumed'))
})

t.test('tolerates nine conflicts', async (t) => {
  const store = await openTestStore(t)
  const { wrapped } = before(store, async (attempt) => {
    if (attempt < 10) await another(store, attempt === 1 ? 'no_stream' : attempt - 2)
  })
  t.match(await handleCommand(wrapped, counter, 's-1', { events: [suspended] }, context), { state: 10, revision: 9 })
})

t.test('throws any other error immediately and does not repeat an append that may have succeeded', async (t) => {
  const store = await openTestStore(t)
  const { wrapped, counts } = before(store, async () => {
    throw new StoreUnavailableError('the disk is full')
  })
  await t.rejects(handleCommand(wrapped, counter, 's-1', { events: [suspended] }, context), StoreUnavailableError)
  t.equal(counts.appends, 1)
})

t.test('reads a stream that is assumed to be new only after a conflict', async (t) => {
  const store = await openTestStore(t)
  const { wrapped, counts } = before(store, async () => undefined)
  const assumeNew = { loaded: emptyStream(counter) }
  t.match(await handleCommand(wrapped, counter, 's-1', { events: [suspended] }, context, assumeNew), { revision: 0 })
  t.strictSame(counts, { reads: 0, appends: 1 })
  t.match(await handleCommand(wrapped, counter, 's-1', { events: [suspended] }, context, assumeNew), {
    state: 2,
    revision: 1,
  })
  t.strictSame(counts, { reads: 1, appends: 3 })
})

t.test('a result that found one event says nothing about another one (simulated seed 305)', async (t) => {
  const store = await openTestStore(t)
  const add = { events: [suspended] }
  const first = { onceId: '3d1f0c66-8c7e-4d4b-9d0a-0f5b8f0e6a01' }
  const second = { onceId: '3d1f0c66-8c7e-4d4b-9d0a-0f5b8f0e6a02' }
  await handleCommand(store, counter, 's-1', add, context, first)
  const repeated = await handleCommand(store, counter, 's-1', add, context, first)
  t.match(repeated, { accepted: true, isRepeat: true, events: [] })
  if (!repeated.accepted) return
  const next = await handleCommand(store, counter, 's-1', add, context, { ...second, loaded: repeated })
  t.match(next, { accepted: true, events: [Object] })
  t.equal((await store.readStream('s-1')).length, 2)
})

t.test('reserves keys for a stream that it creates, and only then', async (t) => {
  const store = await openTestStore(t)
  const handle = (stream: string, key: string) =>
    handleCommand(store, counter, stream, { events: [suspended] }, context, { reserves: [key] })
  t.match(await handle('s-1', 'a'), { accepted: true, revision: 0 })
  t.match(await handle('s-1', 'b'), { accepted: true, revision: 1 })
  await t.rejects(handle('s-2', 'a'), new KeyReservedError('s-2'))
  t.match(await handle('s-2', 'b'), { accepted: true, revision: 0 })
})

t.test('stores actor, correlation, causation and schema version with every event', async (t) => {
  const store = await openTestStore(t)
  const metadata = { actor: 'cli:root', $correlationId: 'job-9', $causationId: 'event-8' }
  await handleCommand(store, counter, 's-1', { events: [suspended, resumed] }, metadata)
  for (const event of await store.readStream('s-1')) t.strictSame(event.metadata, { ...metadata, schemaVersion: 1 })
})

t.test('gives events random ids, or ids derived from their cause', async (t) => {
  const store = await openTestStore(t)
  await handleCommand(store, counter, 's-1', { events: [suspended, suspended] }, context)
  t.equal(new Set((await store.readStream('s-1')).map((event) => event.id)).size, 2)
  const id = '6e4c5a4e-2f8d-5b0a-9c39-2f9d35a7a001'
  await handleCommand(store, counter, 's-2', { events: [suspended] }, context, { onceId: id })
  t.equal((await store.readStream('s-2'))[0]?.id, id)
})
