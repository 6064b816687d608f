import { stripVTControlCharacters, styleText } from 'node:util'
import { isOpenRecord } from '../domain/event-summary.js'
import { escapeHidden } from '../kernel/text.js'

/** The maximum width of a table in columns. */
const maxWidth = 100
export const gap = '  '
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** The columns and fields that a terminal shows in the colour of their value. */
const colouredColumns = /^(status|state|result|callbacks|statusDescription)$/i
const coloursOfValues: { readonly [value: string]: 'green' | 'yellow' | 'red' } = {
  ...Object.fromEntries(
    ['Completed', 'delivered', 'enabled', 'live', 'ok', 'running', 'seals'].map((value) => [value, 'green']),
  ),
  ...Object.fromEntries(
    ['ManualControl', 'held', 'paused', 'waiting', 'warning', 'unknown'].map((value) => [value, 'yellow']),
  ),
  ...Object.fromEntries(
    ['Failed', 'disabled', 'failed', 'parked', 'stopped', 'suspended', 'not given'].map((value) => [value, 'red']),
  ),
}

/** Returns one JSON document. Escapes characters that a terminal would not display, which leaves the JSON equivalent. */
export function jsonLine(value: unknown): string {
  return `${escapeHidden(JSON.stringify(value))}\n`
}

/** A field of a row, or a function of the row. */
type Cell<Row> = (keyof Row & string) | ((row: Row) => unknown)

interface Column<Row> {
  readonly cell: Cell<Row>
  /** The maximum length, after which a cell is cut. The last column is wrapped instead. */
  readonly max?: number
  readonly align?: 'right'
}

/** The columns of a table by their heads. */
export type Columns<Row> = { readonly [head: string]: Cell<Row> | Column<Row> }

/** Returns the width of the terminal in columns, or 100 if stdout is not a terminal. */
export function outputWidth(): number {
  return (process.stdout.isTTY && process.stdout.columns) || maxWidth
}

/**
 * Returns a table of at most `width` columns with one line per row, or more if the last cell wraps. `below` returns lines that follow a row,
 * indented to the last column.
 */
export function table<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  width = maxWidth,
  below: (row: Row, indent: string) => string = () => '',
): string {
  const all = Object.values(columns).map((column) => (typeof column === 'object' ? column : { cell: column }))
  const textOf = (row: Row, { cell: of, max }: Column<Row>) =>
    cut(typeof of === 'function' ? cell(of(row)) : cell(row[of], of), max)
  const heads = Object.keys(columns)
  const lines = [heads, ...rows.map((row) => all.map((column) => textOf(row, column)))]
  const widths = all.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  const indent = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0)
  return lines
    .map((line, row) => {
      const last = wrap(line.at(-1)!, width - indent).join(`\n${' '.repeat(indent)}`)
      const cells = [...line.slice(0, -1), last].map((text, column) => {
        const space = ' '.repeat(column === all.length - 1 ? 0 : widths[column]! - text.length)
        const shown = row === 0 ? text && styleText('bold', text) : coloured(heads[column]!, text)
        return all[column]!.align === 'right' ? `${space}${shown}` : `${shown}${space}`
      })
      return `${cells.join(gap).trimEnd()}\n${row === 0 ? '' : below(rows[row - 1]!, ' '.repeat(indent))}`
    })
    .join('')
}

/** Returns an object as human-readable names and values, with lists as tables. */
export function readable(value: unknown): string {
  if (Array.isArray(value)) return isTable(value) ? plainTable(value) : value.map((each) => `${cell(each)}\n`).join('')
  if (value === null || typeof value !== 'object') return `${cell(value)}\n`
  const entries = Object.entries(value).map(([name, field]) => [escapeHidden(name), name, field] as const)
  const width = Math.max(...entries.map(([label]) => label.length))
  return entries
    .map(([label, name, field]) => {
      if (isTable(field)) return `${label}\n${plainTable(field).replace(/^(?=.)/gm, gap)}`
      return `${label.padEnd(width)}${gap}${coloured(name, cell(field, name))}\n`
    })
    .join('')
}

/** Returns the text in the colour of its value, if stdout is a terminal that shows colours. */
function coloured(name: string, text: string): string {
  const colour = colouredColumns.test(name) && Object.hasOwn(coloursOfValues, text) ? coloursOfValues[text] : undefined
  return colour ? styleText(colour, text) : text
}

/** Returns the value of a field on one line, with times in UTC as `timeText` returns them. */
export function cell(value: unknown, name = '', timeText = shownTime): string {
  if (value === null || value === undefined || value === '') return '-'
  if (isOpenRecord(name, value)) return openRecordText(value)
  if (Array.isArray(value)) return value.map((each) => cell(each, name, timeText)).join(', ') || '-'
  if (typeof value === 'string' && isoTime.test(value)) return timeText(value)
  if (typeof value !== 'object') return escapeHidden(String(value))
  return Object.entries(value)
    .map(([name, field]) => `${escapeHidden(name)}=${cell(field, name, timeText)}`)
    .join(' ')
}

/** Returns an open record on one line: as JSON, because its keys and values can contain any separator. */
export function openRecordText(record: { readonly [key: string]: string }): string {
  return Object.keys(record).length === 0 ? '-' : escapeHidden(JSON.stringify(record))
}

/** Returns a time such as `2026-11-21 20:10Z`. Commands print and read times in one zone, UTC, which is also that of statements. */
export function shownTime(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')}Z`
}

/** Returns a time such as `2026-11-21 20:10:59Z`, or `2026-11-21 20:10:59.123Z`. */
export function exactTime(iso: string, unit: 'seconds' | 'milliseconds' = 'seconds'): string {
  return `${iso.slice(0, unit === 'seconds' ? 19 : 23).replace('T', ' ')}Z`
}

/** Returns the times of a list, with milliseconds if two neighbours are in the same second, because their order is only visible then. */
export function exactTimes(times: readonly string[]): readonly string[] {
  const seconds = times.map((time) => exactTime(time))
  const isAmbiguous = seconds.some((time, index) => time === seconds[index - 1])
  return isAmbiguous ? times.map((time) => exactTime(time, 'milliseconds')) : seconds
}

export function isTime(value: unknown): value is string {
  return typeof value === 'string' && isoTime.test(value)
}

/** Returns the age of a time in its largest whole unit: `45s`, `12m`, `5h`, `3d`. */
export function age(iso: string, nowMs = Date.now()): string {
  return duration(nowMs - Date.parse(iso))
}

/** Returns the duration until a time in the same units, or `now` once it is due. */
export function dueIn(iso: string, nowMs = Date.now()): string {
  return Date.parse(iso) > nowMs ? duration(Date.parse(iso) - nowMs) : 'now'
}

function duration(ms: number): string {
  // The clock of another machine may be ahead.
  const seconds = Math.max(0, Math.trunc(ms / 1000))
  const units = Object.entries({ d: 86_400, h: 3_600, m: 60, s: 1 })
  const [unit, size] = units.find(([, each]) => seconds >= each) ?? ['s', 1]
  return `${Math.trunc(seconds / size)}${unit}`
}

export const shortIdLength = 8

/** Returns the first characters of an id, which commands accept instead of the whole id. */
export function shortId(id: string): string {
  return id.slice(0, shortIdLength)
}

/** The minimum width of a wrapped text. A narrow terminal then wraps its lines again, which is easier to read than a word per line. */
const minWidth = 20

/** Wraps a text at spaces. A word that is longer than `width` gets its own line. */
export function wrap(text: string, width: number): string[] {
  const limit = Math.max(minWidth, width)
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= limit) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

function cut(text: string, max = Number.POSITIVE_INFINITY): string {
  // Not between the halves of a surrogate pair.
  return text.length > max ? `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…` : text
}

function isTable(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length > 0 && value.every((row) => row !== null && typeof row === 'object')
}

/** Returns a table of the rows' fields, or the rows below each other if the table would be too wide. */
function plainTable(rows: readonly Record<string, unknown>[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const columns = names.map((name) => [headOf(name), name])
  const text = table(rows, Object.fromEntries(columns))
  return stripVTControlCharacters(text)
    .split('\n')
    .some((line) => line.length > maxWidth)
    ? rows.map(readable).join('\n')
    : text
}

/** Returns the head of a column with the values of a field: `LAST EVENT AT` for `lastEventAt`. */
export function headOf(field: string): string {
  return escapeHidden(field.replace(/[A-Z]/g, ' $&').toUpperCase())
}
