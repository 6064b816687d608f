/** A number stands as it is; a text never becomes a formula. */
export type Cell = string | number

/** What spreadsheets take for the beginning of a formula. */
const formula = /^\s*[=+\-@\t\r]/
const plainNumber = /^-?\d+(\.\d+)?$/

/**
 * A line of CSV (RFC 4180), safe to open in a spreadsheet: what would be calculated there has an apostrophe before it. Names and
 * references are the customers' words, and the file is opened by who pays.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`
}

function cellText(cell: Cell): string {
  if (typeof cell === 'number') return String(cell)
  const safe = formula.test(cell) && !plainNumber.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
