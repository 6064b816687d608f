import { InvalidArgumentError } from 'commander'
import { parseAmount } from '../domain/money.js'
import { hiddenCharacters, isVisible } from '../domain/text.js'
import { type Place, parseCursor } from '../queries/list-page.js'
import { parseMoment } from '../queries/moment.js'

/** Parsers of option values; commander names the option and the value when one throws. */

const maxTextLength = 2_048

/** A parser of a whole number between bounds, both allowed. */
export function integer({ min, max }: { readonly min: number; readonly max: number }): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (!/^\d+$/.test(text) || number < min || number > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
    }
    return number
  }
}

/** Minor units of an amount such as 95.00. */
export function amount(text: string): bigint {
  const minor = parseAmount(text)
  if (minor === undefined) throw new InvalidArgumentError('It must be an amount above 0 with at most two decimals.')
  return minor
}

/** An amount that may be 0. */
export function tolerance(text: string): bigint {
  return /^0(\.0{1,2})?$/.test(text) ? 0n : amount(text)
}

export function url(text: string): string {
  if (
    !isVisible(text) ||
    !URL.canParse(text) ||
    !/^https?:$/.test(new URL(text).protocol) ||
    text.length > maxTextLength
  ) {
    throw new InvalidArgumentError(`It must be an http or https URL of at most ${maxTextLength} characters.`)
  }
  return text
}

/** A parser of a text that people read. */
export function text(maxLength: number): (text: string) => string {
  return (text) => {
    if (text.trim() === '' || text.length > maxLength)
      throw new InvalidArgumentError(`It must be 1 to ${maxLength} characters.`)
    return visible(text)
  }
}

export function visible(text: string): string {
  if (!isVisible(text)) throw new InvalidArgumentError(`It ${hiddenCharacters}.`)
  return text
}

export function message(text: string): string {
  if (text.length > maxTextLength) throw new InvalidArgumentError(`It must be at most ${maxTextLength} characters.`)
  return visible(text)
}

/** A message that must say something. */
export function reason(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be blank.')
  return message(text)
}

/** A transfer's id; databases and spreadsheets like to print UUIDs in capitals. */
export function trackingId(text: string): string {
  return text.toLowerCase()
}

/** A moment as ISO 8601 in UTC; a day means its first moment. */
export function moment(text: string): string {
  const time = parseMoment(text)
  if (time === undefined)
    throw new InvalidArgumentError('It must be a time such as 2026-11-21 or 2026-11-21T10:00:00Z.')
  return time
}

/** The nextCursor of a list. */
export function cursor(text: string): Place {
  const place = parseCursor(text)
  if (!place) throw new InvalidArgumentError('It must be the nextCursor of an earlier answer.')
  return place
}

export function endpoint(text: string): { host: string; port: number } {
  const [, v6, name, digits] = /^(?:\[([0-9a-fA-F:]+)\]|([^\s:/]+)):(\d{1,5})$/.exec(text) ?? []
  const host = v6 ?? name
  const port = Number(digits)
  if (host === undefined || port < 1 || port > 65_535) throw new InvalidArgumentError('It must be host:port.')
  return { host, port }
}
