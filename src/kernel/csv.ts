export type Cell = string | number

/** Text that spreadsheets read as a formula. */
const formula = /^\s*[=+\-@\t\r]/
const plainNumber = /^-?\d+(\.\d+)?$/

/** Returns a line of CSV (RFC 4180). Text that a spreadsheet would calculate gets a leading apostrophe, because customers choose the texts. */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(cellText).join(',')}\r\n`

function cellText(cell: Cell): string {
  if (typeof cell === 'number') return String(cell)
  const safe = formula.test(cell) && !plainNumber.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
