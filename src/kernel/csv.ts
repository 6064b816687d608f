/** CSV for two kinds of readers: people open a file in a spreadsheet, and programs read it exactly (docs/decisions/0046-csv-files.md). */

/** The type of every cell of a column. A `word` is one of the service's own, such as a status. A `day` is `2026-11-21`. */
type ColumnType = 'text' | 'word' | 'number' | 'time' | 'day'

export interface Column<Row> {
  readonly name: string
  readonly type: ColumnType
  /** Returns the exact value: a number with a decimal point, a time in ISO 8601 in UTC. The text is empty without a value. */
  readonly of: (row: Row) => string
}

/** The language and the time zone in which people read a file. */
export interface People {
  /** A BCP 47 tag, such as `tr` or `en-GB`. */
  readonly language: string
  readonly timeZone: string
}

export type CsvReader = 'programs' | People

/** The columns, written for a reader. */
interface Csv<Row> {
  readonly head: string
  readonly lines: (rows: readonly Row[]) => string
}

/**
 * Returns the writer of a file. For people, a spreadsheet of their language that opens the file shows every text, number and time as
 * stored, and calculates nothing. @throws RangeError for an invalid language or zone
 */
export function csvOf<Row>(columns: readonly Column<Row>[], reader: CsvReader): Csv<Row> {
  const names = columns.map(({ name }) => name)
  if (reader === 'programs') {
    return { head: exactCsv([names]), lines: (rows) => exactCsv(rows.map((row) => columns.map(({ of }) => of(row)))) }
  }
  const mark = decimalMark(reader.language)
  const separator = separatorOf(reader.language)
  const timeIn = timeFormat(reader.timeZone)
  const cell = (type: ColumnType, value: string) => {
    if (type === 'text') return value === '' || isPlain(value) ? value : textFormula(value)
    if (type === 'number') return value.replace('.', mark)
    return type === 'time' && value !== '' ? timeIn(value) : value
  }
  const lineOf = (cells: readonly string[]) => `${cells.map(quoted).join(separator)}\r\n`
  return {
    // The byte order mark makes spreadsheets read UTF-8.
    head: `\ufeff${lineOf(names)}`,
    lines: (rows) => rows.map((row) => lineOf(columns.map(({ type, of }) => cell(type, of(row))))).join(''),
  }
}

/**
 * Returns lines of RFC 4180 whose cells are the given texts, unchanged. Only a text that needs quotes has them, and an empty one that is
 * alone, because many programs skip empty lines.
 */
export function exactCsv(rows: readonly (readonly string[])[]): string {
  const cell = (text: string) => (/[",\r\n]/.test(text) ? quoted(text) : text)
  return rows.map((cells) => `${cells.map(cell).join(',') || quoted('')}\r\n`).join('')
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

function decimalMark(language: string): '.' | ',' {
  const parts = new Intl.NumberFormat(language).formatToParts(1.5)
  return parts.find(({ type }) => type === 'decimal')?.value === '.' ? '.' : ','
}

/** Spreadsheets separate cells with a semicolon in the languages in which a comma separates decimals. */
function separatorOf(language: string): ',' | ';' {
  return decimalMark(language) === ',' ? ';' : ','
}

/** Returns a function that writes times such as `2026-11-21 23:10:05`, which spreadsheets of all languages read alike. */
function timeFormat(timeZone: string): (time: string) => string {
  // The Swedish format is that of ISO 8601.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  return (time) => format.format(Date.parse(time))
}

const letter = '(?:(?!\\P{L})\\p{Script=Latin})'
const plain = new RegExp(`^${letter}+(?:(?: |['’_&-]|\\. ?)${letter}+)+\\.?$`, 'u')

/**
 * Returns whether every spreadsheet reads the text as a text: two or more words of Latin letters. Numbers and dates have digits, also in
 * other scripts, and a single word can be a logical value in some language.
 */
const isPlain = (text: string): boolean => plain.test(text)

/**
 * Returns a formula whose result is the text. Its literals are shorter than the 255 characters that Excel allows. Each separator ends a
 * literal: an application that expects a different separator starts its next cell there, with a quote instead of the customer's `=`.
 */
function textFormula(text: string): string {
  const literals = text.match(/[^,;\t\r\n]{1,120}[,;\t\r\n]?|[,;\t\r\n]/gu) ?? []
  return `=${literals.map(quoted).join('&')}`
}
