import { escapeHidden } from '../kernel/text.js'

/** What the widest table keeps to. */
const maxWidth = 100
const gap = '  '
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** One JSON document. What a terminal would not show as it is stands in it as an escape, which is the same JSON. */
export function jsonLine(value: unknown): string {
  return `${escapeHidden(JSON.stringify(value))}\n`
}

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => unknown
  /** What is longer is cut. The last column may be of any length: it is wrapped. */
  readonly max?: number
  readonly align?: 'right'
}

/** A line for each row, at most 100 columns wide, unless the last cell needs several. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const heads = columns.map(({ head }) => head)
  const lines = [heads, ...rows.map((row) => columns.map(({ cell: of, max }) => cut(cell(of(row)), max)))]
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  const indent = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0)
  return lines
    .map((line) => {
      const last = wrap(line.at(-1)!, maxWidth - indent).join(`\n${' '.repeat(indent)}`)
      const cells = line.slice(0, -1).map((text, column) => {
        return columns[column]!.align === 'right' ? text.padStart(widths[column]!) : text.padEnd(widths[column]!)
      })
      return `${[...cells, last].join(gap).trimEnd()}\n`
    })
    .join('')
}

/** A table whose rows have each a text below them. */
export function detailed<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  detailOf: (row: Row) => unknown,
): string {
  const [head, ...lines] = table(rows, columns).split(/\n(?! )/)
  const below = rows.map((row) => wrap(cell(detailOf(row)), maxWidth - 5).map((line) => `     ${line}\n`))
  return [`${head}\n`, ...rows.flatMap((_, index) => [`${lines[index]}\n`, ...below[index]!])].join('')
}

/** An object for people, as names and values; lists in it are tables. */
export function readable(value: unknown): string {
  if (Array.isArray(value)) return isTable(value) ? plainTable(value) : value.map((each) => `${cell(each)}\n`).join('')
  if (value === null || typeof value !== 'object') return `${cell(value)}\n`
  const entries = Object.entries(value)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries
    .map(([name, field]) => {
      if (isTable(field)) return `${name}\n${plainTable(field).replace(/^(?=.)/gm, gap)}`
      return `${name.padEnd(width)}${gap}${cell(field)}\n`
    })
    .join('')
}

/** On one line. A time is in the terminal's zone. */
export function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (Array.isArray(value)) return value.map(cell).join(', ') || '-'
  if (typeof value === 'string' && isoTime.test(value)) return localTime(value)
  if (typeof value !== 'object') return escapeHidden(String(value))
  return Object.entries(value)
    .map(([name, field]) => `${name}=${cell(field)}`)
    .join(' ')
}

/** `2026-11-21 23:10` in the terminal's zone, which TZ names. */
export function localTime(iso: string): string {
  const date = new Date(iso)
  const two = (part: number) => String(part).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** How long ago, in whole units of the largest: `45s`, `12m`, `5h`, `3d`. */
export function age(iso: string, nowMs = Date.now()): string {
  return duration(nowMs - Date.parse(iso))
}

/** In how long, in the same units; `now` once it is due. */
export function dueIn(iso: string, nowMs = Date.now()): string {
  return Date.parse(iso) > nowMs ? duration(Date.parse(iso) - nowMs) : 'now'
}

function duration(ms: number): string {
  // Another machine's clock may be ahead.
  const seconds = Math.max(0, Math.trunc(ms / 1000))
  const units = [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
  ] as const
  const [unit, size] = units.find(([, each]) => seconds >= each) ?? ['s', 1]
  return `${Math.trunc(seconds / size)}${unit}`
}

/** The beginning of an id, which commands take in place of the whole. */
export function shortId(id: string): string {
  return id.slice(0, 8)
}

/** Lines of whole words, of at most so many characters where a single word is not longer. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

function cut(text: string, max = Number.POSITIVE_INFINITY): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text
}

function isTable(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length > 0 && value.every((row) => row !== null && typeof row === 'object')
}

/** The fields of the rows as columns; rows that are too wide, one below the other. */
function plainTable(rows: readonly Record<string, unknown>[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const text = table(
    rows,
    names.map((name) => ({ head: name.replace(/[A-Z]/g, ' $&').toUpperCase(), cell: (row) => row[name] })),
  )
  return text.split('\n').some((line) => line.length > maxWidth) ? rows.map(readable).join('\n') : text
}
