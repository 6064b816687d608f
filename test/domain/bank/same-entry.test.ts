import fc from 'fast-check'
import t from 'tap'
import { type BankEntries, bankEntriesDecider } from '../../../src/domain/bank/bank-entries.js'
import { recordEntries } from '../../../src/domain/bank/bank-imports.js'
import type { BankEntry, BankPayment } from '../../../src/domain/bank/bank-records.js'

const mac = (purpose: string, text: string) => `${purpose} ${text}`.slice(-60)
const nothing: BankPayment = {
  ...{ amountMinor: null, endToEndId: null, bankReference: null, name: null, account: null, remittance: [] },
  ...{ creditorReference: null, instructed: null, chargesMinor: null, returned: null },
}
const entryOf = (changes: Partial<BankEntry> = {}): BankEntry => ({
  ...{ type: 'entry', number: 1, status: 'booked', direction: 'credit', isReversal: false, amountMinor: 100_00n },
  ...{ currency: 'EUR', date: '2026-03-02', bankReference: null, kind: null, text: null, fileId: null },
  ...{ paymentCount: null, payments: [] },
  ...changes,
})
const withText = (text: string, changes: Partial<BankEntry> = {}) =>
  entryOf({ payments: [{ ...nothing, remittance: [text] }], ...changes })

/** Imports files in sequence, and returns the recorded entries. */
function after(...files: readonly (readonly [family: 'camt' | 'mt' | 'csv', ...entries: BankEntry[]])[]): BankEntries {
  return files.reduce<BankEntries>((known, [family, ...entries], n) => {
    const source = { accountId: 'DE89', importId: `file-${n}`, family, at: '2026-03-03T10:00:00.000Z' }
    return recordEntries(entries, known, new Set(), source, mac).events.reduce(bankEntriesDecider.evolve, known)
  }, bankEntriesDecider.initialState)
}

t.test('the same file twice records nothing', async (t) => {
  const file = ['camt', withText('A'), withText('A'), withText('B'), entryOf()] as const
  t.equal(after(file).length, 4)
  t.strictSame(after(file, file), after(file))
})

t.test('a later report of the day adds only what is new, also with the same amount', async (t) => {
  const [a, b] = [withText('A', { bankReference: 'R1' }), withText('B', { bankReference: 'R2' })]
  t.equal(after(['camt', a], ['camt', b]).length, 2, 'two reports without common entries')
  t.equal(after(['camt', a], ['camt', b], ['camt', b, a]).length, 2, 'the statement of the day, in another order')
  const same = withText('A', { bankReference: 'R3' })
  t.equal(after(['camt', a], ['camt', a, same]).length, 2, 'two equal payments with different references')
})

t.test('the same day in another format records nothing', async (t) => {
  const camt = [withText('Order 1', { bankReference: 'R1' }), withText('Order 2', { bankReference: 'R2' })]
  const mt = [withText('ORDER 2', { bankReference: 'M7' }), withText('ORDER1', { bankReference: 'M8' })]
  t.equal(after(['camt', ...camt], ['mt', ...mt]).length, 2)
  t.equal(
    after(['camt', ...camt], ['mt', ...mt, withText('ORDER 1', { bankReference: 'M9' })]).length,
    3,
    'one more there',
  )
  t.equal(after(['camt', ...camt], ['csv', entryOf(), entryOf()]).length, 2, 'without any text')
})

t.test('entries of one format with different references or texts are different', async (t) => {
  const [a, b] = [withText('A', { bankReference: 'R1' }), withText('A', { bankReference: 'R2' })]
  t.equal(after(['camt', a], ['camt', b]).length, 2)
  t.equal(after(['csv', withText('A')], ['csv', withText('B')]).length, 2)
})

t.test('payments that the bank names later replace the entry, unless its money is used', async (t) => {
  const whole = entryOf({ bankReference: 'R1', paymentCount: 2 })
  const named = {
    ...whole,
    payments: [
      { ...nothing, amountMinor: 60_00n },
      { ...nothing, amountMinor: 40_00n },
    ],
  }
  const [entry] = after(['camt', whole], ['camt', named])
  t.match(entry!.payments, [
    { isSuperseded: true },
    { payment: { paidAmountMinor: 60_00n } },
    { payment: { paidAmountMinor: 40_00n } },
  ])
  t.strictSame(after(['camt', whole], ['camt', named], ['camt', whole], ['camt', named]), [entry])
  const [known] = after(['camt', whole])
  const { paymentId } = known!.payments[0]!.payment
  const assign = {
    type: 'Assign',
    paymentId,
    trackingId: 't',
    amountMinor: 100_00n,
    by: 'user:ada',
    at: '2026-03-04T10:00:00.000Z',
  } as const
  const decision = bankEntriesDecider.decide(assign, [known!])
  if (!decision.accepted) throw new Error(decision.refusal.rule)
  const used = decision.events.reduce(bankEntriesDecider.evolve, [known!] as BankEntries)
  const source = { accountId: 'DE89', importId: 'x', family: 'camt', at: '2026-03-03T10:00:00.000Z' } as const
  t.same(recordEntries([named], used, new Set(), source, mac).events, [])
})

t.test(
  'after any files of a day, as many entries are recorded as the file with the most has, and repeats add none',
  async (t) => {
    const entries = fc.array(
      fc.constantFrom('A', 'B', 'C').map((text) => withText(text)),
      { maxLength: 8 },
    )
    const family = fc.constantFrom('camt' as const, 'mt' as const, 'csv' as const)
    fc.assert(
      fc.property(fc.array(fc.tuple(family, entries), { maxLength: 5 }), (files) => {
        const given = files.map(([name, all]) => [name, ...all] as const)
        const known = after(...given)
        for (const [, all] of files) t.ok(known.length >= all.length)
        t.strictSame(after(...given, ...given), known)
        const ids = known.map(({ entryId }) => entryId)
        t.equal(new Set(ids).size, ids.length)
      }),
      { numRuns: 300 },
    )
  },
)
