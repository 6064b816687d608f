import fc from 'fast-check'
import t from 'tap'
import { comparableText, type MatchedFacts, proposalsFor, referenceIn } from '../../../src/domain/bank/matching.js'
import { evolve, initialState, type Transfer } from '../../../src/domain/transfer/transfer.js'
import type { TransferEvent } from '../../../src/domain/transfer/transfer-events.js'
import { common, completed, created } from '../transfer-samples.js'

function transferOf(event: TransferEvent, changes: object, ...later: readonly TransferEvent[]): Transfer {
  const first = { ...event, data: { ...event.data, ...changes } } as TransferEvent
  return [first, ...later].reduce(evolve, initialState) as Transfer
}
const deposit = (referenceId: string, changes: object = {}, ...later: readonly TransferEvent[]) =>
  transferOf(created.deposit, { referenceId, amountMinor: 100_00n, ...changes }, ...later)
const withdrawal = (changes: object = {}, ...later: readonly TransferEvent[]) =>
  transferOf(
    created.withdrawal,
    { amountMinor: 100_00n, accountNumber: 'DE02120300000000202051', ...changes },
    ...later,
  )

const credit = (lines: readonly string[], changes: Partial<MatchedFacts> = {}): MatchedFacts => ({
  ...{ matched: 'credit', amountMinor: 100_00n, endToEndIds: [], fileId: null, lines, account: null },
  ...changes,
})
const debit = (changes: Partial<MatchedFacts> = {}): MatchedFacts => ({ ...credit([]), matched: 'debit', ...changes })
const idOf = ({ trackingId }: Transfer) => trackingId.replaceAll('-', '')

t.test('a withdrawal is certain by our id in any form, unless the amount or the account differs', async (t) => {
  const paid = withdrawal()
  for (const id of [idOf(paid), idOf(paid).toUpperCase(), paid.trackingId]) {
    const [proposal] = proposalsFor(debit({ endToEndIds: [id], account: 'DE02 1203 0000 0000 2020 51' }), [paid])
    t.match(proposal, { isCertain: true, reasons: ['end-to-end-id', 'account', 'amount'] }, id)
  }
  const [other] = proposalsFor(debit({ endToEndIds: [idOf(paid)], amountMinor: 99_00n }), [paid])
  t.match(other, { isCertain: false, reasons: ['end-to-end-id', 'other-amount'] })
  const [elsewhere] = proposalsFor(debit({ endToEndIds: [idOf(paid)], account: 'DE89370400440532013000' }), [paid])
  t.match(elsewhere, { isCertain: false, reasons: ['end-to-end-id', 'other-account', 'amount'] })
})

t.test('the id in the text is as good as in its field', async (t) => {
  const paid = withdrawal()
  const id = idOf(paid).toUpperCase()
  const [proposal] = proposalsFor(debit({ lines: [`EREF ${id.slice(0, 20)}`, id.slice(20)] }), [paid])
  t.match(proposal, { isCertain: true, reasons: ['tracking-id', 'amount'] })
})

t.test('no transfer is proposed for its amount alone, and the account with the amount is never certain', async (t) => {
  t.same(proposalsFor(debit(), [withdrawal()]), [])
  t.same(proposalsFor(credit(['thanks']), [deposit('ORDER-77812')]), [])
  const [proposal] = proposalsFor(debit({ account: 'DE02120300000000202051' }), [withdrawal()])
  t.match(proposal, { isCertain: false, reasons: ['account', 'amount'] })
  t.same(proposalsFor(debit({ account: 'DE02120300000000202051', amountMinor: 1n }), [withdrawal()]), [])
})

t.test(
  'a reference is found regardless of spaces, hyphens, case, line breaks and letters that banks replace',
  async (t) => {
    const damaged = [
      ['ORDER-77812'],
      ['order 77812'],
      ['Payment for ORDER77812 thanks'],
      ['ORDER-77', '812'],
      ['ORDER 7 7 8 1 2'],
      ['order/77812.'],
      ['EREF', 'ORDER-77812', 'SVWZ'],
      ['Ref:ORDER_77812;'],
      ['O R D E R - 7 7 8 1 2'],
      ['(Order–77812)'],
    ]
    for (const lines of damaged) {
      const [proposal] = proposalsFor(credit(lines), [deposit('ORDER-77812')])
      t.match(proposal, { isCertain: true, reasons: ['reference', 'amount'] }, lines.join('|'))
    }
    for (const text of ['KUECHE-GROSS-12', 'KUCHE GROSS 12', 'Küche-Groß-12', 'KCHE-GRO-12'])
      t.match(proposalsFor(credit([text]), [deposit('Küche-Groß-12')])[0], { isCertain: true }, text)
  },
)

t.test('a part of a longer reference, a short one, and one of several are not certain', async (t) => {
  t.match(proposalsFor(credit(['ORDER-778123']), [deposit('ORDER-77812')])[0], {
    isCertain: false,
    reasons: ['part-of-word', 'amount'],
  })
  t.match(proposalsFor(credit(['A-12']), [deposit('A-12')])[0], {
    isCertain: false,
    reasons: ['short-reference', 'amount'],
  })
  t.same(proposalsFor(credit(['12']), [deposit('12')]), [])
  const [a, b] = proposalsFor(credit(['ORDER-77812 ORDER-99999']), [
    deposit('ORDER-77812'),
    deposit('ORDER-99999', { trackingId: 'b' }),
  ])
  t.match([a, b], [{ isCertain: false }, { isCertain: false }])
  const both = proposalsFor(credit(['ORDER-77812-2']), [
    deposit('ORDER-77812'),
    deposit('ORDER-77812-2', { trackingId: 'b' }),
  ])
  t.match(both[0], { trackingId: 'b', isCertain: true }, 'the longer of two references was meant')
  t.equal(both[1]?.isCertain, false)
})

t.test(
  'two transfers that the payment names equally well are not certain, and a weaker name does not matter',
  async (t) => {
    const [a, b] = [withdrawal(), withdrawal({ trackingId: '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b11' })]
    const both = proposalsFor(debit({ endToEndIds: [idOf(a), idOf(b)] }), [a, b])
    t.match(both, [{ isCertain: false }, { isCertain: false }])
    const named = proposalsFor(debit({ endToEndIds: [idOf(a)], lines: [b.referenceId] }), [a, b])
    t.match(
      named.find(({ trackingId }) => trackingId === a.trackingId),
      { isCertain: true },
    )
  },
)

t.test('the same part twice is not certain, because it can be one payment with two dates', async (t) => {
  const part = credit(['ORDER-77812'], { amountMinor: 40_00n })
  const first = deposit('ORDER-77812')
  const bank = { bankPaymentId: 'e', effect: 'received', reference: 'R1', matchedAmountMinor: 40_00n, bookedOn: null }
  const reason = { by: 'user:ada', bankReference: null, bankReasonCode: null, bankReasonText: null }
  const matched = { type: 'BankPaymentMatched', data: { ...common('deposit'), ...bank, ...reason } } as TransferEvent
  t.match(proposalsFor(part, [first])[0], { isCertain: true })
  t.match(proposalsFor(part, [evolve(first, matched) as Transfer])[0], { isCertain: false })
})

t.test('a part of the amount is certain for a long reference, and more than the rest never', async (t) => {
  const part = credit(['ORDER-77812'], { amountMinor: 60_00n })
  t.match(proposalsFor(part, [deposit('ORDER-77812')])[0], { isCertain: true, reasons: ['reference', 'part'] })
  t.match(proposalsFor({ ...part, lines: ['AB-1234'] }, [deposit('AB-1234')])[0], { isCertain: false })
  t.match(proposalsFor({ ...part, amountMinor: 101_00n }, [deposit('ORDER-77812')])[0], { isCertain: false })
})

t.test('an ended transfer is certain only if a user completed it before the statement', async (t) => {
  const done = withdrawal({}, completed('withdrawal', { transactionAmountMinor: 100_00n }))
  const facts = debit({ endToEndIds: [idOf(done)] })
  t.match(proposalsFor(facts, [done])[0], { isCertain: true })
  const bank = { bankPaymentId: 'e', effect: 'confirmed', reference: null, matchedAmountMinor: 100_00n, bookedOn: null }
  const reason = { by: 'user:ada', bankReference: null, bankReasonCode: null, bankReasonText: null }
  const matched = { type: 'BankPaymentMatched', data: { ...common('withdrawal'), ...bank, ...reason } } as TransferEvent
  t.match(proposalsFor(facts, [evolve(done, matched) as Transfer])[0], {
    isCertain: false,
    reasons: ['end-to-end-id', 'amount', 'ended'],
  })
})

t.test('money that came back is matched by the id of the payment, with at most the kept amount', async (t) => {
  const done = withdrawal({}, completed('withdrawal', { transactionAmountMinor: 100_00n }))
  const back = debit({ matched: 'return', endToEndIds: [idOf(done)], account: 'DE89370400440532013000' })
  t.match(proposalsFor(back, [done])[0], { isCertain: true, reasons: ['end-to-end-id', 'amount'] })
  t.match(proposalsFor({ ...back, amountMinor: 95_00n }, [done])[0], {
    isCertain: true,
    reasons: ['end-to-end-id', 'part'],
  })
  t.match(proposalsFor({ ...back, amountMinor: 101_00n }, [done])[0], { isCertain: false })
  t.match(proposalsFor(back, [withdrawal()])[0], {
    isCertain: false,
    reasons: ['end-to-end-id', 'other-amount', 'ended'],
  })
})

t.test('a credit never belongs to a withdrawal, and a debit never to a deposit', async (t) => {
  fc.assert(
    fc.property(fc.string(), fc.boolean(), (text, isCredit) => {
      const other = isCredit ? withdrawal({ referenceId: 'ORDER-77812' }) : deposit('ORDER-77812')
      const facts = credit([text, 'ORDER-77812'], { endToEndIds: [idOf(other)], account: 'DE02120300000000202051' })
      t.same(proposalsFor({ ...facts, matched: isCredit ? 'credit' : 'debit' }, [other]), [])
    }),
    { numRuns: 200 },
  )
})

t.test('a reference in any text is found, and never crashes', async (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }),
      (before, reference, after) => {
        const found = referenceIn(comparableText([before, reference, after]), reference)
        t.ok(found === undefined || ['reference', 'short-reference', 'part-of-word'].includes(found))
      },
    ),
    { numRuns: 500 },
  )
})
