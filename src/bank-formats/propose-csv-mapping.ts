import { parse } from 'csv-parse/sync'
import type { CsvMapping } from '../domain/bank/bank-records.js'
import { dayIn, signedAmount } from './csv-values.js'

type ColumnKey = keyof CsvMapping['columns']

/** The names of columns in English, German and Turkish, in the form of `plain`. A name that comes first is preferred. */
const names: { readonly [Key in ColumnKey]-?: readonly string[] } = {
  date: [
    ...['booking date', 'buchungstag', 'buchungsdatum', 'buchung', 'completed date', 'transaction date', 'date'],
    ...['datum', 'islem tarihi', 'tarih', 'value date', 'wertstellung', 'valuta', 'valutadatum', 'valor'],
  ],
  amount: [
    ...['amount', 'betrag', 'umsatz', 'tutar', 'islem tutari', 'amount (eur)', 'betrag (eur)', 'betrag (€)'],
    ...['amount (try)', 'tutar (tl)'],
  ],
  credit: ['credit', 'haben', 'gutschrift', 'paid in', 'money in', 'alacak', 'giren'],
  debit: ['debit', 'soll', 'lastschrift', 'belastung', 'paid out', 'money out', 'borc', 'cikan'],
  sign: ['debit/credit', 'credit/debit', 'soll/haben', 's/h', 'borc/alacak', 'b/a', 'dc', 'd/c', 'direction'],
  currency: ['currency', 'wahrung', 'waehrung', 'para birimi', 'doviz', 'doviz cinsi'],
  name: [
    ...['name', 'partner name', 'payer name', 'counterparty', 'counterparty name', 'auftraggeber/empfanger'],
    ...['begunstigter/zahlungspflichtiger', 'name zahlungsbeteiligter', 'zahlungsbeteiligter', 'karsi taraf'],
    ...['gonderen/alici', 'ad soyad', 'unvan', 'gonderen'],
  ],
  account: [
    ...['iban', 'partner iban', 'counterparty iban', 'account number', 'kontonummer/iban', 'kontonummer'],
    ...['iban zahlungsbeteiligter', 'karsi iban', 'karsi hesap'],
  ],
  remittance: [
    ...['payment reference', 'remittance information', 'verwendungszweck', 'aciklama', 'description', 'details'],
    ...['buchungsdetails', 'reference'],
  ],
  endToEndId: ['end-to-end id', 'end-to-end-referenz', 'end to end id', 'kundenreferenz (end-to-end)'],
  bankReference: ['transaction id', 'transferwise id', 'id', 'bankreferenz', 'dekont no', 'fis no', 'islem no'],
  balance: ['balance', 'running balance', 'saldo', 'saldo nach buchung', 'kontostand', 'bakiye'],
}
const currencyInName = /\((EUR|USD|GBP|CHF|TRY)\)$/i
const debitValues = ['S', 'Soll', 'D', 'DR', 'DBIT', 'DEBIT', 'Debit', 'B', 'BORÇ', 'Borç', 'OUT']
const creditValues = ['H', 'Haben', 'C', 'CR', 'CRDT', 'CREDIT', 'Credit', 'A', 'ALACAK', 'Alacak', 'IN']
const separators = [',', ';', '\t', '|'] as const
const decimalMarks = ['.', ','] as const
const dateFormats = [
  ...['YYYY-MM-DD', 'DD.MM.YYYY', 'DD.MM.YY', 'DD/MM/YYYY', 'MM/DD/YYYY', 'DD-MM-YYYY', 'YYYY/MM/DD', 'DD/MM/YY'],
  ...['YYYYMMDD', 'YYYY.MM.DD'],
]
const maxHeadLines = 40

/** Returns a name without case, marks and repeated spaces, so that `İşlem Tarihi` and `ISLEM TARIHI` are the same. */
const plain = (name: string): string =>
  name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase().replaceAll('ı', 'i').replaceAll(/\s+/g, ' ').trim()

/** Returns how the columns of the file can be read, or `undefined` if the first bytes do not leave exactly one way. */
export function proposeCsvMapping(firstBytes: Uint8Array): CsvMapping | undefined {
  const lines = textOf(firstBytes).split(/\r?\n/).slice(0, 500)
  // The last line can be cut off.
  if (lines.length > 2) lines.pop()
  const proposals = separators.flatMap((separator) => {
    for (let skipLines = 0; skipLines < Math.min(lines.length, maxHeadLines); skipLines += 1) {
      const proposal = proposed(lines.slice(skipLines), separator, skipLines)
      if (proposal !== undefined) return [proposal]
    }
    return []
  })
  return proposals.length === 1 ? proposals[0] : undefined
}

function textOf(bytes: Uint8Array): string {
  const [a, b] = bytes
  if (a === 0xff && b === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  try {
    // `stream` accepts a character that is cut off at the end.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

function proposed(lines: readonly string[], separator: CsvMapping['separator'], skipLines: number) {
  const [headLine = ''] = lines
  if (!headLine.includes(separator)) return undefined
  const columns = columnsOf(rowsOf([headLine], separator)?.[0] ?? [])
  if (columns === undefined) return undefined
  const [head = [], ...rows] = rowsOf(lines, separator) ?? []
  const cellsOf = (key: ColumnKey) => {
    const index = head.indexOf(columns[key] ?? '')
    return index < 0 ? [] : rows.flatMap((row) => row[index] || [])
  }
  const formats = dateFormats.filter((format) => allAre(cellsOf('date'), (text) => dayIn(text, format) !== undefined))
  const amounts = (['amount', 'credit', 'debit', 'balance'] as const).flatMap(cellsOf)
  const marks = decimalMarks.filter((mark) => allAre(amounts, (text) => signedAmount(text, mark) !== undefined))
  const currency = currencyInName.exec(columns.amount ?? '')?.[1]?.toUpperCase()
  const isSignKnown = allAre(cellsOf('sign'), (text) => [...debitValues, ...creditValues].includes(text))
  const [dateFormat, decimalMark] = [formats[0], marks[0]]
  if (formats.length !== 1 || marks.length !== 1 || dateFormat === undefined || decimalMark === undefined)
    return undefined
  if (columns.sign !== undefined && !isSignKnown) return undefined
  return {
    ...{ separator, decimalMark, dateFormat, columns, skipLines },
    ...(columns.sign === undefined ? {} : { debitValues }),
    ...(currency === undefined || columns.currency !== undefined ? {} : { currency }),
  }
}

const allAre = (texts: readonly string[], is: (text: string) => boolean): boolean => texts.length > 0 && texts.every(is)

function rowsOf(lines: readonly string[], delimiter: string): string[][] | undefined {
  try {
    return parse(lines.join('\n'), { delimiter, relax_column_count: true, skip_empty_lines: true, trim: true })
  } catch {
    return undefined
  }
}

/** Returns the columns that the header line names, or `undefined` without a date and an amount. */
function columnsOf(head: readonly string[]): CsvMapping['columns'] | undefined {
  const found = new Map<ColumnKey, string>()
  for (const [key, known] of Object.entries(names) as [ColumnKey, readonly string[]][]) {
    const name = known.flatMap((each) => head.find((cell) => plain(cell) === each) ?? [])[0]
    if (name !== undefined && ![...found.values()].includes(name)) found.set(key, name)
  }
  const { date, ...columns } = Object.fromEntries(found) as Partial<CsvMapping['columns']>
  if (date === undefined) return undefined
  if (columns.amount !== undefined) {
    const { credit: _, debit: __, ...rest } = columns
    return { date, ...rest }
  }
  return columns.credit !== undefined && columns.debit !== undefined ? { date, ...columns } : undefined
}
