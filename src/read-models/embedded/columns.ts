import { checkScalar } from '../checks.js'
import { ordinalOf, ordinalText, refuseType, timeMs, uuidBytes } from '../fields.js'
import type { FieldType, Scalar } from '../read-models.js'
import type { Connection } from './sqlite-connection.js'

/**
 * Maps the scalars of documents to SQLite values, so that SQLite orders types as MongoDB does:
 *
 *     null and missing  NULL
 *     number            REAL or INTEGER; also times, keywords, ordinals and booleans of a declared type
 *     string            TEXT, compared as UTF-8 bytes by both
 *     boolean           a BLOB of one byte
 *     UUID              a BLOB of 16 bytes
 */

export type ColumnValue = number | string | Buffer | null

export interface Column {
  readonly field: string
  /** Its name in SQL. */
  readonly name: string
  /** A column without a type holds any scalar, which is in the document's JSON as well, for an index. */
  readonly type: FieldType | undefined
}

/** Returns the number of a keyword; -1 if no document contains it. */
export type NumberOf = (keyword: string) => number

export const smallestStringSql = "''"
export const smallestBlobSql = "x''"

const falseByte = Buffer.from([0])
const trueByte = Buffer.from([1])
/** Precedes a text that does not fit an integer column, because SQLite would convert digits to a number. */
const misfit = '='

/** SQLite converts a whole number of such a column to an integer, which takes up to 6 bytes where a REAL takes 8. */
export function affinityOf(type: FieldType | undefined): string {
  return type === undefined || type === 'uuid' || type === 'text' ? '' : ' INTEGER'
}

/** @throws TypeError if the column cannot hold the value */
export function encode(
  value: unknown,
  { field, type }: Pick<Column, 'field' | 'type'>,
  numberOf: NumberOf,
): ColumnValue {
  if (value === undefined || value === null) return null
  if (type === undefined) {
    checkScalar(field, value)
    return typeof value === 'boolean' ? (value ? trueByte : falseByte) : value
  }
  if (typeof value === 'string') {
    switch (type) {
      case 'text':
        return value
      case 'uuid':
        return uuidBytes(value) ?? value
      case 'keyword':
        return numberOf(value)
      case 'time':
        return timeMs(value) ?? misfit + value
      case 'ordinal':
        return ordinalOf(value) ?? refuseType(field, type, value)
      case 'number':
      case 'boolean':
        return refuseType(field, type, value)
      default:
        return type.indexOf(value) + 1 || misfit + value
    }
  }
  if (type === 'number' && typeof value === 'number') return value
  if (type === 'boolean' && typeof value === 'boolean') return Number(value)
  return refuseType(field, type, value)
}

/** Returns the value of a column that is not NULL. */
export function decode(
  value: number | string | Buffer,
  type: FieldType | undefined,
  textOf: (n: number) => string,
): Scalar {
  if (typeof value === 'string')
    return type === undefined || type === 'uuid' || type === 'text' ? value : value.slice(1)
  if (typeof value !== 'number') return value.length === 1 ? value[0] === 1 : uuidOf(value)
  switch (type) {
    case 'time':
      return new Date(value).toISOString()
    case 'keyword':
      return textOf(value)
    case 'ordinal':
      return ordinalText(value)
    case 'boolean':
      return value === 1
    case undefined:
    case 'uuid':
    case 'text':
    case 'number':
      return value
    default:
      return type[value - 1]!
  }
}

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Returns a negative number, 0 or a positive number in SQLite's order, or NaN if the values have different types. */
export function compareStored(a: unknown, b: unknown): number {
  if (a === b) return 0
  if (typeof a === 'number' && typeof b === 'number') return a - b
  // Texts by their UTF-8 bytes; JavaScript's order differs above U+FFFF.
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return Buffer.isBuffer(a) && Buffer.isBuffer(b) ? Buffer.compare(a, b) : Number.NaN
}

/** Returns SQL for the JSON type of a field; NULL if the JSON does not have it. */
export function jsonTypeSql(field: string): string {
  return `json_type(doc, '$."${field}"')`
}

/**
 * The numbers of keywords, such as merchants' ids, which take a byte or two in a row and in each of its indexes instead of 37. They are kept
 * in memory, because there are few, and a number never changes its text.
 */
export class Keywords {
  readonly #numbers = new Map<string, number>()
  readonly #texts = new Map<number, string>()
  #generation = -1

  constructor(private readonly connection: Connection) {}

  /** Returns -1 for a text without a number. */
  readonly find = (text: string): number => this.#known().get(text) ?? this.#load('text = ?', text)?.[0] ?? -1

  /** Inside a write only. */
  readonly findOrAdd = (text: string): number => {
    const found = this.find(text)
    if (found >= 0) return found
    this.connection.statement('INSERT INTO keywords(text) VALUES (?)').run(text)
    return this.find(text)
  }

  readonly textOf = (number: number): string => {
    this.#known()
    return this.#texts.get(number) ?? this.#load('id = ?', number)![1]
  }

  /** Forgets everything after a rollback, which has undone new numbers. */
  #known(): ReadonlyMap<string, number> {
    if (this.#generation === this.connection.generation) return this.#numbers
    this.#numbers.clear()
    this.#texts.clear()
    this.#generation = this.connection.generation
    return this.#numbers
  }

  #load(condition: string, value: string | number): [number, string] | undefined {
    const row = this.connection.statement(`SELECT id, text FROM keywords WHERE ${condition}`).get(value)
    if (row === undefined) return undefined
    const [number, text] = row as [number, string]
    this.#numbers.set(text, number)
    this.#texts.set(number, text)
    return [number, text]
  }
}
