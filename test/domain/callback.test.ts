import fc from 'fast-check'
import t from 'tap'
import {
  type AttemptOutcome,
  type CallbackCommand,
  type CallbackEvent,
  type CallbackPayload,
  callbackDecider,
  type Lane,
  nextDelivery,
  untilDueMs,
  untilResendableMs,
} from '../../src/domain/callback.js'
import { specification } from '../support/given-when-then.js'

const { given, fold } = specification(callbackDecider)
const trackingId = '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10'
const merchantId = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'
const at = '2026-03-01T10:00:00.000Z'
const later = '2026-03-01T10:00:05.000Z'
const payload: CallbackPayload = {
  status: 2,
  referenceId: 'order-1001',
  message: null,
  amountMinor: 10_000n,
  transactionAmountMinor: 9_500n,
  hasAmountMismatch: true,
  receiptUrl: null,
}

const owner = { trackingId, merchantId }
const recordedData = (webhookId: string, transferRevision: number) => ({
  webhookId,
  ...owner,
  transferRevision,
  payload,
  at,
})
const record = (webhookId: string, transferRevision: number): CallbackCommand => ({
  type: 'Record',
  ...recordedData(webhookId, transferRevision),
})
const recorded = (webhookId: string, transferRevision: number): CallbackEvent => ({
  type: 'CallbackRecorded',
  data: recordedData(webhookId, transferRevision),
})
const report = (
  webhookId: string,
  outcome: AttemptOutcome,
  httpStatus: number | null = 200,
  attempt = 1,
): CallbackCommand => ({
  type: 'ReportAttempt',
  webhookId,
  attempt,
  httpStatus,
  durationMs: 12.5,
  outcome,
  at: later,
})
const attempted = (webhookId: string, attempt: number, httpStatus: number | null = 200) => ({
  webhookId,
  ...owner,
  at: later,
  attempt,
  httpStatus,
  durationMs: 12.5,
})
const nextAttemptAt = '2026-03-01T10:05:05.000Z'
const failed = (webhookId: string, attempt: number): CallbackEvent => ({
  type: 'CallbackAttemptFailed',
  data: { ...attempted(webhookId, attempt, null), reason: 'timeout', nextAttemptAt },
})
const delivered = (webhookId: string, attempt = 1): CallbackEvent => ({
  type: 'CallbackDelivered',
  data: attempted(webhookId, attempt),
})
const parked = (webhookId: string, attempt = 1): CallbackEvent => ({
  type: 'CallbackParked',
  data: { ...attempted(webhookId, attempt, 500), reason: 'answered 500' },
})
const requeued = (webhookId: string): CallbackEvent => ({
  type: 'CallbackRequeued',
  data: { webhookId, ...owner, at: later },
})
const requeue = (which: { webhookId: string } | 'latest' | 'parked'): CallbackCommand => ({
  type: 'Requeue',
  which,
  at: later,
})
const asFailed: AttemptOutcome = { result: 'failed', reason: 'timeout', nextAttemptAt }
const asParked: AttemptOutcome = { result: 'parked', reason: 'answered 500' }
const order = (lane: Lane) => lane.deliveries.map((delivery) => delivery.webhookId)

t.test('records a callback once, regardless of its status and of the content of the repeat', async () => {
  given()
    .when(record('a', 1))
    .then([recorded('a', 1)])
  for (const after of [[], [failed('a', 1)], [delivered('a')], [parked('a')], [parked('a'), requeued('a')]]) {
    given(recorded('a', 1), ...after)
      .when(record('a', 1))
      .then([])
  }
  given(recorded('a', 1)).when(record('a', 2)).then([], 'a different revision under the same id is a repeat')
  given(recorded('a', 1))
    .when(record('b', 2))
    .then([recorded('b', 2)])
})

t.test('a recorded callback waits from the time it was recorded', async (t) => {
  t.strictSame(fold([recorded('a', 1)]), {
    ...owner,
    deliveries: [
      {
        webhookId: 'a',
        transferRevision: 1,
        payload,
        status: 'waiting',
        attempts: 0,
        recordedAt: at,
        waitingSince: at,
        nextAttemptAt: at,
        lastFailure: null,
        requeues: 0,
        requeuedAt: null,
      },
    ],
  })
})

t.test('sends deliveries by transfer revision, regardless of the order in which they were recorded', async (t) => {
  fc.assert(
    fc.property(fc.shuffledSubarray([1, 2, 3, 4, 5, 6], { minLength: 1 }), (revisions) => {
      const lane = fold(revisions.map((revision) => recorded(`w${revision}`, revision)))
      const sorted = [...revisions].sort((a, b) => a - b)
      t.strictSame(
        order(lane),
        sorted.map((revision) => `w${revision}`),
      )
      t.equal(nextDelivery(lane)?.webhookId, `w${sorted[0]}`)
    }),
  )
})

t.test('counts attempts, and keeps the last failure and the time of the next attempt', async (t) => {
  given(recorded('a', 1))
    .when(report('a', asFailed, null))
    .then([failed('a', 1)])
  given(recorded('a', 1), failed('a', 1))
    .when(report('a', asFailed, null, 2))
    .then([failed('a', 2)])
  given(recorded('a', 1), failed('a', 1))
    .when(report('a', { result: 'delivered' }, 200, 2))
    .then([delivered('a', 2)])
  given(recorded('a', 1), failed('a', 1), failed('a', 2))
    .when(report('a', asParked, 500, 3))
    .then([parked('a', 3)])
  const lane = fold([recorded('a', 1), failed('a', 1), failed('a', 2)])
  t.match(lane.deliveries[0], { status: 'waiting', attempts: 2, nextAttemptAt, lastFailure: 'timeout' })
  t.match(fold([recorded('a', 1), failed('a', 1), delivered('a', 2)]).deliveries[0], {
    status: 'delivered',
    lastFailure: null,
  })
})

t.test('counts a failed attempt of two holders of a lane once, and a delivery of either holder', async () => {
  const twice = [recorded('a', 1), failed('a', 1), failed('a', 2)]
  for (const late of [asFailed, asParked]) {
    given(...twice)
      .when(report('a', late, null, 2))
      .then([], `a repeat of attempt 2 that is ${late.result}`)
    given(...twice, parked('a', 3), requeued('a'))
      .when(report('a', late, null, 4))
      .then([], `an attempt from before the requeue that is ${late.result}`)
  }
  given(...twice)
    .when(report('a', { result: 'delivered' }, 200, 2))
    .then([delivered('a', 3)])
})

t.test('a failing callback delays the later ones, and a delivered or parked one does not', async (t) => {
  const two = [recorded('a', 1), recorded('b', 2)]
  t.equal(nextDelivery(fold([...two, failed('a', 1)]))?.webhookId, 'a')
  t.equal(nextDelivery(fold([...two, delivered('a')]))?.webhookId, 'b')
  t.equal(nextDelivery(fold([...two, parked('a')]))?.webhookId, 'b')
  t.equal(nextDelivery(fold([...two, parked('a'), delivered('b')])), undefined)
  t.equal(nextDelivery(callbackDecider.initialState), undefined)
})

t.test('ignores an attempt for a callback that is not waiting, and rejects one for an unknown callback', async () => {
  for (const end of [delivered('a'), parked('a')]) {
    for (const outcome of [{ result: 'delivered' } as const, asFailed, asParked]) {
      given(recorded('a', 1), end).when(report('a', outcome)).then([], `${end.type} then ${outcome.result}`)
    }
  }
  given().when(report('a', asFailed)).then('not-found')
  given(recorded('a', 1)).when(report('b', asFailed)).then('not-found')
})

t.test('requeues one callback by id, unless it waits for its first attempt', async (t) => {
  for (const after of [[delivered('a')], [parked('a')], [failed('a', 1)]]) {
    given(recorded('a', 1), recorded('b', 2), ...after)
      .when(requeue({ webhookId: 'a' }))
      .then([requeued('a')])
  }
  given(recorded('a', 1))
    .when(requeue({ webhookId: 'a' }))
    .then([], 'a callback before its first attempt is about to be sent')
  given(recorded('a', 1))
    .when(requeue({ webhookId: 'b' }))
    .then('not-found')
  given()
    .when(requeue({ webhookId: 'a' }))
    .then('not-found')
  const lane = fold([recorded('a', 1), recorded('b', 2), failed('a', 1), parked('a', 2), requeued('a')])
  t.match(lane.deliveries[0], { status: 'waiting', attempts: 0, nextAttemptAt: later })
  t.equal(nextDelivery(lane)?.webhookId, 'a')
})

t.test('a delayed callback is due at its time, and a requeue ends the delay', async (t) => {
  const dueAt = '2026-03-01T10:01:00.000Z'
  const data = { ...recordedData('a', 1), dueAt }
  given()
    .when({ type: 'Record', ...data })
    .then([{ type: 'CallbackRecorded', data }])
  const delayed: CallbackEvent = { type: 'CallbackRecorded', data }
  const [delivery] = fold([delayed]).deliveries
  t.match(delivery, { recordedAt: at, waitingSince: at, nextAttemptAt: dueAt })
  const leftMs = (now: string) => untilDueMs(delivery!, Date.parse(now))
  t.strictSame([leftMs(at), leftMs(later), leftMs(dueAt), leftMs('2026-03-01T11:00:00.000Z')], [60_000, 55_000, 0, 0])
  t.equal(leftMs('2026-03-01T09:59:59.999Z'), 0, 'a clock that was set back delays nothing')
  t.equal(untilDueMs(fold([recorded('a', 1)]).deliveries[0]!, Date.parse(at)), 0)
  t.equal(
    nextDelivery(fold([recorded('b', 2), delayed]))?.webhookId,
    'a',
    'later callbacks of its transfer wait for it',
  )
  for (const type of ['Requeue', 'Resend'] as const)
    given(delayed)
      .when({ type, which: 'latest', at: later })
      .then([requeued('a')])
  t.match(fold([delayed, requeued('a')]).deliveries[0], { waitingSince: later, nextAttemptAt: later })
})

const minute = (n: number) => new Date(Date.parse(later) + n * 60_000).toISOString()
const resend = (which: { webhookId: string } | 'latest' | 'parked', minutes: number): CallbackCommand => ({
  type: 'Resend',
  which,
  at: minute(minutes),
})
const requeuedAt = (webhookId: string, minutes: number): CallbackEvent => ({
  type: 'CallbackRequeued',
  data: { webhookId, ...owner, at: minute(minutes) },
})

t.test(
  'requires a merchant, but not an operator, to wait 1, 2, 4 … 60 minutes between resends of a callback',
  async (t) => {
    const pauses = [1, 2, 4, 8, 16, 32, 60, 60]
    const history: CallbackEvent[] = [recorded('a', 1), delivered('a')]
    const which = { webhookId: 'a' }
    given(...history)
      .when(resend(which, 0))
      .then([requeuedAt('a', 0)])
    let minutes = 0
    for (const pause of pauses) {
      history.push(requeuedAt('a', minutes), delivered('a'))
      t.equal(untilResendableMs(fold(history).deliveries[0]!, Date.parse(minute(minutes))), pause * 60_000)
      for (const each of [which, 'latest'] as const) {
        given(...history)
          .when(resend(each, minutes + pause - 0.001))
          .then('conflict')
      }
      given(...history)
        .when({ type: 'Requeue', which, at: minute(minutes) })
        .then([requeuedAt('a', minutes)])
      minutes += pause
      given(...history)
        .when(resend(which, minutes))
        .then([requeuedAt('a', minutes)])
    }
  },
)

t.test('a merchant resends only the parked callbacks that are due, and waiting callbacks cause no error', async () => {
  const both = [recorded('a', 1), recorded('b', 2), parked('a'), parked('b')]
  given(...both, requeuedAt('a', 0), parked('a'))
    .when(resend('parked', 0.5))
    .then([requeuedAt('b', 0.5)])
  given(...both, requeuedAt('a', 0), requeuedAt('b', 0), parked('a'), parked('b'))
    .when(resend('parked', 0.5))
    .then('conflict')
  given(recorded('a', 1), parked('a'), requeuedAt('a', 0)).when(resend('latest', 0)).then([])
  given(recorded('a', 1), parked('a'), requeuedAt('a', 0), failed('a', 1)).when(resend('latest', 0.5)).then('conflict')
  given(recorded('a', 1), failed('a', 1))
    .when(resend('latest', 0))
    .then([requeuedAt('a', 0)])
  given().when(resend('latest', 0)).then('not-found')
  given().when(resend('parked', 0)).then([])
})

t.test('a sandbox merchant replays the selected callbacks at any time, regardless of their state', async () => {
  const replay = (which: { webhookId: string } | 'latest' | 'parked'): CallbackCommand => ({
    ...{ type: 'Replay', which, at: minute(0) },
  })
  const again = [requeuedAt('a', 0)]
  for (const after of [[], [failed('a', 1)], [delivered('a')], [parked('a')], [parked('a'), requeuedAt('a', 0)]])
    for (const which of [{ webhookId: 'a' }, 'latest'] as const)
      given(recorded('a', 1), ...after)
        .when(replay(which))
        .then(again)
  given(recorded('a', 1), recorded('b', 2), recorded('c', 3))
    .when(replay({ webhookId: 'b' }))
    .then([requeuedAt('b', 0)], 'those that are about to be sent are not selected')
  given(recorded('a', 1), recorded('b', 2), failed('a', 1))
    .when(replay('latest'))
    .then([requeuedAt('a', 0), requeuedAt('b', 0)], 'one that waits after a failure is sent first')
  given(recorded('a', 1)).when(replay('parked')).then([])
  given(recorded('a', 1))
    .when(replay({ webhookId: 'b' }))
    .then('not-found')
})

t.test('restarts the count of attempts after a requeue', async () => {
  given(recorded('a', 1), failed('a', 1), parked('a', 2), requeued('a'))
    .when(report('a', asFailed, null))
    .then([failed('a', 1)])
})

t.test('the latest callback has the highest revision, regardless of the recording order', async () => {
  const all = [recorded('b', 2), recorded('a', 1), delivered('a'), delivered('b')]
  given(...all)
    .when(requeue('latest'))
    .then([requeued('b')])
  given(recorded('a', 1)).when(requeue('latest')).then([])
  given().when(requeue('latest')).then('not-found')
})

t.test('requeues all parked callbacks in lane order, and accepts if none is parked', async () => {
  const all = [recorded('c', 3), recorded('a', 1), recorded('b', 2), parked('c'), parked('a'), delivered('b')]
  given(...all)
    .when(requeue('parked'))
    .then([requeued('a'), requeued('c')])
  given(recorded('a', 1), delivered('a')).when(requeue('parked')).then([])
  given().when(requeue('parked')).then([])
})

t.test('throws for a history with an attempt of an unrecorded callback', async (t) => {
  for (const event of [failed('a', 1), delivered('a'), parked('a'), requeued('a')]) t.throws(() => fold([event]))
})

t.test(
  'after any sequence, each callback is recorded once, and a requeue of all parked ones leaves none parked',
  async (t) => {
    const webhookId = fc.constantFrom('a', 'b', 'c')
    const outcome = fc.constantFrom<AttemptOutcome>({ result: 'delivered' }, asFailed, asParked)
    const which = fc.oneof(fc.record({ webhookId }), fc.constantFrom('latest' as const, 'parked' as const))
    const command: fc.Arbitrary<CallbackCommand> = fc.oneof(
      webhookId.map((id) => record(id, 'abc'.indexOf(id))),
      fc.tuple(webhookId, outcome, fc.integer({ min: 1, max: 4 })).map(([id, result, n]) => report(id, result, 200, n)),
      which.map(requeue),
    )
    const perform = (lane: Lane, next: CallbackCommand) => {
      const decision = callbackDecider.decide(next, lane)
      return decision.accepted ? decision.events.reduce(callbackDecider.evolve, lane) : lane
    }
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
        const lane = commands.reduce(perform, callbackDecider.initialState)
        t.strictSame(
          order(lane),
          [...new Set(order(lane))].sort(),
          'each callback occurs once, in the order of revisions',
        )
        const replayed = perform(lane, requeue('parked'))
        t.notOk(replayed.deliveries.some((delivery) => delivery.status === 'parked'))
      }),
    )
  },
)
