import fc from 'fast-check'
import t from 'tap'
import { mergeQueue } from '../../src/http/dashboard/payouts/payout-queue.js'
import { pageModule } from './page-module.js'

interface Row {
  readonly trackingId: string
  readonly status: string
  readonly createdAt: string
  readonly revision: number
}
interface Answer {
  readonly items: readonly Row[]
  readonly more: boolean
}

const { withKnown, withNewer } = await pageModule<{
  withKnown(rows: readonly Row[], known: ReadonlyMap<string, Row>): Row[]
  withNewer(answer: Answer, tab: string, rows: readonly object[]): Answer
}>('pages/payouts/payout-queue.ts')
const { inFours, shortAccount } = await pageModule<{
  inFours(account: string): readonly string[]
  shortAccount(account: string): string
}>('components/account-number.ts')
const { copyValues } = await pageModule<{
  copyValues(transfer: object, digits: number): readonly { readonly value: string }[]
}>('pages/payouts/copy-values.ts')
const { activeClaim, minutesAndSeconds } = await pageModule<{
  activeClaim(claim: object | null, nowMs: number): object | null
  minutesAndSeconds(ms: number): string
}>('pages/payouts/claim-time.ts')

function row(trackingId: string, second: number, revision = 1, status = 'Pending'): Row {
  return { trackingId, status, createdAt: new Date(second * 1000).toISOString(), revision }
}

/** The documents of the server, whose ids are `_id`. */
const merged = (lists: readonly { readonly items: readonly Row[]; readonly nextCursor: string | null }[]) => {
  const documents = lists.map(({ items, nextCursor }) => ({
    items: items.map((each) => ({ ...each, _id: each.trackingId })),
    nextCursor,
  }))
  const { items, hasMore } = mergeQueue(documents)
  return { items: items.map(({ _id, ...each }) => each), hasMore }
}

t.test('merges two lists into one queue, oldest first, up to the end of the shorter one', async (t) => {
  const pending = { items: [row('a', 1), row('c', 3), row('e', 5)], nextCursor: 'more' }
  const checked = { items: [row('b', 2), row('d', 4), row('f', 6)], nextCursor: null }
  const { items, hasMore } = merged([pending, checked])
  t.strictSame(
    items.map(({ trackingId }) => trackingId),
    ['a', 'b', 'c', 'd', 'e'],
    'f is newer than the end of the first list',
  )
  t.equal(hasMore, true)
  t.equal(merged([{ ...pending, nextCursor: null }, checked]).items.length, 6)
})

t.test('shows a withdrawal once, in its latest revision, if it moved between the lists', async (t) => {
  const before = { items: [row('a', 1, 1)], nextCursor: null }
  const after = { items: [row('a', 1, 2, 'ManualControl')], nextCursor: null }
  t.strictSame(merged([before, after]).items, after.items)
  t.strictSame(merged([after, before]).items, after.items)
})

t.test('never omits a withdrawal that is older than one in the queue (property)', async (t) => {
  const seconds = fc.uniqueArray(fc.nat(500), { maxLength: 60 })
  fc.assert(
    fc.property(seconds, fc.nat(), fc.integer({ min: 1, max: 9 }), (all, seed, size) => {
      const rows = all.sort((a, b) => a - b).map((second) => row(`t${second}`, second))
      const isFirst = ({ trackingId }: Row) => (trackingId.length + seed + Number(trackingId.slice(1))) % 2 === 0
      const lists = [rows.filter(isFirst), rows.filter((each) => !isFirst(each))].map((items) => ({
        items: items.slice(0, size),
        nextCursor: items.length > size ? 'more' : null,
      }))
      const { items, hasMore } = merged(lists)
      t.strictSame(items, rows.slice(0, items.length))
      t.equal(hasMore, items.length < rows.length)
    }),
  )
})

t.test('keeps the results of the user’s own actions while the list lags', async (t) => {
  const rows = [row('a', 1), row('b', 2), row('c', 3, 7)]
  const known = new Map([
    ['a', row('a', 1, 2, 'Completed')],
    ['b', row('b', 2, 2)],
    ['c', row('c', 3, 5)],
  ])
  t.strictSame(
    withKnown(rows, known),
    [row('b', 2, 2), row('c', 3, 7)],
    'a completed row is removed, a claimed row is replaced, and an older revision is ignored',
  )
})

t.test('follows live rows: replaces, removes and adds them, without gaps before omitted ones', async (t) => {
  const live = (of: Row, changes: object = {}) => ({
    ...of,
    kind: 'withdrawal',
    claim: null,
    canApprove: false,
    ...changes,
  })
  const answer = { items: [row('a', 1), row('c', 3)], more: true }
  const after = (tab: string, rows: readonly object[]) =>
    withNewer(answer, tab, rows).items.map((each) => each.trackingId)
  t.strictSame(after('all', [live(row('b', 2))]), ['a', 'b', 'c'])
  t.strictSame(after('all', [live(row('d', 4))]), ['a', 'c'], 'rows between c and d may be missing')
  t.strictSame(after('all', [live(row('a', 1, 2, 'Completed'))]), ['c'])
  t.strictSame(after('all', [live(row('a', 1, 1, 'Completed'))]), ['a', 'c'], 'not newer')
  t.strictSame(after('unclaimed', [live(row('a', 1, 2), { claim: { mine: false } })]), ['c'])
  t.strictSame(after('mine', [live(row('b', 2), { claim: { mine: true } })]), ['a', 'b', 'c'])
  t.strictSame(after('all', [live(row('b', 2), { kind: 'deposit' })]), ['a', 'c'])
})

t.test('copies plain text: no spaces, and a point before the decimals', async (t) => {
  const transfer = { amountMinor: 1234567, accountNumber: 'TR33 0006', name: 'Ada', referenceId: 'WD-1' }
  const values = (digits: number, amountMinor: number) =>
    copyValues({ ...transfer, amountMinor }, digits).map(({ value }) => value)
  t.strictSame(values(2, 1234567), ['12345.67', 'TR330006', 'Ada', 'WD-1'])
  t.equal(values(2, 5)[0], '0.05')
  t.equal(values(0, 123400)[0], '1234')
  t.equal(shortAccount('TR93 0099 0010 0530 2950 4333 28'), 'TR93 •••• 4333 28')
})

t.test('splits an account number into groups of four without losing a character', async (t) => {
  t.strictSame(inFours('TR33 0006 1005'), ['TR33', '0006', '1005'])
  t.strictSame(inFours('1234567890'), ['1234', '5678', '90'])
  t.strictSame(inFours(''), [])
  fc.assert(
    fc.property(
      fc.stringMatching(/^[A-Z0-9 ]{0,40}$/),
      (account) => inFours(account).join('') === account.replaceAll(' ', ''),
    ),
  )
})

t.test('a claim is active until its exact end', async (t) => {
  const claim = { until: '2026-11-21T10:15:00.000Z' }
  const untilMs = Date.parse(claim.until)
  t.equal(activeClaim(claim, untilMs - 1), claim)
  t.equal(activeClaim(claim, untilMs), null)
  t.equal(activeClaim(null, 0), null)
  t.equal(minutesAndSeconds(900_000), '15:00')
  t.equal(minutesAndSeconds(59_999), '0:59')
  t.equal(minutesAndSeconds(900_900), '15:00', 'the remaining time is rounded down')
  t.equal(minutesAndSeconds(-5), '0:00')
})
