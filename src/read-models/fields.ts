import type { FieldType } from './read-models.js'

/**
 * The fields of a collection with types that the stores have themselves. Above the port, a field holds texts, ISO 8601 times, numbers and
 * booleans in any case; each adapter converts it once. An absent or null field has no type. A text that does not fit its type, such as
 * another program's id, is stored unchanged and sorts apart from those that fit.
 */
export interface Declaration {
  readonly fields: { readonly [field: string]: FieldType }
  /** A `number` field or an `ordinal` `_id`, which is unique and grows with every new document: SQLite stores the rows in its order. */
  readonly order: string
}

export const firstUuid = '00000000-0000-0000-0000-000000000000'

/** Returns the bytes of a stored UUID, or `undefined` for another text. `Buffer.from(text, 'hex')` takes four times as long. */
export function uuidBytes(text: string): Buffer | undefined {
  if (text.length !== 36) return undefined
  const bytes = Buffer.allocUnsafe(16)
  let n = 0
  for (let at = 0; at < 36; at++) {
    if (at === 8 || at === 13 || at === 18 || at === 23) {
      if (text.charCodeAt(at) !== 45) return undefined
      continue
    }
    const digit = (hexDigit(text.charCodeAt(at)) << 4) | hexDigit(text.charCodeAt(++at))
    // Negative if either is -1.
    if (digit < 0) return undefined
    bytes[n++] = digit
  }
  return bytes
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  return code >= 97 && code <= 102 ? code - 87 : -1
}

/** Returns the milliseconds of a time, or `undefined` unless it is in the stored form: ISO 8601 in UTC with milliseconds. */
export function timeMs(text: string): number | undefined {
  const [hours, minutes, seconds] = [digits(text, 11, 2), digits(text, 14, 2), digits(text, 17, 2)]
  // NaN if a digit or a separator is missing.
  const ms = dayMs(text.slice(0, 11)) + ((hours * 60 + minutes) * 60 + seconds) * 1_000 + digits(text, 20, 3)
  const isValid = text.length === 24 && hours < 24 && minutes < 60 && seconds < 60 && ms < Number.POSITIVE_INFINITY
  return isValid && text[13] === ':' && text[16] === ':' && text[19] === '.' && text[23] === 'Z' ? ms : undefined
}

function digits(text: string, at: number, count: number): number {
  let number = 0
  for (let n = at; n < at + count; n++) {
    const digit = text.charCodeAt(n) - 48
    number = digit >= 0 && digit <= 9 ? number * 10 + digit : Number.NaN
  }
  return number
}

const maxDays = 1_000
const days = new Map<string, number>()

/** Returns the start of a day such as `2026-11-21T`, or NaN. Parsing a whole time and formatting it again would take fifteen times as long. */
function dayMs(day: string): number {
  let ms = days.get(day)
  if (ms === undefined) {
    ms = Date.parse(`${day}00:00:00.000Z`)
    if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 11) !== day) return Number.NaN
    if (days.size >= maxDays) days.clear()
    days.set(day, ms)
  }
  return ms
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

/** @throws TypeError, because reading the value would return a different one */
export function refuseType(field: string, type: FieldType, value: unknown): never {
  const expected = typeof type === 'string' ? type : 'text'
  throw new TypeError(`read models: field "${field}" has the type ${expected} and cannot hold ${JSON.stringify(value)}`)
}
