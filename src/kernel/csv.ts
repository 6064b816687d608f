export type Cell = string | number

/** The text from which spreadsheets start to read a formula. */
const formula = /^\s*[=+\-@\t\r]/
const plainNumber = /^-?\d+(\.\d+)?$/

/**
 * Returns a line of CSV (RFC 4180) that is safe to open in a spreadsheet: an apostrophe precedes text that would be calculated. Customers
 * choose names and references, and the person who pays opens the file.
 */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(cellText).join(',')}\r\n`

function cellText(cell: Cell): string {
  if (typeof cell === 'number') return String(cell)
  const safe = formula.test(cell) && !plainNumber.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
