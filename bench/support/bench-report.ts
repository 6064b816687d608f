/** The measurements of a part of the bench and their presentation as a table. */

/** A figure of a subject, such as an engine or a peer, with a value per round. */
interface Row {
  readonly subject: string
  /** The name of the figure with its unit. */
  readonly figure: string
  readonly values: readonly number[]
}

/** A message of a part to the runner. A note explains the rows, for example which measurements were not run. */
export type Message = Row | { readonly title: string } | { readonly note: string }

export interface PartReport {
  readonly name: string
  title: string
  readonly rows: Row[]
  readonly notes: string[]
}

interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
}

function send(message: Message): void {
  if (process.send) process.send(message)
  else console.log(JSON.stringify(message))
}

export function title(text: string): void {
  send({ title: text })
}

/** Reports a row without its unknown values, such as CPU times that the operating system does not provide. */
export function row(subject: string, figure: string, values: readonly number[]): void {
  const known = values.filter((value) => Number.isFinite(value))
  if (known.length > 0) send({ subject, figure, values: known })
}

export function note(text: string): void {
  send({ note: text })
}

export function collect(report: PartReport, message: Message): void {
  if ('title' in message) report.title = message.title
  else if ('note' in message) report.notes.push(message.note)
  else report.rows.push(message)
}

/** Returns the median, minimum and maximum. The median of an even number of values is the mean of the middle two. */
export function summaryOf(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2
  return { median, min: sorted[0]!, max: sorted.at(-1)! }
}

/** Formats a number with three significant digits, because a bench is not more precise. */
function format(value: number): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)))
  return value.toLocaleString('en', { maximumFractionDigits: Math.min(digits, 2) })
}

function cellOf({ values }: Row): string {
  const { median, min, max } = summaryOf(values)
  return values.length === 1 ? format(median) : `${format(median)} (${format(min)} to ${format(max)})`
}

/** Returns a table with a column per subject and a row per figure, or transposed if there are more subjects than figures. */
export function tableOf(rows: readonly Row[]): string {
  const subjects = new Set(rows.map(({ subject }) => subject))
  const figures = new Set(rows.map(({ figure }) => figure))
  const isTransposed = subjects.size > figures.size
  const [columns, lines] = isTransposed ? [figures, subjects] : [subjects, figures]
  const cellAt = (line: string, column: string) => {
    const [subject, figure] = isTransposed ? [line, column] : [column, line]
    const found = rows.find((row) => row.subject === subject && row.figure === figure)
    return found ? cellOf(found) : '-'
  }
  const table = [
    ['', ...columns],
    ...[...lines].map((line) => [line, ...[...columns].map((name) => cellAt(line, name))]),
  ]
  const widths = table[0]!.map((_, column) => Math.max(...table.map((cells) => cells[column]!.length)))
  const padded = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)
  return table.map((cells) => cells.map(padded).join('  ').trimEnd()).join('\n')
}
