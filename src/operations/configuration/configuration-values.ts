import { resolve } from 'node:path'
import type { CopyTarget } from '../../audit/integrity/checkpoint-targets.js'
import { areRangesTooWide, rangeProblem } from '../../commands/merchant/address-index.js'
import { refusalText } from '../../commands/refusal-texts.js'
import { type Currency, currencyOf } from '../../domain/currency.js'
import { parseAmount } from '../../domain/money.js'
import type { PaymentMethod } from '../../domain/payment-method.js'
import { violate } from '../../kernel/rules.js'
import { isVisible } from '../../kernel/text.js'
import { Type, Value } from '../../kernel/typebox.js'

/** What is wrong with one variable, as the end of a sentence that begins with its name. */
export class Problem extends Error {}

export type EventStoreLocation =
  /** `directory` is an absolute path. */
  | { readonly engine: 'embedded'; readonly directory: string }
  /** The URL may hold a password. */
  | { readonly engine: 'eventstoredb'; readonly url: string }

export type ReadModelLocation =
  /** `directory` is an absolute path. */
  | { readonly engine: 'embedded'; readonly directory: string }
  /** The URL may hold a password. */
  | { readonly engine: 'mongodb'; readonly url: string }

export function optional<Parsed>(parse: (text: string) => Parsed): (text: string) => Parsed | undefined {
  return (text) => (text === '' ? undefined : parse(text))
}

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (/^\d+$/.test(text) && number >= min && number <= max) return number
    throw new Problem(`must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`)
  }
}

export function oneOf<const Value extends string>(allowed: readonly Value[]): (text: string) => Value {
  return (text) => {
    const found = allowed.find((candidate) => candidate === text)
    if (!found) throw new Problem(`must be one of ${allowed.join(', ')}, not ${JSON.stringify(text)}`)
    return found
  }
}

/** The text itself where the pattern matches. No problem repeats it: it may be a secret. */
function matching(pattern: RegExp, problem: string): (text: string) => string {
  return (text) => {
    if (!pattern.test(text)) throw new Problem(problem)
    return text
  }
}

export const host = matching(/^[^\s/]+$/, 'must be an IP address or a host name')

export const senderProblem = 'must be an address such as Payments <no-reply@pay.example.com>'
export const sender = matching(/^(?:[^<>"\p{Cc}]{0,64}<[^\s<>@]+@[^\s<>@]+>|[^\s<>@,]+@[^\s<>@,]+)$/u, senderProblem)

/** What a header can hold (RFC 6750), or nothing. */
export const bearerToken = matching(/^[A-Za-z0-9._~+/-]*=*$/, 'must be a bearer token of A-Z a-z 0-9 . _ ~ + / - and =')

/** Without a slash at the end. */
export function publicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username)
    throw new Problem('must be an http or https URL without query, such as https://pay.example.com')
  return url.href.replace(/\/+$/, '')
}

/** Of a collector: what else it needs is in OpenTelemetry's own variables, the credentials too. */
export function collectorUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw new Problem('must be an http or https URL without a user, such as http://127.0.0.1:4318')
  return url.href
}

/** Where passwords, codes and a token are sent to: nothing but TLS, unless it is this machine. Without a slash at the end. */
export function secretsUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? '')
  if (!url || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback)) || url.search || url.hash)
    throw new Problem('must be an https URL without query (http on this machine only)')
  if (url.username || url.password) throw new Problem('must not hold a user: there is a variable for the token')
  return url.href.replace(/\/+$/, '')
}

/** Without query: one could switch TLS off, or have every message written to the log. */
export function smtpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Not a character of it is repeated, as it may hold a password.
  if (!url || !/^smtps?:$/.test(url.protocol) || !url.hostname || url.pathname.length > 1 || url.search || url.hash)
    throw new Problem('must be a mail server without path and query, such as smtps://user:password@mail.example.com')
  return text
}

/** Nothing but TLS, unless it is this machine. Not a character of a URL is repeated, as it may hold a password. */
export function copyTarget(text: string): CopyTarget {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return { kind: 'directory', directory: resolve(text) }
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? '')
  if (!url || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback)) || url.search || url.hash)
    throw new Problem('must be a directory or an https URL without query (http on this machine only)')
  const user = [url.username, url.password].map(decodeURIComponent).join(':')
  const authorization = user === ':' ? undefined : `Basic ${Buffer.from(user).toString('base64')}`
  url.username = ''
  url.password = ''
  return { kind: 'url', url: url.href.replace(/\/+$/, ''), authorization }
}

export interface WitnessSetting {
  readonly url: string
  /** As `parseVerifier` takes it. */
  readonly verifierKey: string
}

export function witnesses(text: string): readonly WitnessSetting[] {
  return text.split(',').flatMap((entry) => {
    const [url, verifierKey, ...more] = entry.split(/\s+/).filter((part) => part !== '')
    if (url === undefined) return []
    if (more.length > 0 || !/^[^\s+]+\+[0-9a-f]{8}\+B[A-Za-z0-9+/]{43}$/.test(verifierKey ?? ''))
      throw new Problem('must be the URL and the verifier key of each witness, with a space between')
    return { url: secretsUrl(url), verifierKey: verifierKey! }
  })
}

/** The rest of an esdb: URL is the adapter's to judge, which is not loaded unless it is needed. */
export function eventStore(text: string): EventStoreLocation {
  if (/^esdb(\+discover)?:/i.test(text)) return { engine: 'eventstoredb', url: text }
  return embedded(text, 'esdb://<host>:<port>')
}

/** The rest of a mongodb: URL is the driver's to judge, which is not loaded unless it is needed. */
export function readModels(text: string): ReadModelLocation {
  if (!/^mongodb(\+srv)?:/i.test(text)) return embedded(text, 'mongodb://<host>/<database>')
  if (!/^mongodb(\+srv)?:\/\/[^/?\s]+(\/\S*)?$/.test(text))
    throw new Problem('must name a server and a database, such as mongodb://127.0.0.1:27017/transferd')
  return { engine: 'mongodb', url: text }
}

/** Of what is no embedded location only the scheme is repeated: the rest may hold a password. */
function embedded(text: string, other: string) {
  const [, scheme] = /^([a-z+]+):/i.exec(text) ?? []
  if (scheme?.toLowerCase() !== 'embedded') {
    const asked = scheme ? `${scheme.toLowerCase()}:` : 'a value without a scheme'
    throw new Problem(`is ${asked}: use embedded:<directory> or ${other}`)
  }
  const path = text.slice('embedded:'.length)
  // embedded://data reads like a relative path and would be /data.
  if (path === '' || /^\/\/(?!\/)/.test(path))
    throw new Problem('must be embedded:<directory>, such as embedded:./data')
  return { engine: 'embedded', directory: resolve(path) } as const
}

/** No problem repeats it, even mistyped. */
export function masterKeys(text: string): readonly Buffer[] {
  const keys = decodeMasterKeys(text)
  if (!keys) throw new Problem('must be 32 bytes, as 64 hexadecimal digits or as base64; several keys are lines')
  return keys
}

const maxMasterKeys = 100

/** One or more, each as 64 hexadecimal digits or as base64, on lines of their own; undefined for anything else. */
export function decodeMasterKeys(text: string): readonly Buffer[] | undefined {
  const keys = text.trim().split(/\s+/).map(decodeMasterKey)
  return keys.length <= maxMasterKeys && keys.every((key) => key !== undefined) ? keys : undefined
}

function decodeMasterKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

/** Addresses and CIDR ranges, separated by commas. */
export function proxyRanges(text: string): readonly string[] {
  const ranges = text.split(',').flatMap((range) => range.trim() || [])
  const wrong = ranges.flatMap((range) => rangeProblem(range) ?? [])
  if (wrong.length > 0) throw new Problem(`must be addresses and CIDR ranges separated by commas: ${wrong.join('; ')}`)
  if (areRangesTooWide(ranges))
    throw new Problem('trusts so many addresses that anybody could say who calls: name your proxies')
  return ranges
}

export function currency(text: string): Currency {
  const currency = currencyOf(text)
  if (typeof currency === 'string') throw new Problem(`${JSON.stringify(text)} ${currency}`)
  return currency
}

const amounts = 'minAmount and maxAmount must be amounts with at most two decimals, the first not above the second'
const kind = Type.Union([Type.Literal('deposit'), Type.Literal('withdrawal')])
const fields = {
  code: Type.Integer({ minimum: 1, maximum: 9999, problem: 'code must be 1 to 9999' }),
  name: Type.String({ minLength: 1, maxLength: 64, problem: 'name must be 1 to 64 characters' }),
  nameTr: Type.Optional(Type.String({ minLength: 1, maxLength: 64, problem: 'nameTr must be 1 to 64 characters' })),
  kinds: Type.Array(kind, { minItems: 1, problem: 'kinds must list deposit, withdrawal or both' }),
  paidBy: Type.Union([Type.Literal('wallet'), Type.Literal('manual')], {
    default: 'wallet',
    problem: 'paidBy must be wallet or manual',
  }),
  minAmount: Type.Number({ default: 1, problem: amounts }),
  maxAmount: Type.Number({ default: 999_999.99, problem: amounts }),
}
const catalogue = Type.Array(Type.Object(fields), { minItems: 1 })

const kinds = ['deposit', 'withdrawal']
const defaultMethods = [
  { code: 1, name: 'Wallet', nameTr: 'Cüzdan', kinds },
  { code: 2, name: 'Bank transfer', nameTr: 'Banka havalesi', kinds, paidBy: 'manual' },
  { code: 3, name: 'Card', nameTr: 'Kart', kinds, paidBy: 'manual' },
]

const hidden = violate('hidden-characters')

/** A JSON array; empty for the default catalogue. */
export function paymentMethods(text: string): readonly PaymentMethod[] {
  const entries = Value.Default(catalogue, text === '' ? defaultMethods : json(text))
  if (!Value.Check(catalogue, entries)) {
    // Such as /0/kinds/1.
    const [, index, field] = Value.Errors(catalogue, entries).First()?.path.split('/') ?? []
    if (index === undefined) throw new Problem('must be a JSON array of payment methods')
    const known = Object.entries(fields).find(([name]) => name === field)
    throw new Problem(`entry ${Number(index) + 1}: ${known?.[1].problem ?? 'must be an object'}`)
  }
  if (new Set(entries.map(({ code }) => code)).size < entries.length) throw new Problem('names a code twice')
  return entries.map(({ code, name, nameTr, kinds, paidBy, minAmount, maxAmount }, index) => {
    if (!isVisible(name)) throw new Problem(`entry ${index + 1}: ${refusalText(hidden, 'name')}`)
    if (nameTr !== undefined && !isVisible(nameTr))
      throw new Problem(`entry ${index + 1}: ${refusalText(hidden, 'nameTr')}`)
    const [minAmountMinor, maxAmountMinor] = [minAmount, maxAmount].map((amount) => parseAmount(JSON.stringify(amount)))
    if (!minAmountMinor || !maxAmountMinor || minAmountMinor > maxAmountMinor)
      throw new Problem(`entry ${index + 1}: ${amounts}`)
    return { code, name, nameTr, kinds, paidBy, minAmountMinor, maxAmountMinor }
  })
}

function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
