import { checkFieldPath, kindOf } from '../conditions.js'

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

const FALSE = Buffer.from([0])
const TRUE = Buffer.from([1])

/** @throws TypeError on anything that is not a JSON scalar; `field` appears in the message */
export function encode(value: unknown, field: string): ColumnValue {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`read models: field "${field}" holds ${value}`)
      return value
    case 'boolean':
      return value ? TRUE : FALSE
    case 'undefined':
      return Number.NEGATIVE_INFINITY
    default:
      if (value === null) return Number.NEGATIVE_INFINITY
      throw new TypeError(
        `read models: field "${field}" is compared or indexed and must be a scalar, not ${kindOf(value)}`,
      )
  }
}

export function decode(value: ColumnValue): string | number | boolean | null {
  if (value instanceof Uint8Array) return value[0] === 1
  return value === Number.NEGATIVE_INFINITY ? null : value
}

export function sameColumnValue(a: ColumnValue, b: ColumnValue): boolean {
  return a === b || (a instanceof Uint8Array && b instanceof Uint8Array && a[0] === b[0])
}

export function jsonPathSql(path: string): string {
  checkFieldPath(path)
  return `'$.${path
    .split('.')
    .map((segment) => `"${segment}"`)
    .join('.')}'`
}

/**
 * Returns the value at a dotted path, or `undefined`.
 * @throws TypeError if the path runs through an array: MongoDB would search its elements, which SQL cannot
 */
export function valueAt(document: unknown, segments: readonly string[]): unknown {
  let value = document
  for (const segment of segments) {
    if (typeof value !== 'object' || value === null) return undefined
    if (Array.isArray(value)) throw new TypeError(`read models: path "${segments.join('.')}" runs through an array`)
    value = Object.hasOwn(value, segment) ? (value as Record<string, unknown>)[segment] : undefined
  }
  return value
}
