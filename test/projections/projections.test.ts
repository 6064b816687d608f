import t from 'tap'
import type { CallbackEvent } from '../../src/domain/callback.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { callbacksProjection } from '../../src/projections/callback-lists.js'
import { type EventProjection, type ProjectedEvent, ProjectionError } from '../../src/projections/projection.js'
import { totalsProjection } from '../../src/projections/transfer-totals.js'
import { transferEventsProjection, transfersProjection } from '../../src/projections/transfers-projection.js'
import { feedAfter, feedId } from '../../src/read-models/documents.js'
import type { Document } from '../../src/read-models/read-models.js'
import { depositCreated, withdrawalCreated } from '../domain/transfer-samples.js'

type Event = TransferEvent | CallbackEvent

/** `given(events).then(documents)`: checks the documents after each event was applied in a separate batch. */
function given(
  projection: EventProjection,
  ...events: readonly (readonly [revision: number, event: Event])[]
): Document[] {
  const stored = new Map<string, Document>()
  events.forEach(([revision, event], n) => {
    const position = { commit: BigInt(n + 1), prepare: BigInt(n + 1) }
    const batch: ProjectedEvent[] = [{ stream: 's', revision, previous: revision - 1, position, event }]
    const needed = new Map(
      (projection.needs?.(batch) ?? []).flatMap((id) => (stored.has(id) ? [[id, stored.get(id)!] as const] : [])),
    )
    for (const operation of projection.apply(batch, needed)) {
      if ('deleteOne' in operation) {
        stored.delete(operation.deleteOne.filter._id)
        continue
      }
      if (!('replaceOne' in operation)) throw new Error('neither a replacement nor a deletion')
      stored.set(operation.replaceOne.replacement._id, operation.replaceOne.replacement)
    }
  })
  return [...stored.values()]
}

const common = { trackingId: 't', merchantId: 'm', kind: 'deposit', referenceId: 'r', amountMinor: 10_000n } as const
const noon = '2026-11-20T12:00:00.000Z'
const later = '2026-11-21T00:00:00.000Z'
const { userId, name, username, paymentMethod, channel } = depositCreated.data
const customer = { userId, name, username, paymentMethod }
const created: TransferEvent = {
  ...depositCreated,
  data: { ...depositCreated.data, ...common, expiresAt: later, at: noon },
}
const completed: TransferEvent = {
  type: 'TransferCompleted',
  data: {
    ...common,
    transactionAmountMinor: 9_500n,
    receivedAmountMinor: 9_500n,
    hasAmountMismatch: true,
    receiptUrl: 'https://receipt.example/1',
    message: 'short by five',
    reason: null,
    at: later,
  },
}
const pending = {
  _id: 't',
  position: 1,
  merchantId: 'm',
  kind: 'deposit',
  status: 'Pending',
  referenceId: 'r',
  amountMinor: 10_000,
  transactionAmountMinor: 0,
  hasAmountMismatch: false,
  ...customer,
  channel,
  createdAt: noon,
  updatedAt: noon,
  expiresAt: later,
}

t.test('transfers: a created deposit is open until it expires', async (t) => {
  t.strictSame(given(transfersProjection, [0, created]), [{ ...pending, openUntil: later, revision: 0 }])
})

t.test('transfers: a completed deposit has its real amount and is not open', async (t) => {
  const outcome = {
    status: 'Completed',
    transactionAmountMinor: 9_500,
    hasAmountMismatch: true,
    receiptUrl: 'https://receipt.example/1',
    message: 'short by five',
    funds: {
      receivedMinor: 9_500,
      payments: [],
      returns: [],
      refundedMinor: 0,
      resolvedMinor: 0,
      assumedMinor: 0,
      statedMinor: 9_500,
    },
    updatedAt: later,
    completedAt: later,
    revision: 1,
  }
  t.strictSame(given(transfersProjection, [0, created], [1, completed]), [{ ...pending, ...outcome }])
})

t.test('transfers: a withdrawal has its account and is never open', async (t) => {
  const withdrawal: TransferEvent = {
    ...withdrawalCreated,
    data: { ...withdrawalCreated.data, ...common, kind: 'withdrawal', accountNumber: 'IBAN', at: noon },
  }
  const { channel: _channel, expiresAt: _expiresAt, ...alike } = pending
  const expected = { ...alike, kind: 'withdrawal', accountNumber: 'IBAN', revision: 0 }
  t.strictSame(given(transfersProjection, [0, withdrawal]), [expected])
})

t.test('transfers: throws for an event whose previous event is missing', async (t) => {
  t.throws(() => given(transfersProjection, [1, completed]), ProjectionError)
  t.throws(() => given(transfersProjection, [0, created], [2, completed]), {
    message: 'event 2 of transfer t, whose document is at revision 0',
    event: { stream: 's', revision: 2, position: { commit: 2n } },
  })
})

t.test(
  'totals: counts each reached status by quarter of an hour, day and month, for its merchant and for all',
  async (t) => {
    const total = { kind: 'deposit', count: 1, amountMinor: '10000' }
    const pendingTotal = { ...total, counted: 'Pending', transactionAmountMinor: '0', receivedMinor: '0', position: 1 }
    const moved = { transactionAmountMinor: '9500', receivedMinor: '9500' }
    const completedTotal = { ...total, counted: 'Completed', ...moved, position: 2 }
    t.strictSame(given(totalsProjection, [0, created], [1, completed]), [
      { ...pendingTotal, _id: 'm|16|2026-11-20T12:00|deposit|Pending' },
      { ...pendingTotal, _id: 'm|10|2026-11-20|deposit|Pending' },
      { ...pendingTotal, _id: 'm|7|2026-11|deposit|Pending' },
      { ...pendingTotal, _id: '*|16|2026-11-20T12:00|deposit|Pending' },
      { ...pendingTotal, _id: '*|10|2026-11-20|deposit|Pending' },
      { ...pendingTotal, _id: '*|7|2026-11|deposit|Pending' },
      { ...completedTotal, _id: 'm|16|2026-11-21T00:00|deposit|Completed' },
      { ...completedTotal, _id: 'm|10|2026-11-21|deposit|Completed' },
      { ...completedTotal, _id: 'm|7|2026-11|deposit|Completed' },
      { ...completedTotal, _id: '*|16|2026-11-21T00:00|deposit|Completed' },
      { ...completedTotal, _id: '*|10|2026-11-21|deposit|Completed' },
      { ...completedTotal, _id: '*|7|2026-11|deposit|Completed' },
    ])
  },
)

t.test(
  'totals: counts returned money with its own amount, and a reopening as Reopened and ManualControl',
  async (t) => {
    const returned: TransferEvent = {
      type: 'FundsReturned',
      data: {
        ...common,
        returnedAmountMinor: 300n,
        receiptUrl: 'https://r.example',
        hasAmountMismatch: false,
        at: noon,
      },
    }
    const reopened: TransferEvent = {
      type: 'TransferReopened',
      data: { ...common, reason: 'the money arrived', at: noon },
    }
    const months = given(totalsProjection, [0, returned], [1, reopened]).filter(({ _id }) => _id.startsWith('m|7|'))
    t.strictSame(
      months.map(({ counted, amountMinor }) => [counted, amountMinor]),
      [
        ['Returned', '300'],
        ['ManualControl', '10000'],
        ['Reopened', '10000'],
      ],
    )
  },
)

t.test('transfer events: an entry contains the place of its event', async (t) => {
  t.strictSame(given(transferEventsProjection, [0, created], [1, completed]), [
    { _id: '0000000000000001', merchantId: 'm', trackingId: 't', revision: 0 },
    { _id: '0000000000000002', merchantId: 'm', trackingId: 't', revision: 1 },
  ])
  t.strictSame(feedAfter('m', { commit: 1n }), { merchantId: 'm', _id: { $gt: '0000000000000001' } })
  t.throws(() => feedId({ commit: 2n ** 53n }), RangeError)
})

const callback = { webhookId: 'w', trackingId: 't', merchantId: 'm' }
const recorded: CallbackEvent = {
  type: 'CallbackRecorded',
  data: {
    ...callback,
    transferRevision: 1,
    at: noon,
    payload: {
      status: 2,
      referenceId: 'r',
      message: null,
      amountMinor: 1n,
      transactionAmountMinor: 1n,
      hasAmountMismatch: false,
      receiptUrl: null,
    },
  },
}
const attempt = { ...callback, attempt: 1, durationMs: 5 }
const waiting = {
  _id: 'w',
  position: 1,
  merchantId: 'm',
  trackingId: 't',
  transferRevision: 1,
  transferStatus: 2,
  referenceId: 'r',
  status: 'waiting',
  attempts: 0,
  recordedAt: noon,
}

t.test(
  'callbacks: a recorded callback is due immediately, later after a failure, and never after delivery',
  async (t) => {
    const failed: CallbackEvent = {
      type: 'CallbackAttemptFailed',
      data: { ...attempt, httpStatus: 500, reason: 'status 500', nextAttemptAt: later, at: noon },
    }
    const delivered: CallbackEvent = { type: 'CallbackDelivered', data: { ...attempt, httpStatus: 204, at: later } }
    t.strictSame(given(callbacksProjection, [0, recorded]), [{ ...waiting, dueAt: noon, dueSince: noon, revision: 0 }])
    const failedOnce = { ...waiting, attempts: 1, lastFailure: 'status 500' }
    t.strictSame(given(callbacksProjection, [0, recorded], [1, failed]), [
      { ...failedOnce, dueAt: later, dueSince: noon, revision: 1 },
    ])
    t.strictSame(given(callbacksProjection, [0, recorded], [1, failed], [2, delivered]), [
      { ...waiting, attempts: 1, status: 'delivered', revision: 2 },
    ])
  },
)

t.test('callbacks: a parked callback is listed until it is requeued, and then due', async (t) => {
  const parked: CallbackEvent = {
    type: 'CallbackParked',
    data: { ...attempt, attempt: 10, httpStatus: null, reason: 'timeout', at: noon },
  }
  const requeued: CallbackEvent = { type: 'CallbackRequeued', data: { ...callback, at: later } }
  const failedTenTimes = { ...waiting, attempts: 10, lastFailure: 'timeout' }
  t.strictSame(given(callbacksProjection, [0, recorded], [1, parked]), [
    { ...failedTenTimes, status: 'parked', parkedAt: noon, revision: 1 },
  ])
  t.strictSame(given(callbacksProjection, [0, recorded], [1, parked], [2, requeued]), [
    { ...failedTenTimes, attempts: 0, dueAt: later, dueSince: later, revision: 2 },
  ])
})

t.test('throws for an event of another kind in the stream', async (t) => {
  t.throws(() => given(transfersProjection, [0, recorded]), { message: 'unexpected event CallbackRecorded' })
  t.throws(() => given(totalsProjection, [0, recorded]), { message: 'unexpected event CallbackRecorded' })
})
