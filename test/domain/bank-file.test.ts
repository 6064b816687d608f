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
  const addition = {
    type: 'AddToBankFile',
    ...settler,
    format,
    messageId: 'batch-1',
    payingAccountId: null,
    repeat: null,
  } as const
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

const about = (written: ReturnType<typeof file>) =>
  written.accepted ? [] : written.problems.map(({ about, rule, values }) => ({ about, rule, values }))

t.test('states the time of creation in the 19 characters that every bank accepts', async (t) => {
  t.match(file('pain.001', [withdrawal({ accountNumber: iban }, claimed)]), {
    text: '<CreDtTm>2026-03-01T10:05:00</CreDtTm>',
  })
})

t.test('states the trackingId if no letter or digit of the reference is left', async (t) => {
  const remittances = (referenceId: string) => {
    const written = file('pain.001', [withdrawal({ accountNumber: iban, referenceId }, claimed)])
    return written.accepted && [...written.text.matchAll(/<Ustrd>([^<]*)<\/Ustrd>/g)].map(([, text]) => text)
  }
  const { trackingId } = withdrawalCreated.data
  for (const referenceId of ['\u00a8', ' ', '李明', '😀', '...', '\u0301', '.'.repeat(128)])
    t.strictSame(remittances(referenceId), [trackingId], referenceId)
  t.strictSame(remittances('李-1'), ['.-1'])
})

t.test('rejects a day on which no bank pays', async (t) => {
  const own = withdrawal({ accountNumber: iban }, claimed)
  // 1 March 2026 is a Sunday, and 6 April 2026 is Easter Monday.
  for (const [date, rule, values] of [
    ['2026-03-01', 'not-target-day', { next: '2026-03-02' }],
    ['2026-03-07', 'not-target-day', { next: '2026-03-09' }],
    ['2026-04-03', 'not-target-day', { next: '2026-04-07' }],
    ['2026-12-25', 'not-target-day', { next: '2026-12-28' }],
    ['2026-02-27', 'date-passed', { next: '2026-03-02' }],
    ['2027-03-02', 'date-too-late', { latest: '2027-03-01' }],
    ['2026-02-30', 'date-invalid', {}],
    ['02.03.2026', 'date-invalid', {}],
    ['', 'date-invalid', {}],
  ] as const)
    t.strictSame(about(file('pain.001', [own], { date })), [{ about: 'date', rule, values }], date)
  for (const date of ['2026-03-02', '2026-04-02', '2027-03-01'])
    t.match(file('pain.001', [own], { date }), { text: `<ReqdExctnDt><Dt>${date}</Dt>` })
  t.equal(file('csv', [own], { date: '2026-03-01' }).accepted, true, 'CSV states no day')
})

t.test('rejects QR-IBANs of payees and of the payer', async (t) => {
  const own = withdrawal({ trackingId: 'own', accountNumber: 'CH93 0076 2011 6238 5295 7' }, claimed)
  const qr = withdrawal({ trackingId: 'qr', accountNumber: 'ch44 3199 9123 0008 8901 2' }, claimed)
  const payer = { ...debtor, address: { town: 'Berlin', country: 'DE' } }
  t.equal(file('pain.001', [own], { debtor: payer }).accepted, true)
  t.match(file('pain.001', [own, qr], { debtor: payer }), {
    problems: [{ transfer: { trackingId: 'qr' }, rule: 'qr-iban' }],
  })
  t.strictSame(about(file('pain.001', [own], { debtor: { ...payer, iban: 'CH4431999123000889012' } })), [
    { about: 'iban', rule: 'qr-iban', values: {} },
  ])
  t.equal(file('csv', [qr]).accepted, true)
})

t.test('requires the address of the payer between countries of which one is outside the EEA', async (t) => {
  const german = withdrawal({ accountNumber: iban }, claimed)
  const british = withdrawal({ accountNumber: 'GB82WEST12345698765432' }, claimed)
  const swiss = withdrawal({ accountNumber: 'CH9300762011623852957' }, claimed)
  const needed = (countries: string) =>
    ['town', 'country'].map((field) => ({ about: field, rule: 'address-needed', values: { countries } }))
  t.strictSame(about(file('pain.001', [swiss, german, british])), needed('CH, GB'))
  t.strictSame(
    about(file('pain.001', [german], { debtor: { ...debtor, iban: 'GB82WEST12345698765432' } })),
    needed('GB'),
  )
  t.strictSame(about(file('pain.001', [german])), [])
  t.strictSame(about(file('csv', [swiss])), [])
  const unclaimed = withdrawal({ accountNumber: 'GB82WEST12345698765432' })
  const turkish = withdrawal({ accountNumber: 'TR330006100519786457841326' }, claimed)
  const rules = about(file('pain.001', [german, unclaimed, turkish])).map(({ rule }) => rule)
  const turkishPayer = file('pain.001', [german], { debtor: { ...debtor, iban: 'TR330006100519786457841326' } })
  t.strictSame(
    about(turkishPayer).map(({ rule }) => rule),
    ['iban-not-sepa'],
  )
  t.strictSame(rules, ['claim-needed', 'iban-not-sepa'], 'a withdrawal outside the file needs no address')
  const address = { street: 'Königsallee', building: '5 a', postcode: '40212', town: 'Düsseldorf', country: 'de' }
  t.match(file('pain.001', [swiss], { debtor: { ...debtor, address } }), {
    text:
      '<Dbtr><Nm>Shop + Sons .GmbH.</Nm><PstlAdr><StrtNm>Konigsallee</StrtNm><BldgNb>5 a</BldgNb>' +
      '<PstCd>40212</PstCd><TwnNm>Dusseldorf</TwnNm><Ctry>DE</Ctry></PstlAdr></Dbtr>',
  })
  t.match(file('pain.001', [swiss], { debtor: { ...debtor, address: { town: 'Bern', country: 'CH', street: ' ' } } }), {
    text: '<PstlAdr><TwnNm>Bern</TwnNm><Ctry>CH</Ctry></PstlAdr>',
  })
})

t.test('rejects a payer of whom a bank cannot read a text', async (t) => {
  const own = withdrawal({ accountNumber: iban }, claimed)
  const address = { town: 'Berlin', country: 'DE' }
  for (const [changes, problem] of [
    [{ name: '李明' }, ['name', 'not-sepa-text']],
    [{ name: '\u00a8' }, ['name', 'not-sepa-text']],
    [{ bic: 'bylademmx' }, ['bic', 'bic-invalid']],
    [{ bic: '\u00a8' }, ['bic', 'bic-invalid']],
    [{ address: { ...address, town: '' } }, ['town', 'required']],
    [{ address: { ...address, town: '東京' } }, ['town', 'not-sepa-text']],
    [{ address: { ...address, town: 'x'.repeat(36) } }, ['town', 'too-long']],
    [{ address: { ...address, street: '...' } }, ['street', 'not-sepa-text']],
    [{ address: { ...address, building: 'x'.repeat(17) } }, ['building', 'too-long']],
    [{ address: { ...address, postcode: '\u00a8' } }, ['postcode', 'not-sepa-text']],
    [{ address: { ...address, country: '' } }, ['country', 'required']],
    [{ address: { ...address, country: 'ZZ' } }, ['country', 'country-invalid']],
    [{ address: { ...address, country: 'Germany' } }, ['country', 'country-invalid']],
  ] as const)
    t.strictSame(
      about(file('pain.001', [own], { debtor: { ...debtor, ...changes } })).map(({ about, rule }) => [about, rule]),
      [problem],
    )
  t.equal(file('pain.001', [own], { debtor: { ...debtor, bic: '' } }).accepted, true)
})

t.test('never returns a file that a bank would reject, even if a check of an input is missing', async (t) => {
  const own = withdrawal({ accountNumber: iban }, claimed)
  const settler = { by: actor.by, underClaim: true, at: later }
  const addition = {
    type: 'AddToBankFile',
    ...settler,
    format: 'pain.001',
    messageId: '',
    payingAccountId: null,
    repeat: null,
  } as const
  t.throws(() => file('pain.001', [own], { addition }), { message: 'the content of MsgId is invalid in a SEPA file' })
  t.throws(() => file('pain.001', []), { message: 'the content of NbOfTxs is invalid in a SEPA file' })
})
