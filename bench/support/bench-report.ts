/** What a part of the bench tells, and how it is shown: one row for people and for machines. */

/** One figure of one subject, such as an engine or a peer: a value for each round. */
export interface Row {
  readonly subject: string
  /** With its unit. */
  readonly figure: string
  readonly values: readonly number[]
}

/** What a part sends to the runner. A note is something that has to be known to read the rows, such as what was not run. */
export type Told = Row | { readonly title: string } | { readonly note: string }

export interface PartReport {
  readonly name: string
  title: string
  readonly rows: Row[]
  readonly notes: string[]
}

export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
}

function tell(told: Told): void {
  if (process.send) process.send(told)
  else console.log(JSON.stringify(told))
}

export function title(text: string): void {
  tell({ title: text })
}

/** Values that are not known, as where an operating system tells no processor time, are left out; a row without any is not told. */
export function row(subject: string, figure: string, values: readonly number[]): void {
  const known = values.filter((value) => Number.isFinite(value))
  if (known.length > 0) tell({ subject, figure, values: known })
}

export function note(text: string): void {
  tell({ note: text })
}

export function collect(report: PartReport, told: Told): void {
  if ('title' in told) report.title = told.title
  else if ('note' in told) report.notes.push(told.note)
  else report.rows.push(told)
}

/** Of an even number of values, the median is the mean of the two in the middle. */
export function summaryOf(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2
  return { median, min: sorted[0]!, max: sorted.at(-1)! }
}

/** Three digits are all that a bench can know. */
function shown(value: number): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)))
  return value.toLocaleString('en', { maximumFractionDigits: Math.min(digits, 2) })
}

function cellOf({ values }: Row): string {
  const { median, min, max } = summaryOf(values)
  return values.length === 1 ? shown(median) : `${shown(median)} (${shown(min)} to ${shown(max)})`
}

/** Subjects beside one another and figures below one another; the other way round where there are more subjects. */
export function tableOf(rows: readonly Row[]): string {
  const subjects = new Set(rows.map(({ subject }) => subject))
  const figures = new Set(rows.map(({ figure }) => figure))
  const turned = subjects.size > figures.size
  const [heads, lines] = turned ? [figures, subjects] : [subjects, figures]
  const cellAt = (line: string, head: string) => {
    const found = rows.find(({ subject, figure }) =>
      turned ? subject === line && figure === head : figure === line && subject === head,
    )
    return found ? cellOf(found) : '-'
  }
  const table = [['', ...heads], ...[...lines].map((line) => [line, ...[...heads].map((head) => cellAt(line, head))])]
  const widths = table[0]!.map((_, column) => Math.max(...table.map((cells) => cells[column]!.length)))
  const padded = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)
  return table.map((cells) => cells.map(padded).join('  ').trimEnd()).join('\n')
}
