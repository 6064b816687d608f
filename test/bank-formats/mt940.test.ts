import t from 'tap'
import { entriesOf, mt940, only, problemOf, recordsOf } from './bank-files.js'

const entryOf = async (...lines: string[]) => (await entriesOf(mt940(...lines)))[0]!
const plain = ':61:2603020302CR10,NTRFNONREF//B-1'
const paymentOf = async (...details: string[]) => (await entryOf(plain, ...details)).payments[0]!
const wrapped = (text: string) => `:86:${text}`.match(/.{1,65}/g)!

t.test('reads a message with and without the blocks of SWIFT, and several in a file', async (t) => {
  const bare = mt940(plain)
  const expected = await recordsOf(bare)
  t.match(expected, [
    { format: 'MT940', account: 'DE89370400440532013000', currency: 'EUR', statementId: 'REF-1', number: '7/1' },
    { direction: 'credit', amountMinor: 1000n },
    { opening: { amountMinor: 10000n, currency: 'EUR', date: '2026-03-02' }, closing: { amountMinor: 10000n } },
  ])
  const blocks = `{1:F01BANKDEFFXXXX0000000000}{2:I940BANKDEFFXXXXN}{4:\r\n${bare.replace('-\r\n', '-}{5:{CHK:0}}\r\n')}`
  for (const text of [
    blocks,
    `\r\n${bare}`,
    `:940:\r\n${bare}`,
    `ABNANL2A\r\n940\r\nABNANL2A\r\n${bare}`,
    bare.replaceAll('\r', ''),
    bare.replace('-\r\n', ''),
  ])
    t.same(await recordsOf(text), expected)
  t.same(await recordsOf(bare + blocks), [...expected, ...expected])
  t.match(await problemOf(`${bare}junk here\r\n`), ['bank-file-damaged', { place: '8' }])
})

t.test('names the account as the other formats do', async (t) => {
  const account = async (text: string) => (await recordsOf(mt940().replace('DE89370400440532013000', text)))[0]
  for (const text of [
    '37040044/532013000',
    '37040044/0532013000',
    'DE89 3704 0044 0532 0130 00',
    'COBADEFF/DE89370400440532013000',
    'DE89370400440532013000EUR',
  ])
    t.match(await account(text), { account: 'DE89370400440532013000' }, text)
  t.match(await account('123-456 78'), { account: '123-45678' })
})

t.test('ignores the words and the number 0 that name no statement', async (t) => {
  const start = async (from: string, to: string) => (await recordsOf(mt940().replace(from, to)))[0]
  t.match(await start('REF-1', 'STARTUMSE'), { statementId: null })
  t.match(await start('7/1', '00000'), { number: null })
  t.match(await start('7/1', '00042/001'), { number: '42/1' })
})

t.test('reads the optional parts of a statement line', async (t) => {
  t.match(await entryOf(plain), {
    date: '2026-03-02',
    direction: 'credit',
    bankReference: 'B-1',
    kind: 'NTRF',
    payments: only(),
  })
  t.match(await entryOf(':61:260302D10,5FMSCORDER-5'), {
    ...{ date: '2026-03-02', direction: 'debit', amountMinor: 1050n, bankReference: null, kind: 'FMSC' },
    payments: [{ endToEndId: 'ORDER-5', amountMinor: 1050n }],
  })
  t.match(await entryOf(':61:2512310102C1,00NTRFNONREF'), { date: '2026-01-02' }, 'booked in the next year')
  t.match(await entryOf(':61:2601021231C1,00NTRFNONREF'), { date: '2025-12-31' }, 'booked in the previous year')
  t.match(await entryOf(':61:2603020302RCR1,NTRFNONREF'), { direction: 'debit', isReversal: true })
  t.match(await entryOf(':61:2603020302RD1,NTRFNONREF'), { direction: 'credit', isReversal: true })
  t.match(await entryOf(plain, 'Supplementary'), { text: 'Supplementary' })
  t.match(await entryOf(`${plain}  `), { bankReference: 'B-1' })
  for (const word of ['EREF', 'KREF+', 'NONREF', 'PREF'])
    t.match(await entryOf(`:61:260302C1,NTRF${word}`, ':86:text'), { payments: [{ endToEndId: null }] }, word)
})

t.test('reads the original amount and the charges next to the statement line', async (t) => {
  const entry = await entryOf(':61:260302C97,50NTRFNONREF', '/OCMT/USD110,00//CHGS/EUR2,50/', ':86:text')
  t.match(entry.payments, [{ instructed: { amountMinor: 11000n, currency: 'USD' }, chargesMinor: 250n }])
  const other = await entryOf(':61:260302C97,50NTRFNONREF', '/OCMT/EUR97,5/CHGS/USD2,50/', ':86:text')
  t.match(other.payments, [{ instructed: null, chargesMinor: null }])
})

t.test('reads the subfields of German banks', async (t) => {
  const [id, file] = ['5d41402abc4b4a76b9719d911017c592', '0d9c8b7a6f5e4d3c2b1a0f9e8d7c6b5a']
  const text = `166?00GUTSCHRIFT?109310?20EREF+${id.slice(0, 22)}?21${id.slice(22)}?22MREF+M-1?23SVWZ+Order 5, first line and?24the second?30KREDBEBB?31BE68539007547034?32Ada Muster mit einem langen?33 Namen`
  t.match(await entryOf(plain, ...wrapped(text)), {
    ...{ kind: '166', text: 'GUTSCHRIFT', fileId: null },
    payments: [
      {
        ...{ endToEndId: id, name: 'Ada Muster mit einem langen Namen', account: 'BE68539007547034' },
        ...{ remittance: only('Order 5, first line and', 'the second'), returned: null },
      },
    ],
  })
  const batch = `191?00SAMMLER?20KREF+${file.slice(0, 22)}?21${file.slice(22)}?22SVWZ+ANZAHL 2`
  t.match(await entryOf(plain, ...wrapped(batch)), { fileId: file, payments: only() })
  const unnamed = '166?20one?21two?60three?63four?31123456?32Ada'
  t.match(await paymentOf(`:86:${unnamed}`), {
    remittance: only('one', 'two', 'three', 'four'),
    account: '123456',
    name: 'Ada',
  })
  const words = '166?20SVWZ+text EREF+E-1 ?21IBAN+BE68539007547034?22BIC+KREDBEBB?23ABWA+Ultimate?24RREF+R-1?31999'
  t.match(await paymentOf(`:86:${words}`), {
    ...{
      endToEndId: 'E-1',
      account: 'BE68539007547034',
      name: 'Ultimate',
      bankReference: 'R-1',
      remittance: only('text'),
    },
  })
  t.match(await paymentOf(':86:166~00POSTING~20SVWZ+text~32Ada'), { name: 'Ada', remittance: only('text') })
})

t.test('a German code of a return marks a returned payment with its reason', async (t) => {
  for (const code of ['108', '109', '159', '181', '184']) {
    const payment = await paymentOf(`:86:${code}?00RETURN?20EREF+E-1?21SVWZ+RETURN AC04 ACCOUNT CLOSED?34902`)
    t.match(
      payment,
      { endToEndId: 'E-1', returned: { reasonCode: 'AC04', reasonText: 'RETURN AC04 ACCOUNT CLOSED' } },
      code,
    )
  }
  t.match(await paymentOf(':86:159?20SVWZ+unknown reason'), { returned: { reasonCode: null } })
  t.match(await paymentOf(':86:159?20SVWZ+RETURN AC?2101 IBAN'), { returned: { reasonCode: 'AC01' } }, 'a split code')
  t.equal((await paymentOf(':86:166?20SVWZ+AC04')).returned, null)
})

t.test('reads the code words of Dutch banks', async (t) => {
  const ing = '/EREF/E-1//CNTP/NL91ABNA0417164300/ABNANL2A/Paula Voorbeeld/Utrecht//REMI/USTD//order 5/'
  t.match(await paymentOf(...wrapped(ing)), {
    ...{
      endToEndId: 'E-1',
      account: 'NL91ABNA0417164300',
      name: 'Paula Voorbeeld',
      remittance: only('order 5'),
      returned: null,
    },
  })
  const rabobank = '/ORDP//NAME/Paula Voorbeeld/ADDR/Straat 1 Utrecht/REMI/order/5/ISDT/2026-03-02'
  t.match(await paymentOf(...wrapped(rabobank)), { name: 'Paula Voorbeeld', remittance: only('order/5') })
  const abnAmro = '/TRTP/SEPA OVERBOEKING/IBAN/NL91ABNA0417164300/BIC/ABNANL2A/NAME/P VOORBEELD/REMI/order 5/EREF/E-1'
  t.match(await paymentOf(...wrapped(abnAmro)), {
    endToEndId: 'E-1',
    name: 'P VOORBEELD',
    account: 'NL91ABNA0417164300',
  })
  t.match(await paymentOf(':86:/BENM//NAME/Paula/REMI/text'), { name: 'Paula' })
  const returned = '/RTRN/MS03//EREF/E-2//CNTP/NL91ABNA0417164300/ABNANL2A/Q Voorbeeld///REMI/USTD//terug/'
  t.match(await paymentOf(...wrapped(returned)), {
    returned: { reasonCode: 'MS03', reasonText: 'MS03 terug' },
    endToEndId: 'E-2',
  })
  t.match(await entryOf(plain, ':86:/PREF/FILE-1//NRTX/3//REMI/USTD//TOTAL 3 VZ/'), {
    fileId: 'FILE-1',
    paymentCount: 3,
    payments: only(),
  })
  const structured = '/CNTP/BE68539007547034/KREDBEBB/Roos///REMI/STRD/CUR/RF18539007547034/'
  t.match(await paymentOf(...wrapped(structured)), { creditorReference: 'RF18539007547034', remittance: only() })
})

t.test('keeps the lines of unstructured text', async (t) => {
  t.match(await paymentOf(':86:one', 'two: 5', ':not a field'), { remittance: only('one', 'two: 5', ':not a field') })
  t.match(await paymentOf(':86:SVWZ+text', 'EREF+E-1'), { remittance: only('text'), endToEndId: 'E-1' })
  const entries = await entriesOf(mt940(plain, ':86:of the entry').replace('-\r\n', ':86:of the statement\r\n-\r\n'))
  t.same(entries[0]!.payments[0]!.remittance, ['of the entry'])
})

t.test('reads an interim report as pending', async (t) => {
  const report = (limit: string) =>
    `:20:R\r\n:25:DE89370400440532013000\r\n:28C:1\r\n${limit}:13D:2603021205+0100\r\n${plain}\r\n:90D:0EUR0,\r\n-\r\n`
  t.match(await recordsOf(report(':34F:EURD0,\r\n:34F:EURC0,\r\n')), [
    { format: 'MT942', currency: 'EUR' },
    { status: 'pending' },
    { opening: null, closing: null },
  ])
  t.match(await problemOf(report('')), ['bank-value-missing', { name: ':34F:', place: '5' }])
})

t.test('names the line of a problem', async (t) => {
  const broken = async (from: string | RegExp, to: string) => problemOf(mt940(plain).replace(from, to))
  t.match(
    await broken(/:62F:.*\r\n/, ''),
    ['bank-value-missing', { name: ':62F:', place: '6' }],
    'a file that was cut off',
  )
  t.match(await broken(/:60F:.*\r\n/, ''), ['bank-value-missing', { name: ':60F:' }])
  t.match(await broken(/:25:.*\r\n/, ''), ['bank-value-missing', { name: ':25:' }])
  t.match(await broken('CR10,', 'CR10.'), ['bank-file-damaged', { place: '5' }])
  t.match(await broken('CR10,', 'CR10,005'), ['bank-amount-invalid', { place: '5' }])
  t.match(await broken('2603020302', '2602300302'), ['bank-date-invalid', { place: '5' }])
  t.match(await broken('2603020302', '2603020230'), ['bank-date-invalid', { place: '5' }])
  t.match(await broken('C260302EUR100,', 'C260302EUR1 00,'), ['bank-file-damaged', { place: '4' }])
  t.equal(await broken('CR10,', 'CR10,500'), undefined, 'zeros are not significant')
})
