import { parseAmount } from '../domain/money.js'
import { UsageError } from './command.js'

/** A parser of a whole number between bounds, both allowed. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (!/^\d+$/.test(text) || number < min || number > max) {
      throw new UsageError(`${text} is not a whole number from ${min} to ${max}`)
    }
    return number
  }
}

/** Minor units of an amount such as 95.00. */
export function amount(text: string): bigint {
  const minor = parseAmount(text)
  if (minor === undefined) throw new UsageError(`${text} is not an amount above 0 with at most two decimals`)
  return minor
}

/** An amount that may be 0. */
export function tolerance(text: string): bigint {
  return /^0(\.0{1,2})?$/.test(text) ? 0n : amount(text)
}

export function url(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol) || text.length > 2048) {
    throw new UsageError(`${text} is not an http or https URL of at most 2048 characters`)
  }
  return text
}

export function message(text: string): string {
  if (text.length > 2048) throw new UsageError('--message must be at most 2048 characters')
  return text
}

/** A moment as ISO 8601 in UTC; a day means its first moment. */
export function moment(text: string): string {
  const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new UsageError(`${text} is not a time such as 2026-11-21 or 2026-11-21T10:00:00Z`)
  return new Date(time).toISOString()
}
