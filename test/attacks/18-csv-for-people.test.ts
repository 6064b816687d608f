import fc from 'fast-check'
import t from 'tap'
import { type Column, csvOf, exactCsv } from '../../src/kernel/csv.js'
import { anyText } from '../support/any-text.js'
import { cellOf, rawCells } from '../support/spreadsheet.js'

interface Row {
  readonly at: string
  readonly text: string
  readonly amount: string
}

const columns: readonly Column<Row>[] = [
  { name: 'createdAt', type: 'time', of: ({ at }) => at },
  { name: 'text', type: 'text', of: ({ text }) => text },
  { name: 'amount', type: 'number', of: ({ amount }) => amount },
]
const at = '2026-11-20T21:30:05.123Z'
const separators = { en: ',', 'en-GB': ',', tr: ';', de: ';' } as const
const languages = ['en', 'en-GB', 'tr', 'de'] as const
const fileFor = (language: string, rows: readonly Row[]) => {
  const { head, lines } = csvOf(columns, { language, timeZone: 'Europe/Istanbul' })
  return head + lines(rows)
}

/** Returns the text that a spreadsheet shows in the text column, or the value into which it turns it. */
function shown(text: string, language: (typeof languages)[number]) {
  const rows = rawCells(fileFor(language, [{ at, text, amount: '-12.50' }]), separators[language])
  if (rows.length !== 2 || rows[1]?.length !== 3) return rows
  const cell = cellOf(rows[1][1]!)
  return cell.is === 'text' ? cell.text : cell
}

t.test('the model reads unprotected cells as spreadsheets do', async (t) => {
  for (const [raw, is] of [
    ...['000123', '007', '1E5', '1,5', '1.234,50', '-5', '(5)', '5 %', '₺5', '１２３', '1'.repeat(22)].map(
      (raw) => [raw, 'number'] as const,
    ),
    ...['3-4', '12/5', '1:30', '10 AM', '3.4', 'MARCH1', 'Sep-2', '2 Ocak', '1 1/2', '2026-11-20 10:00'].map(
      (raw) => [raw, raw === '3.4' ? 'number' : 'date'] as const,
    ),
    ...['TRUE', 'DOĞRU', 'wahr'].map((raw) => [raw, 'logical'] as const),
    ...['=1+1', '+a', '-a', '@a', '＝1+1', ' =1', '\t1+a', '=A1', '="a"&A1', `="${'a'.repeat(256)}"`].map(
      (raw) => [raw, 'formula'] as const,
    ),
    ...['a', 'TR33 0006', '="000"', '="a""b"&"c"'].map((raw) => [raw, 'text'] as const),
  ])
    t.equal(cellOf(raw).is, is, raw)
})

t.test('a spreadsheet of every language shows these texts unchanged', async (t) => {
  const texts = [
    ...['000123', '007', '1E5', '3-4', '12/5', '1234567890123456789012', '1:30', 'MARCH1', '10 AM', '5%', 'TRUE'],
    ...['DOĞRU', '1,5', '1.5', '=1+1', '+90 555', '-1', '@SUM(A1)', '＝1+1', '﹦1', '−1', '\t1', '\r1', ' 007', '007 '],
    ...['a"b', '"', '""', '="x"', "'007", 'a,b', 'a;=1+1', 'a\n=1', 'Ada Lovelace', 'Şükrü Öz-Işık', "O'Neil Jr.", ''],
    ...['1'.repeat(255), '1'.repeat(256), '"'.repeat(300), '😀'.repeat(200), '一月一日', '٣-٤', 'a\u0000b'],
  ]
  for (const language of languages)
    for (const text of texts) t.equal(shown(text, language), text, `${language} ${text}`)
})

const unit = fc.constantFrom(
  ...'=+-@＝＋－＠﹦﹢﹣﹫−',
  ...'0123456789',
  ...'aeEpmTRş;,./:%"\' \t\n\r',
  '　',
  '１',
  'mar',
  'Oca',
)
const text = fc.oneof(
  fc.string({ unit, maxLength: 12 }),
  fc.string({ unit, minLength: 200, maxLength: 400 }),
  fc.stringMatching(/^\d{1,4}[-/.:eE,]\d{1,4}$/),
  anyText(),
)

t.test('a spreadsheet shows every text, number and time as stored', async () => {
  const minor = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n })
  fc.assert(
    fc.property(text, minor, fc.constantFrom(...languages), (text, minor, language) => {
      const shownText = shown(text, language)
      if (shownText !== text) throw new Error(`${JSON.stringify(text)} became ${JSON.stringify(shownText)}`)
      const digits = (minor < 0n ? -minor : minor).toString().padStart(3, '0')
      const amount = `${minor < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
      const [, row] = rawCells(fileFor(language, [{ at, text: '', amount }]), separators[language])
      const mark = separators[language] === ';' ? ',' : '.'
      if (row?.[0] !== '2026-11-21 00:30:05' || row[2] !== amount.replace('.', mark)) throw new Error(String(row))
    }),
    { numRuns: 3000 },
  )
})

t.test('no text becomes a formula, whichever separator the spreadsheet expects', async () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 3 }), fc.constantFrom(...languages), (texts, language) => {
      const file = fileFor(
        language,
        texts.map((text) => ({ at, text, amount: '-12.50' })),
      )
      for (const separator of [',', ';', '\t', '|'])
        for (const raw of rawCells(file, separator).flat())
          if (cellOf(raw).is === 'formula')
            throw new Error(`${JSON.stringify(raw)} is a formula with the separator ${JSON.stringify(separator)}`)
    }),
    {
      numRuns: 3000,
      examples: [
        [['a;=1+1'], 'en'],
        [['a,=1+1'], 'tr'],
        [['a\n=1'], 'en'],
        [['a;"=1;b'], 'en'],
      ],
    },
  )
})

t.test('a file for people quotes every cell, starts with a byte order mark and has the zone’s times', async (t) => {
  const row = { at, text: '007', amount: '1234.50' }
  const inTurkish = '\ufeff"createdAt";"text";"amount"\r\n"2026-11-21 00:30:05";"=""007""";"1234,50"\r\n'
  t.equal(fileFor('tr', [row]), inTurkish)
  t.equal(fileFor('en', [row]), inTurkish.replaceAll(';', ',').replace('1234,50', '1234.50'))
})

t.test('a file for programs contains every value unchanged', async (t) => {
  const { head, lines } = csvOf(columns, 'programs')
  t.equal(
    head + lines([{ at, text: '=1+1, "007"', amount: '-1234.50' }]),
    `createdAt,text,amount\r\n${at},"=1+1, ""007""",-1234.50\r\n`,
  )
  t.equal(exactCsv([['=1+1', '+90 555', '0012', 'a,b']]), '=1+1,+90 555,0012,"a,b"\r\n')
  t.equal(exactCsv([['message'], [''], ['x']]), 'message\r\n""\r\nx\r\n', 'no empty line, which many programs skip')
})
