import fc from 'fast-check'
import t from 'tap'
import { pageModule } from './page-module.js'

interface Row {
  readonly trackingId: string
  readonly status: string
  readonly createdAt: string
  readonly revision: number
}
interface List {
  readonly items: readonly Row[]
  readonly nextCursor: string | null
}

const { oneQueue, asKnown } = await pageModule<{
  oneQueue(lists: readonly List[]): { readonly items: readonly Row[]; readonly more: boolean }
  asKnown(rows: readonly Row[], known: ReadonlyMap<string, Row>): Row[]
}>('pages/paying/payment-queue.ts')
const { inFours } = await pageModule<{ inFours(account: string): readonly string[] }>('pages/paying/account-number.ts')
const { standing, minutesAndSeconds } = await pageModule<{
  standing(claim: object | null, nowMs: number): object | null
  minutesAndSeconds(ms: number): string
}>('pages/paying/claim-time.ts')

function row(trackingId: string, second: number, revision = 1, status = 'Pending'): Row {
  return { trackingId, status, createdAt: new Date(second * 1000).toISOString(), revision }
}

t.test('two lists are one queue, oldest first, as far as both of them reach', async (t) => {
  const pending = { items: [row('a', 1), row('c', 3), row('e', 5)], nextCursor: 'more' }
  const checked = { items: [row('b', 2), row('d', 4), row('f', 6)], nextCursor: null }
  const { items, more } = oneQueue([pending, checked])
  t.strictSame(
    items.map(({ trackingId }) => trackingId),
    ['a', 'b', 'c', 'd', 'e'],
    'f is younger than what the first list has not shown yet',
  )
  t.equal(more, true)
  t.equal(oneQueue([{ ...pending, nextCursor: null }, checked]).items.length, 6)
})

t.test(
  'a withdrawal that went from one list into the other between the two answers is there once, as it was last',
  async (t) => {
    const before = { items: [row('a', 1, 1)], nextCursor: null }
    const after = { items: [row('a', 1, 2, 'ManualControl')], nextCursor: null }
    t.strictSame(oneQueue([before, after]).items, after.items)
    t.strictSame(oneQueue([after, before]).items, after.items)
  },
)

t.test('no withdrawal is left out while an older one is shown (property)', async (t) => {
  const seconds = fc.uniqueArray(fc.nat(500), { maxLength: 60 })
  fc.assert(
    fc.property(seconds, fc.nat(), fc.integer({ min: 1, max: 9 }), (all, seed, size) => {
      const rows = all.sort((a, b) => a - b).map((second) => row(`t${second}`, second))
      const isFirst = ({ trackingId }: Row) => (trackingId.length + seed + Number(trackingId.slice(1))) % 2 === 0
      const lists = [rows.filter(isFirst), rows.filter((each) => !isFirst(each))].map((items) => ({
        items: items.slice(0, size),
        nextCursor: items.length > size ? 'more' : null,
      }))
      const { items, more } = oneQueue(lists)
      t.strictSame(items, rows.slice(0, items.length))
      t.equal(more, items.length < rows.length)
    }),
  )
})

t.test('what a person has just done is not undone by a list that is behind', async (t) => {
  const rows = [row('a', 1), row('b', 2), row('c', 3, 7)]
  const known = new Map([
    ['a', row('a', 1, 2, 'Completed')],
    ['b', row('b', 2, 2)],
    ['c', row('c', 3, 5)],
  ])
  t.strictSame(
    asKnown(rows, known),
    [row('b', 2, 2), row('c', 3, 7)],
    'done: gone; claimed: as claimed; older: not used',
  )
})

t.test('an account number is read in fours and loses nothing', async (t) => {
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

t.test('a claim stands until its time and not a moment longer', async (t) => {
  const claim = { until: '2026-11-21T10:15:00.000Z' }
  const untilMs = Date.parse(claim.until)
  t.equal(standing(claim, untilMs - 1), claim)
  t.equal(standing(claim, untilMs), null)
  t.equal(standing(null, 0), null)
  t.equal(minutesAndSeconds(900_000), '15:00')
  t.equal(minutesAndSeconds(59_999), '0:59')
  t.equal(minutesAndSeconds(900_900), '15:00', 'the page knows the time by a second')
  t.equal(minutesAndSeconds(-5), '0:00')
})
