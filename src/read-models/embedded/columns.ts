import { checkScalar } from '../checks.js'
import type { Document, Scalar } from '../read-models.js'

/**
 * Maps the scalars of documents to SQLite values, so that SQLite orders types as MongoDB does:
 *
 *     null and missing  -Infinity  (JSON has no infinities, so nothing else is stored there)
 *     number            REAL or INTEGER
 *     string            TEXT, compared as UTF-8 bytes by both
 *     boolean           a BLOB of one byte
 *
 * Null is a value and not SQL's NULL, because `<>` and `IN` would silently ignore NULL.
 */

export type ColumnValue = number | string | Buffer

export const NULL_SQL = '-9e999'
export const SMALLEST_STRING_SQL = "''"
export const SMALLEST_BOOLEAN_SQL = "x''"
/** MongoDB's limit. */
const DOCUMENT_CHARACTERS_MAX = 16 * 1024 * 1024

const FALSE = Buffer.from([0])
const TRUE = Buffer.from([1])

/** @throws TypeError on anything that is not a JSON scalar; `field` appears in the message */
export function encode(value: unknown, field: string): ColumnValue {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return Number.NEGATIVE_INFINITY
  checkScalar(field, value)
  return typeof value === 'boolean' ? (value ? TRUE : FALSE) : value!
}

export function decode(value: ColumnValue): Scalar {
  if (value instanceof Uint8Array) return value[0] === 1
  return value === Number.NEGATIVE_INFINITY ? null : value
}

export function sameColumnValue(a: ColumnValue, b: ColumnValue): boolean {
  return a === b || (a instanceof Uint8Array && b instanceof Uint8Array && a[0] === b[0])
}

/** Returns SQL for the JSON type of a field; NULL if the document does not have it. */
export function jsonTypeSql(field: string): string {
  return `json_type(doc, '$."${field}"')`
}

/** Returns the text that a row stores: the document without its `_id`, which has its own column. @throws TypeError */
export function storedText(document: Document): string {
  if (Object.keys(document).length === 1) return '{}'
  const text = JSON.stringify(document)
  if (text.length > DOCUMENT_CHARACTERS_MAX)
    throw new TypeError(`read models: document "${document._id}" has ${text.length} characters, too many`)
  const start = startOf(document._id)
  if (text.startsWith(start)) return `{${text.slice(start.length + 1)}`
  const { _id, ...fields } = document
  return JSON.stringify(fields)
}

/** Returns the document's JSON, `_id` first. */
export function wholeText(id: string, stored: string): string {
  return stored === '{}' ? `${startOf(id)}}` : `${startOf(id)},${stored.slice(1)}`
}

function startOf(id: string): string {
  return `{"_id":${JSON.stringify(id)}`
}
