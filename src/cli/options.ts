import { InvalidArgumentError } from 'commander'
import { refusalText } from '../commands/refusal-texts.js'
import { receiptUrlProblem } from '../commands/transfer/transfer-requests.js'
import { parseAmount } from '../domain/money.js'
import { violate } from '../kernel/rules.js'
import { isVisible } from '../kernel/text.js'
import { parseTime } from '../kernel/time.js'
import { parseCursor } from '../queries/list-page.js'

// Parsers of option values. When one throws, commander adds the option and the value to the message.

const maxTextLength = 2_048

/** Accepts the values that `parse` accepts. `problem` is a sentence. */
export function parsed<Value>(parse: (text: string) => Value | undefined, problem: string): (text: string) => Value {
  return (text) => {
    const value = parse(text)
    if (value === undefined) throw new InvalidArgumentError(problem)
    return value
  }
}

/** Accepts the texts that pass a check. */
export function matching(passes: (text: string) => boolean, problem: string): (text: string) => string {
  return parsed((text) => (passes(text) ? text : undefined), problem)
}

/** Accepts a whole number between inclusive bounds. */
export function integer({ min, max }: { readonly min: number; readonly max: number }): (text: string) => number {
  return parsed(
    (text) => (/^\d+$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined),
    `It must be a whole number from ${min} to ${max}.`,
  )
}

/** Parses an amount such as 95.00 into minor units. */
export const amount = parsed(parseAmount, 'It must be an amount above 0 with at most two decimals.')

/** Parses an amount that may be 0. */
export function tolerance(text: string): bigint {
  return /^0(\.0{1,2})?$/.test(text) ? 0n : amount(text)
}

export const url = matching(
  (text) => receiptUrlProblem(text) === undefined && text.length <= maxTextLength,
  `It must be an http or https URL of at most ${maxTextLength} characters.`,
)

export const visible = matching(isVisible, refusalText(violate('hidden-characters')))

/** Accepts a visible text of limited length. */
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

/** Accepts a message that is not blank. */
export function reason(text: string): string {
  return message(notBlank(text))
}

/** Rejects an empty path, which usually comes from an unset variable in a script and would mean the current directory. */
export const path = matching((text) => text !== '', 'It must not be empty.')

/** Accepts a trackingId in either case, because databases and spreadsheets often print UUIDs in upper case. */
export function trackingId(text: string): string {
  return text.toLowerCase()
}

/** Parses an ISO 8601 time. A date means its start in UTC. */
export const time = parsed(parseTime, 'It must be a time such as 2026-11-21 or 2026-11-21T10:00:00Z.')

/** Parses the nextCursor of a list. */
export const cursor = parsed(parseCursor, 'It must be the nextCursor of an earlier page.')

export const endpoint = parsed((text) => {
  const [, v6, name, digits] = /^(?:\[([0-9a-fA-F:]+)\]|([^\s:/]+)):(\d{1,5})$/.exec(text) ?? []
  const host = v6 ?? name
  const port = Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}, 'It must be host:port.')
