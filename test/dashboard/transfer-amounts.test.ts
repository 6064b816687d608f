import t from 'tap'
import { timelineFields } from '../../src/domain/event-summary.js'
import { pageModule } from './page-module.js'

interface Money {
  readonly amountMinor: number
  readonly transactionAmountMinor: number
  readonly hasAmountMismatch: boolean
}

const { differenceMinor } = await pageModule<{
  differenceMinor(detail: Money): number
}>('pages/transfer/transfer-amounts.ts')

const pending: Money = { amountMinor: 10_000, transactionAmountMinor: 0, hasAmountMismatch: false }

t.test('shows a difference only if the server reports one and money was moved', async (t) => {
  t.equal(differenceMinor(pending), 0)
  t.equal(
    differenceMinor({ ...pending, transactionAmountMinor: 9_900 }),
    0,
    'a difference within the tolerance is not shown',
  )
  t.equal(differenceMinor({ ...pending, transactionAmountMinor: 9_000, hasAmountMismatch: true }), -1_000)
  t.equal(differenceMinor({ ...pending, transactionAmountMinor: 12_000, hasAmountMismatch: true }), 2_000)
  t.equal(differenceMinor({ ...pending, hasAmountMismatch: true }), 0, 'a fully returned amount shows no difference')
})

t.test('a timeline entry shows the main fields in order and keeps the rest', async (t) => {
  const data = {
    ...{ trackingId: 'x', reason: 'HTTP 500', httpStatus: 500, attempt: 2, receiptUrl: null },
    ...{ transactionAmountMinor: '0', addedField: { of: 'a newer version' } },
  }
  const { shown, rest } = timelineFields({ data })
  t.strictSame(shown, [
    ['attempt', 2],
    ['httpStatus', 500],
    ['reason', 'HTTP 500'],
  ])
  t.strictSame(rest, [
    ['trackingId', 'x'],
    ['transactionAmountMinor', '0'],
    ['addedField', { of: 'a newer version' }],
  ])
})

interface Event {
  readonly source: string
  readonly type: string
  readonly revision: number
  readonly at: string
  readonly actor: string
  readonly data: { readonly [name: string]: unknown }
}

const { storyOf, stepsOf, peopleOf } = await pageModule<{
  storyOf(items: readonly Event[]): readonly {
    readonly item: Event
    readonly tookMs: number | null
    readonly callbacks: readonly { readonly state: string; readonly attempts: readonly Event[] }[]
  }[]
  stepsOf(
    items: readonly Event[],
    coming: readonly string[],
  ): readonly { readonly name: string; readonly tookMs: number | null }[]
  peopleOf(items: readonly Event[]): readonly { readonly name: string; readonly did: string }[]
}>('pages/transfer/transfer-story.ts')
const { dueOrNow } = await pageModule<{ dueOrNow(at: string, nowMs: number): string }>('components/due-time.ts')

const event = (second: number, source: string, type: string, revision: number, actor: string, data = {}): Event => {
  return { source, type, revision, at: new Date(second * 1000).toISOString(), actor, data }
}
const callback = (second: number, type: string, data: object = {}) =>
  event(second, 'callback', type, second, 'system:callbacks', { webhookId: 'w', transferRevision: 2, ...data })
const paid = [
  event(0, 'transfer', 'WithdrawalCreated', 0, 'merchant:m'),
  event(60, 'transfer', 'WithdrawalClaimed', 1, 'Ada'),
  event(90, 'transfer', 'TransferCompleted', 2, 'Ada'),
  callback(91, 'CallbackRecorded'),
  callback(92, 'CallbackAttemptFailed', { attempt: 1 }),
  callback(95, 'CallbackDelivered', { attempt: 2 }),
]

t.test('folds callbacks into the event that they report, with the time between events', async (t) => {
  const story = storyOf(paid)
  t.strictSame(
    story.map(({ item, tookMs }) => [item.type, tookMs]),
    [
      ['WithdrawalCreated', null],
      ['WithdrawalClaimed', 60_000],
      ['TransferCompleted', 30_000],
    ],
  )
  t.strictSame(
    story[2]?.callbacks.map(({ state, attempts }) => [state, attempts.length]),
    [['delivered', 2]],
  )
  t.equal(storyOf(paid.slice(0, 5))[2]?.callbacks[0]?.state, 'waiting')
  t.strictSame(peopleOf(paid), [{ name: 'Ada', did: 'TransferCompleted' }], 'programs are no people')
})

t.test('shows how far a transfer is: the latest of each step, then what is still to come', async (t) => {
  const steps = (items: readonly Event[], coming: readonly string[]) =>
    stepsOf(items, coming).map(({ name, tookMs }) => [name, tookMs])
  t.strictSame(steps(paid, []), [
    ['requested', 60_000],
    ['claimed', 30_000],
    ['completed', 5_000],
    ['notified', null],
  ])
  const open = [...paid.slice(0, 2), event(70, 'transfer', 'WithdrawalClaimed', 2, 'Bob')]
  t.strictSame(steps(open, ['approved', 'completed']), [
    ['requested', 70_000],
    ['claimed', null],
    ['approved', null],
    ['completed', null],
  ])
  const late = [...paid, event(200, 'transfer', 'LateFundsReceived', 3, 'system:payments')]
  t.strictSame(steps(late, []).slice(2), [
    ['completed', 5_000],
    ['notified', 105_000],
    ['received', null],
  ])
})

t.test('what is still to be done is due now at the earliest', async (t) => {
  t.equal(dueOrNow('2026-11-21T10:00:00.000Z', Date.parse('2026-11-21T10:00:10.000Z')), '2026-11-21T10:00:10.000Z')
  t.equal(dueOrNow('2026-11-21T10:00:20.000Z', Date.parse('2026-11-21T10:00:10.000Z')), '2026-11-21T10:00:20.000Z')
})
