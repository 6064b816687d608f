import { escapeHidden } from '../domain/text.js'

const maxTableWidth = 200

/** One JSON document. What a terminal would not show as it is stands in it as an escape, which is the same JSON. */
export function jsonLine(value: unknown): string {
  return `${escapeHidden(JSON.stringify(value))}\n`
}

/** Lines for a person: an object as names and values, a list as a table. */
export function readable(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none\n' : table(value)
  if (value === null || typeof value !== 'object') return `${cell(value)}\n`
  const entries = Object.entries(value)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries
    .map(([name, field]) =>
      isTable(field) ? `${name}\n${indent(table(field))}` : `${name.padEnd(width)}  ${cell(field)}\n`,
    )
    .join('')
}

function isTable(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length > 0 && value.every((row) => row !== null && typeof row === 'object')
}

function table(rows: readonly unknown[]): string {
  if (!isTable(rows)) return rows.map((row) => `${cell(row)}\n`).join('')
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = [names, ...rows.map((row) => names.map((name) => cell(row[name])))]
  const widths = names.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
  // Wider than most terminals: one below the other instead.
  if (widths.reduce((sum, width) => sum + width + 2, 0) > maxTableWidth) return rows.map(readable).join('\n')
  return cells
    .map((row) => `${row.map((text, column) => text.padEnd(widths[column]!)).join('  ')}`.trimEnd())
    .map((line) => `${line}\n`)
    .join('')
}

function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (Array.isArray(value)) return value.map(cell).join(', ') || '-'
  if (typeof value !== 'object') return escapeHidden(String(value))
  return Object.entries(value)
    .map(([name, field]) => `${name}=${cell(field)}`)
    .join(' ')
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ')
}
