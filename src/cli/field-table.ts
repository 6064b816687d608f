import { isOpenRecord } from '../domain/event-summary.js'
import { escapeHidden } from '../kernel/text.js'
import { fieldName, type Names } from './names.js'
import { gap, outputWidth, table, wrap } from './readable.js'

type Fields = { readonly [field: string]: unknown }

/**
 * Returns the fields of an object, one per line, with nested objects as indented tables. Continuation lines are indented beyond the labels,
 * so that no value can look like a field.
 */
export function fieldTable(fields: object, names: Names, indent = ''): string {
  // An event from before a field existed did not record it.
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  const plain = entries.filter(([, value]) => !isObject(value) && !isList(value))
  const width = Math.max(0, ...plain.map(([name]) => fieldName(name).length))
  return entries
    .map(([name, value]) => {
      const label = fieldName(name)
      if (isList(value)) return `${indent}${label}\n${listTable(value, names, indent + gap)}`
      if (isObject(value)) {
        const inner = indent + gap
        return `${indent}${label}\n${isOpenRecord(name, value) ? textTable(value, inner) : fieldTable(value, names, inner)}`
      }
      const members = Array.isArray(value) && value.length > 0 ? value : [value]
      const texts = members.map((each, n) => `${names.value(name, each)}${n < members.length - 1 ? ',' : ''}`)
      return textField(label, texts, width, indent)
    })
    .join('')
}

/** Returns the texts of an open record, one per line. */
function textTable(record: { readonly [key: string]: string }, indent: string): string {
  const entries = Object.entries(record).map(([key, text]) => [escapeHidden(key), text] as const)
  const width = Math.max(...entries.map(([label]) => label.length))
  return entries.map(([label, text]) => textField(label, text, width, indent)).join('')
}

/** Returns a label and a text, wrapped in a separate column. Each of several texts starts a line. */
export function textField(label: string, text: string | readonly string[], labelWidth: number, indent = ''): string {
  const place = indent.length + labelWidth + gap.length
  const lines = [text].flat().flatMap((each) => wrap(escapeHidden(each), outputWidth() - place))
  return `${indent}${label.padEnd(labelWidth)}${gap}${lines.join(`\n${' '.repeat(place)}`)}\n`
}

/** Returns a table with a row per object, or the objects below each other, numbered, if it would be too wide. */
function listTable(rows: readonly Fields[], names: Names, indent: string): string {
  const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const columns = fields.map((name) => [fieldName(name).toUpperCase(), (row: Fields) => names.value(name, row[name])])
  const asTable = table(rows, Object.fromEntries(columns), Number.POSITIVE_INFINITY)
  const isFlat = !rows.some((row) => Object.values(row).some((value) => isObject(value) || isList(value)))
  const isNarrow = asTable.split('\n').every((line) => indent.length + line.length <= outputWidth())
  if (isFlat && isNarrow) return asTable.replace(/^(?=.)/gm, indent)
  return rows.map((row, index) => `${indent}${index + 1}.\n${fieldTable(row, names, indent + gap)}`).join('')
}

/** An empty object has no fields to show below its label. */
export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
}

export function isList(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject)
}
