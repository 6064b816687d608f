import t from 'tap'
import { CallbackCommands, type CallbackRequest } from '../../src/commands/callback/callback-commands.js'
import { derivedEventId } from '../../src/commands/ids.js'
import { context, openTestStore } from '../support/embedded-store.js'

const at = '2026-03-01T10:00:00.000Z'
const trackingId = '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10'
const request: CallbackRequest = {
  webhookId: 'b7d7c1de-58d1-4e0a-8f6c-2c4f6a0c9e21',
  trackingId,
  merchantId: '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11',
  transferRevision: 1,
  payload: {
    status: 2,
    referenceId: 'order-1001',
    message: null,
    amountMinor: 10_000n,
    transactionAmountMinor: 10_000n,
    hasAmountMismatch: false,
    receiptUrl: null,
  },
}

t.test('records a delivery once for any number of requests, with an id derived from the transfer event', async (t) => {
  const store = await openTestStore(t)
  const commands = new CallbackCommands(store, () => at)
  const results = await Promise.all(Array.from({ length: 20 }, () => commands.record(request, context)))
  t.ok(results.every((result) => result.accepted))
  const events = await store.readStream(`callback-${trackingId}`)
  t.equal(events.length, 1)
  t.equal(events[0]?.id, derivedEventId(request.webhookId, 'callback recorded'))
  t.strictSame(events[0]?.metadata, { ...context, schemaVersion: 1 })
})

t.test('appends one delivered event when two workers report the same delivery', async (t) => {
  const store = await openTestStore(t)
  const commands = new CallbackCommands(store, () => at)
  await commands.record(request, context)
  const delivered = { attempt: 1, httpStatus: 200, durationMs: 3, outcome: { result: 'delivered' } } as const
  const report = () => commands.reportAttempt(trackingId, request.webhookId, delivered, context)
  await Promise.all([report(), report()])
  const types = (await store.readStream(`callback-${trackingId}`)).map((event) => event.type)
  t.strictSame(types, ['CallbackRecorded', 'CallbackDelivered'])
})

t.test('folds a lane from the log, including requeues, and returns an unknown lane as empty', async (t) => {
  const store = await openTestStore(t)
  const commands = new CallbackCommands(store, () => at)
  t.strictSame((await commands.lane(trackingId)).deliveries, [])
  t.match(await commands.requeue(trackingId, 'latest', context), { accepted: false, refusal: { reason: 'not-found' } })
  await commands.record(request, context)
  const outcome = { result: 'parked', reason: 'answered 500' } as const
  const parked = { attempt: 1, httpStatus: 500, durationMs: 3, outcome }
  await commands.reportAttempt(trackingId, request.webhookId, parked, context)
  t.match((await commands.lane(trackingId)).deliveries, [{ status: 'parked', attempts: 1 }])
  await commands.requeue(trackingId, 'parked', context)
  t.match((await commands.lane(trackingId)).deliveries, [{ status: 'waiting', attempts: 0 }])
})
