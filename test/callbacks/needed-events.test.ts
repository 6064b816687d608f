import t from 'tap'
import { CallbackMemory } from '../../src/callbacks/callback-memory.js'
import { onlyNeeded } from '../../src/callbacks/needed-events.js'
import { emptyStream } from '../../src/commands/handle-command.js'
import { callbackDecider } from '../../src/domain/callback.js'
import { callbackStream, transferStream } from '../../src/domain/streams.js'
import type { Page, RecordedEvent } from '../../src/event-store/event-store.js'
import { openTestStore } from '../support/embedded-store.js'

const event = (stream: string, revision: number, type: string, data = {}) =>
  ({ stream, revision, type, data }) as unknown as RecordedEvent

t.test('needs every event but creations without a callback and deliveries that it knows', async (t) => {
  const memory = new CallbackMemory(undefined)
  memory.keep('known', { ...emptyStream(callbackDecider), revision: 3, causes: new Map() })
  const delivered = (trackingId: string, revision: number) =>
    event(callbackStream(trackingId), revision, 'CallbackDelivered')
  const created = (type: string, callbackOnCreate: unknown) => event(transferStream('t'), 0, type, { callbackOnCreate })
  for (const [isNeeded, each] of [
    [false, created('DepositCreated', false)],
    [false, created('WithdrawalCreated', false)],
    [true, created('DepositCreated', true)],
    [true, event(transferStream('t'), 1, 'TransferCompleted')],
    [true, event(transferStream('t'), 1, 'LateFundsReceived')],
    [true, event(transferStream('t'), 1, 'Unknown')],
    [false, delivered('known', 2)],
    [false, delivered('known', 3)],
    [true, delivered('known', 4)],
    [true, delivered('unknown', 1)],
    [true, event(callbackStream('known'), 2, 'CallbackAttemptFailed')],
    [true, event(callbackStream('known'), 2, 'CallbackRequeued')],
  ] as const)
    t.equal(memory.isNeeded(each), isNeeded, `${each.stream}@${each.revision} ${each.type}`)
})

t.test('omits events that are not needed, but not the last one of a page', async (t) => {
  const store = await openTestStore(t)
  for (const type of ['Needed', 'Other', 'Other', 'Needed', 'Other'])
    await store.append(`s-${Math.random()}`, 'no_stream', [{ id: crypto.randomUUID(), type, data: {}, metadata: {} }])
  const stopping = new AbortController()
  const pages: Page[] = []
  const followed = onlyNeeded(store, ({ type }) => type === 'Needed')
  for await (const page of followed.subscribeToAll({ pageSize: 3, signal: stopping.signal })) {
    pages.push(page)
    if (page.atEnd) stopping.abort()
  }
  const places = pages.map(({ events, checkpoint }) => [events.map(({ type }) => type), checkpoint?.commit])
  t.strictSame(places, [
    [['Needed', 'Other'], 3n],
    [['Needed', 'Other'], 5n],
  ])
})
