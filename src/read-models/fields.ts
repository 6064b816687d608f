import type { FieldType } from './read-models.js'

/**
 * The fields of a collection with types that the stores have themselves. Above the port, a field holds texts, ISO 8601 times, numbers and
 * booleans in any case; each adapter converts it once. An absent or null field has no type. A text that does not fit its type, such as
 * another program's id, is stored as it is and sorts apart from those that fit.
 */
export interface Declaration {
  readonly fields: { readonly [field: string]: FieldType }
  /** A `number` field or an `ordinal` `_id`, which is unique and grows with every new document: SQLite stores the rows in its order. */
  readonly order: string
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export const firstUuid = '00000000-0000-0000-0000-000000000000'

/** Returns whether a text is a UUID in the form that both stores return. */
export function isUuid(text: string): boolean {
  return uuid.test(text)
}

/** Returns the milliseconds of a time, or `undefined` unless it is in the stored form: ISO 8601 in UTC with milliseconds. */
export function timeMs(text: string): number | undefined {
  const ms = Date.parse(text)
  return Number.isNaN(ms) || new Date(ms).toISOString() !== text ? undefined : ms
}

const ordinalDigits = 16

/** Returns the text of a whole number from 0, in the order of the number. */
export function ordinalText(ordinal: number): string {
  return String(ordinal).padStart(ordinalDigits, '0')
}

/** Returns `undefined` unless {@link ordinalText} returns this text for a number. */
export function ordinalOf(text: string): number | undefined {
  return /^\d{16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
}

/** @throws TypeError, because the value would not be read back as it is */
export function refuseType(field: string, type: FieldType, value: unknown): never {
  const expected = typeof type === 'string' ? type : 'text'
  throw new TypeError(`read models: field "${field}" has the type ${expected} and cannot hold ${JSON.stringify(value)}`)
}
