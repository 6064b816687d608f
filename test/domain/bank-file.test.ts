import t from 'tap'
import { type Batch, bankFile } from '../../src/domain/bank-file.js'
import type { Transfer } from '../../src/domain/transfer/transfer.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { addMs, minuteMs } from '../../src/kernel/time.js'
import { specification } from '../support/given-when-then.js'
import { common, completed, depositCreated, later, withdrawalCreated } from './transfer-samples.js'

const { fold } = specification(transferDecider)
const actor = { by: 'user:ada', approvalAboveMinor: null, at: later }
const claimed: TransferEvent = {
  type: 'WithdrawalClaimed',
  data: { ...common('withdrawal'), by: actor.by, until: addMs(later, 15 * minuteMs) },
}
const iban = 'DE89370400440532013000'
const debtor = { name: 'Shop & Sons <GmbH>', iban: 'DE02 1203 0000 0000 2020 51', bic: 'BYLADEM1001' }
const euros = { code: 'EUR', decimals: 2 } as const

function withdrawal(changes: object = {}, ...history: TransferEvent[]): Transfer {
  return fold([{ ...withdrawalCreated, data: { ...withdrawalCreated.data, ...changes } }, ...history]) as Transfer
}

function file(format: 'csv' | 'pain.001', transfers: readonly Transfer[], changes: Partial<Batch> = {}) {
  const withdrawals = transfers.map((transfer) => ({ transfer, approvalAboveMinor: null }))
  const settler = { by: actor.by, underClaim: true, at: later }
  const addition = { type: 'AddToBankFile', ...settler, format, messageId: 'batch-1', again: null } as const
  return bankFile({ addition, debtor, currency: euros, withdrawals, date: '2026-03-02', ...changes })
}

t.test('writes a batch as CSV', async (t) => {
  const [one, two] = [withdrawal({ name: '=HYPERLINK("x")' }, claimed), withdrawal({ referenceId: '-a' }, claimed)]
  const { trackingId, accountNumber } = withdrawalCreated.data
  t.strictSame(file('csv', [one, two]), {
    accepted: true,
    text: [
      'trackingId,referenceId,name,accountNumber,amount,currency',
      `${trackingId},order-1001,"=HYPERLINK(""x"")",${accountNumber},100.00,EUR`,
      `${trackingId},-a,Ayşe Yılmaz,${accountNumber},100.00,EUR`,
      '',
    ].join('\r\n'),
  })
  const yen = file('csv', [withdrawal({ amountMinor: 150_000n }, claimed)], { currency: { code: 'JPY', decimals: 0 } })
  t.match(yen, { text: /,1500,JPY/ })
})

t.test(
  'writes a batch as SEPA with amounts and their sum, accounts, escaped names, and a stable batch id',
  async (t) => {
    const name = `Ada "O'Neil" & <Söhne>`
    const transfers = [
      withdrawal({ accountNumber: 'de89 3704 0044 0532 0130 00', name }, claimed),
      withdrawal({ accountNumber: iban, amountMinor: 12_345n }, claimed),
    ]
    const written = file('pain.001', transfers)
    if (!written.accepted) throw new Error('the batch was rejected')
    const { text } = written
    const all = (tag: string) =>
      [...text.matchAll(new RegExp(`<${tag}(?: [^>]*)?>([^<]*)</${tag}>`, 'g'))].map(([, inner]) => inner)
    t.match(
      text,
      /^<\?xml version="1.0" encoding="UTF-8"\?>\n<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09">/,
    )
    t.strictSame(all('NbOfTxs'), ['2', '2'])
    t.strictSame(all('CtrlSum'), ['223.45', '223.45'])
    t.strictSame(all('InstdAmt'), ['100.00', '123.45'])
    t.equal(text.split('<InstdAmt Ccy="EUR">').length, 3)
    t.strictSame(all('IBAN'), ['DE02120300000000202051', iban, iban])
    t.strictSame(all('BICFI'), ['BYLADEM1001'])
    t.strictSame(all('Nm'), [
      ...['Shop + Sons .GmbH.', 'Shop + Sons .GmbH.'],
      ...["Ada .O'Neil. + .Sohne.", 'Ayse Yilmaz'],
    ])
    t.strictSame(all('MsgId'), ['batch-1'])
    t.strictSame(all('Dt'), ['2026-03-02'])
    for (const id of all('EndToEndId')) t.match(id, /^[0-9a-f]{32}$/)
    t.strictSame(all('Ustrd'), ['order-1001', 'order-1001'])
    t.strictSame(file('pain.001', transfers), written, 'the same batch gives the same file')
    const opened = [...text.matchAll(/<([A-Za-z0-9]+)[ >]/g)].map(([, tag]) => tag).sort()
    const closed = [...text.matchAll(/<\/([A-Za-z0-9]+)>/g)].map(([, tag]) => tag).sort()
    t.strictSame(opened, closed, 'every element is closed')
    t.match(file('pain.001', transfers, { debtor: { name: 'Shop', iban: debtor.iban } }), {
      text: /<Othr><Id>NOTPROVIDED/,
    })
  },
)

t.test('rejects a whole batch and names every withdrawal that the user cannot pay', async (t) => {
  const own = withdrawal({ accountNumber: iban }, claimed)
  const unclaimed = withdrawal({ trackingId: 'unclaimed', accountNumber: iban })
  const paid = withdrawal({ trackingId: 'paid', accountNumber: iban }, claimed, completed('withdrawal'))
  const deposit = fold([depositCreated]) as Transfer
  const refused = file('csv', [own, unclaimed, paid, deposit])
  if (refused.accepted) throw new Error('the batch was accepted')
  t.strictSame(
    refused.problems.map((problem) => 'transfer' in problem && [problem.transfer.trackingId, problem.rule]),
    [
      ['unclaimed', 'claim-needed'],
      ['paid', 'status-final'],
      [deposit.trackingId, 'withdrawal-required'],
    ],
  )
  const large = { transfer: own, approvalAboveMinor: 1_00n }
  const rule = 'approval-needed'
  t.match(file('csv', [], { withdrawals: [large] }), { accepted: false, problems: [{ rule }] })
})

t.test(
  'rejects a SEPA file with an invalid IBAN or BIC, too large an amount or a currency other than EUR',
  async (t) => {
    const wallet = withdrawal({ trackingId: 'wallet', accountNumber: '481920375566' }, claimed)
    const own = withdrawal({ accountNumber: iban }, claimed)
    const rule = 'account-not-iban'
    t.match(file('pain.001', [own, wallet]), { problems: [{ transfer: { trackingId: 'wallet' }, rule }] })
    t.equal(file('csv', [own, wallet]).accepted, true)
    const largest = withdrawal({ accountNumber: iban, amountMinor: 999_999_999_99n }, claimed)
    t.equal(file('pain.001', [largest]).accepted, true)
    const tooLarge = withdrawal({ accountNumber: iban, amountMinor: 1_000_000_000_00n }, claimed)
    const above = { rule: 'sepa-amount-too-large', values: { largest: 99_999_999_999n } }
    t.match(file('pain.001', [tooLarge]), { accepted: false, problems: [above] })
    t.equal(file('csv', [tooLarge]).accepted, true)
    const about = (changes: object) => {
      const written = file('pain.001', [own], changes)
      return written.accepted || written.problems.map((problem) => problem.about)
    }
    t.strictSame(about({ currency: { code: 'TRY', decimals: 2 } }), ['format'])
    t.strictSame(about({ debtor: undefined }), ['debtor'])
    t.strictSame(about({ debtor: { ...debtor, iban: 'DE00' } }), ['iban'])
    t.strictSame(about({ debtor: { ...debtor, bic: 'bad' } }), ['bic'])
    t.strictSame(about({ debtor: { ...debtor, name: ' ' } }), ['name'])
  },
)
