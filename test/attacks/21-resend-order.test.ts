import fc from 'fast-check'
import t from 'tap'
import { type CallbackEvent, callbackDecider, nextDelivery } from '../../src/domain/callback.js'
import { specification } from '../support/given-when-then.js'

const { given, fold } = specification(callbackDecider)
const owner = { trackingId: 'transfer', merchantId: 'merchant' }
const at = '2026-03-01T10:00:00.000Z'
const nextAttemptAt = '2026-03-01T15:00:00.000Z'
const later = '2026-03-01T10:10:00.000Z'
const amounts = { amountMinor: 1n, transactionAmountMinor: 1n }
const payload = { status: 2, referenceId: 'r', message: null, receiptUrl: null, hasAmountMismatch: false, ...amounts }
const recorded = (webhookId: string, transferRevision: number): CallbackEvent => ({
  type: 'CallbackRecorded',
  data: { webhookId, ...owner, transferRevision, payload, at },
})
const attempted = (webhookId: string) => ({ webhookId, ...owner, at, attempt: 1, httpStatus: 500, durationMs: 1 })
const failed = (webhookId: string): CallbackEvent => ({
  type: 'CallbackAttemptFailed',
  data: { ...attempted(webhookId), reason: 'HTTP 500', nextAttemptAt },
})
const parked = (webhookId: string): CallbackEvent => ({
  type: 'CallbackParked',
  data: { ...attempted(webhookId), reason: 'HTTP 500' },
})
const delivered = (webhookId: string): CallbackEvent => ({ type: 'CallbackDelivered', data: attempted(webhookId) })
const requeued = (webhookId: string): CallbackEvent => ({
  type: 'CallbackRequeued',
  data: { webhookId, ...owner, at: later },
})

t.test('a resend first sends what waits before the chosen callback', async () => {
  const waiting = [recorded('a', 1), recorded('b', 2), recorded('c', 3), failed('b')]
  for (const type of ['Requeue', 'Resend'] as const) {
    given(...waiting, delivered('c'))
      .when({ type, which: 'latest', at: later })
      .then([requeued('b'), requeued('c')])
    given(...waiting)
      .when({ type, which: { webhookId: 'c' }, at: later })
      .then([requeued('b')], 'the chosen callback waits for its first attempt')
    given(...waiting)
      .when({ type, which: { webhookId: 'a' }, at: later })
      .then([], 'a later callback is not resent')
    given(recorded('a', 1), recorded('b', 2), failed('a'), parked('b'))
      .when({ type, which: 'parked', at: later })
      .then([requeued('a'), requeued('b')])
  }
})

t.test('after a resend the next callback of the transfer is due, in the order of the transfer', async () => {
  const fate = fc.constantFrom('recorded', 'failed', 'parked', 'delivered')
  const lanes = fc.array(fate, { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(lanes, fc.nat(), (fates, n) => {
      const history = fates.flatMap((fate, index) => {
        const id = `callback ${index}`
        const ending = { recorded: [], failed: [failed(id)], parked: [parked(id)], delivered: [delivered(id)] }[fate]
        return [recorded(id, index), ...ending]
      })
      const which = { webhookId: `callback ${n % fates.length}` }
      const decision = callbackDecider.decide({ type: 'Requeue', which, at: later }, fold(history))
      if (!decision.accepted) return false
      const lane = fold([...history, ...decision.events])
      const next = nextDelivery(lane)!
      return next.nextAttemptAt <= later && lane.deliveries.indexOf(next) <= n % fates.length
    }),
  )
})
