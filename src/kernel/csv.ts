/** CSV (RFC 4180) for two kinds of readers, whose types keep it apart: spreadsheets calculate a text, and banks pay to it as it is written. */

export type Cell = string | number
declare const reader: unique symbol
type CsvFor<Reader> = string & { readonly [reader]: Reader }
export type PeopleCsv = CsvFor<'people'>
export type BankCsv = CsvFor<'bank'>

/**
 * The places at which a spreadsheet starts to read a formula, because customers choose texts. Where a semicolon separates cells, quotes do
 * not protect a semicolon or a line break. East Asian spreadsheets accept the wide and small forms of the operators.
 */
const formulas = /(?<=^|[;\t\r\n])(?=[\s"]*[=+\-@\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20\t\r])/g
const plainNumber = /^-?\d+(\.\d+)?$/

/** Returns the first line of a file for spreadsheets. The byte order mark makes them read UTF-8. */
export function peopleCsvHead(columns: readonly string[]): PeopleCsv {
  return `\ufeff${peopleCsv([columns])}` as PeopleCsv
}

/**
 * Returns lines whose cells are all quoted. An apostrophe precedes each text that a spreadsheet would calculate. The first cell of a row
 * cannot be a negative number: where a comma does not separate cells, the rest of the row belongs to it.
 */
export function peopleCsv(rows: readonly (readonly Cell[])[]): PeopleCsv {
  const cell = (value: Cell, column: number) => {
    const text = String(value)
    return quoted(column > 0 && plainNumber.test(text) ? text : text.replace(formulas, "'"))
  }
  return linesOf(rows, cell) as PeopleCsv
}

/** Returns lines whose cells are the given texts, unchanged. Only a text that needs quotes has them. */
export function bankCsv(rows: readonly (readonly string[])[]): BankCsv {
  return linesOf(rows, (text) => (/[",\r\n]/.test(text) ? quoted(text) : text)) as BankCsv
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

function linesOf<Value>(rows: readonly (readonly Value[])[], write: (cell: Value, column: number) => string): string {
  return rows.map((cells) => `${cells.map(write).join(',')}\r\n`).join('')
}
