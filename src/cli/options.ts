import { InvalidArgumentError, type Option } from 'commander'
import { maxReferenceLength, receiptUrlProblem } from '../commands/transfer/transfer-requests.js'
import { violate } from '../domain/decider.js'
import { parseAmount } from '../domain/money.js'
import { normalEmail } from '../domain/password-rules.js'
import { refusalText } from '../domain/refusal-texts.js'
import { isReturnReason, type ReturnReason, returnReasonCodes } from '../domain/transfer/return-reasons.js'
import { isVisible } from '../kernel/text.js'
import { isDate, parseTime } from '../kernel/time.js'
import { typedAmount } from '../kernel/typed-text.js'
import { parseCursor } from '../queries/list-page.js'

/** Parses the value of an option or an argument. Commander adds the name and the text to the message of an InvalidArgumentError. */
type Parse<Value> = (text: string, previous: Value) => Value

/** An option. Its name derives from that of its value: `webhookId` stands for `--webhook-id`. */
export interface OptionOf<Value> {
  /** The rest of the flags, such as `<id>`. */
  readonly form: string
  readonly description: string
  readonly complete: (option: Option) => Option
  /** Exists only for the compiler. */
  readonly value?: Value
}

export type OptionSpecs = { readonly [name: string]: OptionOf<unknown> }
export type Values<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends OptionOf<infer Value> ? Value : never
}

export function flagOf(name: string): string {
  return `--${kebabCase(name)}`
}

/** Returns `manual-control` for `ManualControl`. */
export function kebabCase(name: string): string {
  return name.replace(/(?<!^)[A-Z]/g, '-$&').toLowerCase()
}

export function flag(description: string): OptionOf<true | undefined> {
  return { form: '', description, complete: (option) => option }
}

export function option(form: string, description: string): OptionOf<string | undefined>
export function option<Value>(form: string, description: string, parse: Parse<Value>): OptionOf<Value | undefined>
export function option<Value>(form: string, description: string, parse?: Parse<Value>): OptionOf<Value> {
  return { form, description, complete: (option) => (parse ? option.argParser(parse) : option) }
}

/** Makes an option mandatory. */
export function required<Value>({ complete, ...spec }: OptionOf<Value>): OptionOf<Exclude<Value, undefined>> {
  return { form: spec.form, description: spec.description, complete: (each) => complete(each).makeOptionMandatory() }
}

export function defaulting<Value>(value: Value, { complete, ...spec }: OptionOf<Value | undefined>): OptionOf<Value> {
  return { form: spec.form, description: spec.description, complete: (each) => complete(each).default(value) }
}

export function choice<Value extends string>(
  form: string,
  description: string,
  choices: readonly Value[],
): OptionOf<Value | undefined> {
  return { form, description, complete: (option) => option.choices(choices) }
}

/** Returns an option whose value is a list of choices, separated by commas. */
export function choices<Value extends string>(
  form: `<${string},...>`,
  description: string,
  choices: readonly Value[],
): OptionOf<readonly Value[] | undefined> {
  const parse = (text: string) => {
    const names = [...new Set(text.split(',').map((name) => name.trim()))]
    const unknown = names.filter((name) => !choices.includes(name as Value))
    if (unknown.length > 0)
      throw new InvalidArgumentError(`Unknown: ${unknown.join(', ')}. Allowed choices are ${choices.join(', ')}.`)
    return names
  }
  return { form, description, complete: (option) => option.choices(choices).argParser(parse) }
}

/** The options of a list that is printed in pages. */
export const pageOptions = <Cursor>(parseAfter: (text: string) => Cursor) => ({
  limit: defaulting(50, option('<n>', 'the size of the page, 1 to 1000', integer({ min: 1, max: 1000 }))),
  cursor: option('<nextCursor>', 'continue after an earlier page', parseAfter),
})

/** Collects the values of a repeatable option. */
export function repeatable<Each = string>(parse?: (text: string) => Each): Parse<readonly Each[]> {
  return (text, previous) => [...(Array.isArray(previous) ? previous : []), parse ? parse(text) : text]
}

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

/** Parses the revision of what the user has seen. */
export const seenRevision = integer({ min: 0, max: Number.MAX_SAFE_INTEGER })

/** Parses an amount such as 95.00 into minor units. */
export const amount = parsed(
  (text) => parseAmount(typed(text)),
  'It must be an amount above 0 with at most two decimals, such as 1234.50.',
)

/** The command line has no language, so a comma may be a decimal or a group and is rejected. */
const typed = (text: string) => typedAmount(text, { decimal: '.' }) ?? ''

/** Parses an amount that may be 0. */
export function tolerance(text: string): bigint {
  return /^0(\.0{1,2})?$/.test(typed(text)) ? 0n : amount(text)
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
    refusalText(violate('text-length', { most: maxLength })),
  )
  return (text) => visible(fits(text))
}

const short = matching(
  (text) => text.length <= maxTextLength,
  refusalText(violate('too-long', { most: maxTextLength })),
)
const notBlank = matching((text) => text.trim() !== '', refusalText(violate('blank')))

export const message = (text: string) => visible(short(text))

/** Accepts a message that is not blank. */
export const reason = (text: string) => message(notBlank(text))

/** Accepts the reference of a payment, a correction or a return. */
export const reference = text(maxReferenceLength)

const returnReasonCode = parsed(
  (text) => (isReturnReason(text) ? text : undefined),
  refusalText(violate('return-reason-unknown')),
)
export const returnReason: OptionOf<ReturnReason | undefined> = {
  form: '<code>',
  description: 'the return reason code of the bank; NARR for any other reason',
  complete: (option) => option.choices(returnReasonCodes).argParser(returnReasonCode),
}

/** Rejects an empty path, which usually comes from an unset variable in a script and would mean the current directory. */
export const path = matching((text) => text !== '', 'It must not be empty.')

/** Parses an ISO 8601 time, or one as commands print it. A date means its start in UTC. */
export const timeIn = (text: string) => parseTime(text.replace(' ', 'T'))
export const time = parsed(timeIn, 'It must be a time such as 2026-11-21 (midnight UTC) or 2026-11-21T10:00:00Z.')

export const date = matching(isDate, refusalText(violate('date-invalid')))

/** Parses the nextCursor of a list. */
export const cursor = parsed(parseCursor, 'It must be the nextCursor of an earlier page.')

export const email = parsed(normalEmail, refusalText(violate('email-invalid')))

/** The options of commands that call the API as a merchant, from any machine. */
export const accessOptions = {
  url: option(
    '<url>',
    'the base URL of the service (default: TRANSFERD_URL, or that of the sandbox in this directory)',
  ),
  apiKey: option('<key>', "the merchant's WebApiKey (default: TRANSFERD_API_KEY, or that of the sandbox)"),
}

/** The option of commands that create transfers or sign requests. */
export const secretKeyOption = option(
  '<key>',
  "the merchant's SecretKey (default: TRANSFERD_SECRET_KEY, or that of the sandbox)",
)
