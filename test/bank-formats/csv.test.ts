import t from 'tap'
import { proposeCsvMapping } from '../../src/bank-formats/propose-csv-mapping.js'
import type { CsvMapping } from '../../src/domain/bank/bank-records.js'
import { entriesOf, fixture, only, problemOf, recordsOf } from './bank-files.js'

const mapping: CsvMapping = {
  ...{ separator: ';', decimalMark: ',', dateFormat: 'DD.MM.YYYY', currency: 'EUR' },
  columns: { date: 'Date', amount: 'Amount', remittance: 'Text' },
}
const file = (...rows: string[]) => ['Date;Amount;Text', ...rows, ''].join('\r\n')
const entryOf = async (row: string, changed: Partial<CsvMapping> = {}) =>
  (await entriesOf(file(row), { ...mapping, ...changed }))[0]

t.test('reads quoted cells, which can contain separators, quotes and line ends', async (t) => {
  const entries = await entriesOf(file('02.03.2026;"1.000,50";"a;b ""c""\r\nd"', '', '03.03.2026;-2;plain'), mapping)
  t.match(entries[0], { direction: 'credit', amountMinor: 100050n, date: '2026-03-02', currency: 'EUR' })
  t.same(entries[0]!.payments[0]!.remittance, ['a;b "c"', 'd'])
  t.match(entries[1], {
    number: 2,
    direction: 'debit',
    amountMinor: 200n,
    payments: only({ remittance: only('plain') }),
  })
})

t.test('reads amounts with a sign and groups of digits, and rejects all others', async (t) => {
  const amount = async (text: string, decimalMark: CsvMapping['decimalMark'] = ',') => {
    const entry = await entryOf(`02.03.2026;"${text}";`, { decimalMark })
    return entry!.direction === 'debit' ? -entry!.amountMinor : entry!.amountMinor
  }
  for (const [text, minor] of [
    ['+5', 500n],
    ['-5,1', -510n],
    ['5-', -500n],
    ['−5', -500n],
    ['1 234 567,89', 123456789n],
    ["1'000,00", 100000n],
    ['0,00', 0n],
  ] as const)
    t.equal(await amount(text), minor, text)
  t.equal(await amount('1,234.50', '.'), 123450n)
  for (const text of ['', 'x', '1,234', '1.23,00', '1.234.56', '-5-', '1e3', '5 EUR', '1.000 000,00'])
    t.same(await problemOf(file(`02.03.2026;"${text}";`), mapping), ['bank-amount-invalid', { place: '2' }], text)
})

t.test('reads the direction from one column, from two, or from a column of its own', async (t) => {
  const head = 'Date;In;Out;DC;Amount'
  const withColumns = (columns: Omit<CsvMapping['columns'], 'date'>) => ({
    ...{ ...mapping, columns: { date: 'Date', ...columns }, debitValues: ['D', 'S'] },
  })
  const read = (row: string, columns: Omit<CsvMapping['columns'], 'date'>) =>
    entriesOf(`${head}\n${row}\n`, withColumns(columns))
  const two = { credit: 'In', debit: 'Out' }
  t.match((await read('02.03.2026;5;;;', two))[0], { direction: 'credit', amountMinor: 500n })
  t.match((await read('02.03.2026;;5;;', two))[0], { direction: 'debit', amountMinor: 500n })
  t.match((await read('02.03.2026;0,00;-5;;', two))[0], { direction: 'debit', amountMinor: 500n })
  const own = { amount: 'Amount', sign: 'DC' }
  t.match((await read('02.03.2026;;;S;5', own))[0], { direction: 'debit' })
  t.match((await read('02.03.2026;;;H;5', own))[0], { direction: 'credit' })
  for (const [row, columns] of [
    ['02.03.2026;5;5;;', two],
    ['02.03.2026;;;;', two],
    ['02.03.2026;-5;;;', two],
    ['02.03.2026;;;S;-5', own],
  ] as const)
    t.match(await problemOf(`${head}\n${row}\n`, withColumns(columns)), ['bank-amount-invalid', { place: '2' }], row)
  const undirected = await problemOf(`${head}\n02.03.2026;;;;5\n`, withColumns(own))
  t.match(undirected, ['bank-value-missing', { name: 'DC' }])
})

t.test('reads dates in the form of the mapping, also before a time', async (t) => {
  const date = async (text: string, dateFormat: string) => (await entryOf(`${text};1;`, { dateFormat }))?.date
  t.equal(await date('2.3.26', 'DD.MM.YY'), '2026-03-02')
  t.equal(await date('03/02/2026', 'MM/DD/YYYY'), '2026-03-02')
  t.equal(await date('20260302', 'YYYYMMDD'), '2026-03-02')
  t.equal(await date('2026-03-02 10:11:12', 'YYYY-MM-DD'), '2026-03-02')
  t.equal(await date('2026-03-02T10:11:12Z', 'YYYY-MM-DD'), '2026-03-02')
  for (const text of ['', '31.02.2026', '2026-03-02', '02.03.2026x', '02.03.20266'])
    t.same(await problemOf(file(`${text};1;`), mapping), ['bank-date-invalid', { place: '2' }], text)
})

t.test('finds the header line after the skipped lines, and names the line of a problem in the file', async (t) => {
  const skipping = { ...mapping, skipLines: 2 }
  const text = `"Account\nstatement\n${file('02.03.2026;1;', 'x;1;')}`
  t.same(await problemOf(text, skipping), ['bank-date-invalid', { place: '5' }])
  t.same(
    await problemOf(file('02.03.2026;1'), mapping),
    ['bank-value-missing', { name: 'Text', place: '2' }],
    'a short row',
  )
  t.same(await problemOf('Date;Amount\r\n', mapping), ['bank-value-missing', { name: 'Text', place: '1' }])
  t.same(await problemOf('\n', mapping), ['bank-file-unrecognised', {}])
  t.match(await problemOf(file('02.03.2026;1;a"b'), mapping), ['bank-file-damaged', { place: /^\d$/ }])
  t.match(await problemOf(file('02.03.2026;1;"never ends'), mapping), ['bank-file-damaged', { place: /^\d$/ }])
})

t.test('requires a currency of each row', async (t) => {
  const { currency: _, ...without } = mapping
  t.match(await problemOf(file('02.03.2026;1;'), without), ['bank-value-missing', { name: 'currency' }])
  const columns = { ...without, columns: { ...mapping.columns, currency: 'Text' } }
  t.match(await entriesOf(file('02.03.2026;1;USD'), columns), only({ currency: 'USD' }))
  t.match(await problemOf(file('02.03.2026;1;dollars'), columns), ['bank-value-unknown', { name: 'Text' }])
})

t.test('states balances only if those of all rows follow from one another', async (t) => {
  const columns = { ...mapping.columns, balance: 'Text' }
  const ends = async (...rows: string[]) => {
    const end = (await recordsOf(file(...rows), { ...mapping, columns })).at(-1)!
    return end.type === 'statement-end' && [end.opening?.amountMinor, end.closing?.amountMinor]
  }
  t.same(await ends('02.03.2026;1;11', '03.03.2026;-5;6'), [1000n, 600n])
  t.same(await ends('03.03.2026;-5;6', '02.03.2026;1;11'), [1000n, 600n], 'the latest first')
  t.same(await ends('02.03.2026;1;11', '03.03.2026;-5;7'), [undefined, undefined], 'a gap')
  t.same(await ends('02.03.2026;1;11', '03.03.2026;-5;'), [undefined, undefined], 'an empty cell')
  t.same(await ends('02.03.2026;-1;-1'), [0n, -100n])
})

t.test('proposes the mapping of exports in English, German and Turkish', async (t) => {
  for (const [name, expected] of [
    [
      'n26.csv',
      {
        separator: ',',
        decimalMark: '.',
        dateFormat: 'YYYY-MM-DD',
        currency: 'EUR',
        columns: { date: 'Booking Date', amount: 'Amount (EUR)', account: 'Partner Iban' },
      },
    ],
    [
      'revolut.csv',
      { columns: { date: 'Completed Date', amount: 'Amount', currency: 'Currency', balance: 'Balance' } },
    ],
    [
      'wise.csv',
      { dateFormat: 'DD-MM-YYYY', columns: { bankReference: 'TransferWise ID', remittance: 'Payment Reference' } },
    ],
    [
      'german-bank.csv',
      {
        separator: ';',
        decimalMark: ',',
        dateFormat: 'DD.MM.YYYY',
        skipLines: 5,
        columns: { date: 'Buchung', amount: 'Betrag' },
      },
    ],
    [
      'turkish-bank.csv',
      { dateFormat: 'DD/MM/YYYY', columns: { date: 'İşlem Tarihi', amount: 'Tutar', sign: 'Borç/Alacak' } },
    ],
    ['british-bank.csv', { columns: { date: 'Date', credit: 'Money In', debit: 'Money Out' } }],
  ] as const)
    t.match(proposeCsvMapping(fixture(name)), expected, name)
  const wide = Buffer.from(`\ufeff${fixture('n26.csv').toString()}`, 'utf16le')
  t.same(proposeCsvMapping(wide), proposeCsvMapping(fixture('n26.csv')))
  t.same(proposeCsvMapping(fixture('n26.csv').subarray(0, 300)), proposeCsvMapping(fixture('n26.csv')))
})

t.test('proposes nothing if the first bytes leave more than one way', async (t) => {
  const propose = (...lines: string[]) => proposeCsvMapping(Buffer.from(`${lines.join('\n')}\n`))
  t.equal(propose('Date,Amount', '01/02/2026,5.10'), undefined, 'day or month')
  t.ok(propose('Date,Amount', '01/02/2026,5.10', '13/02/2026,5.10'))
  t.equal(propose('Date;Amount', '13/02/2026;5'), undefined, 'comma or point')
  t.equal(propose('Date;Amount;D/C', '13/02/2026;5,10;X'), undefined, 'an unknown direction')
  t.equal(propose('Date;Text', '13/02/2026;5,10'), undefined, 'no amount')
  t.equal(propose('Date;Amount'), undefined, 'no rows')
  t.equal(propose(''), undefined)
  t.equal(proposeCsvMapping(fixture('german-mt940.sta')), undefined)
  t.equal(proposeCsvMapping(fixture('german-camt053-v08.xml')), undefined)
})
