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

const { withKnown } = await pageModule<{
  withKnown(rows: readonly Row[], known: readonly Row[]): Row[]
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

t.test('merges two lists into one queue, oldest first, up to the end of the shorter one', async (t) => {
  const pending = { items: [row('a', 1), row('c', 3), row('e', 5)], nextCursor: 'more' }
  const checked = { items: [row('b', 2), row('d', 4), row('f', 6)], nextCursor: null }
  const { items, hasMore } = mergeQueue([pending, checked])
  t.strictSame(
    items.map(({ trackingId }) => trackingId),
    ['a', 'b', 'c', 'd', 'e'],
    'f is newer than the end of the first list',
  )
  t.equal(hasMore, true)
  t.equal(mergeQueue([{ ...pending, nextCursor: null }, checked]).items.length, 6)
})

t.test('shows a withdrawal once, in its latest revision, if it moved between the lists', async (t) => {
  const before = { items: [row('a', 1, 1)], nextCursor: null }
  const after = { items: [row('a', 1, 2, 'ManualControl')], nextCursor: null }
  t.strictSame(mergeQueue([before, after]).items, after.items)
  t.strictSame(mergeQueue([after, before]).items, after.items)
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
      const { items, hasMore } = mergeQueue(lists)
      t.strictSame(items, rows.slice(0, items.length))
      t.equal(hasMore, items.length < rows.length)
    }),
  )
})

t.test('keeps the results of the user’s own actions while the list lags', async (t) => {
  const rows = [row('a', 1), row('b', 2), row('c', 3, 7)]
  const known = [row('a', 1, 2, 'Completed'), row('b', 2, 2), row('c', 3, 5), row('d', 0, 1), row('e', 4, 9, 'Failed')]
  t.strictSame(
    withKnown(rows, known),
    [row('d', 0, 1), row('b', 2, 2), row('c', 3, 7)],
    'ended rows are removed, a claimed row is replaced or keeps its place, and an older revision is ignored',
  )
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
