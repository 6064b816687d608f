import { InvalidArgumentError } from 'commander'
import { parseAmount } from '../domain/money.js'
import { parseMoment } from '../kernel/parse-time.js'
import { hiddenCharacters, isVisible } from '../kernel/text.js'
import { parseCursor } from '../queries/list-page.js'

/** Parsers of option values; commander names the option and the value when one throws. */

const maxTextLength = 2_048

/** Takes what `parse` makes something of; `problem` is a sentence. */
export function parsed<Value>(parse: (text: string) => Value | undefined, problem: string): (text: string) => Value {
  return (text) => {
    const value = parse(text)
    if (value === undefined) throw new InvalidArgumentError(problem)
    return value
  }
}

/** Takes texts that pass. */
export function matching(passes: (text: string) => boolean, problem: string): (text: string) => string {
  return parsed((text) => (passes(text) ? text : undefined), problem)
}

/** A whole number between bounds, both allowed. */
export function integer({ min, max }: { readonly min: number; readonly max: number }): (text: string) => number {
  return parsed(
    (text) => (/^\d+$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined),
    `It must be a whole number from ${min} to ${max}.`,
  )
}

/** Minor units of an amount such as 95.00. */
export const amount = parsed(parseAmount, 'It must be an amount above 0 with at most two decimals.')

/** An amount that may be 0. */
export function tolerance(text: string): bigint {
  return /^0(\.0{1,2})?$/.test(text) ? 0n : amount(text)
}

export const url = matching(
  (text) =>
    isVisible(text) && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && text.length <= maxTextLength,
  `It must be an http or https URL of at most ${maxTextLength} characters.`,
)

export const visible = matching(isVisible, `It ${hiddenCharacters}.`)

/** A text that people read. */
export function text(maxLength: number): (text: string) => string {
  const fits = matching(
    (text) => text.trim() !== '' && text.length <= maxLength,
    `It must be 1 to ${maxLength} characters.`,
  )
  return (text) => visible(fits(text))
}

const short = matching((text) => text.length <= maxTextLength, `It must be at most ${maxTextLength} characters.`)

export function message(text: string): string {
  return visible(short(text))
}

const notBlank = matching((text) => text.trim() !== '', 'It must not be blank.')

/** A message that must say something. */
export function reason(text: string): string {
  return message(notBlank(text))
}

/** An empty one would be the directory that the command runs in: a variable of a script that is not set. */
export const path = matching((text) => text !== '', 'It must not be empty.')

/** A transfer's id; databases and spreadsheets like to print UUIDs in capitals. */
export function trackingId(text: string): string {
  return text.toLowerCase()
}

/** A moment as ISO 8601 in UTC; a day means its first moment. */
export const moment = parsed(parseMoment, 'It must be a time such as 2026-11-21 or 2026-11-21T10:00:00Z.')

/** The nextCursor of a list. */
export const cursor = parsed(parseCursor, 'It must be the nextCursor of an earlier answer.')

export const endpoint = parsed((text) => {
  const [, v6, name, digits] = /^(?:\[([0-9a-fA-F:]+)\]|([^\s:/]+)):(\d{1,5})$/.exec(text) ?? []
  const host = v6 ?? name
  const port = Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}, 'It must be host:port.')
