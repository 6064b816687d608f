import { resolve } from 'node:path'
import type { CopyTarget } from '../../audit/integrity/checkpoint-publisher.js'
import { areRangesTooWide, rangeProblem } from '../../commands/merchant/addresses.js'
import { violate } from '../../domain/decider.js'
import { type Currency, currencyOf, parseAmount } from '../../domain/money.js'
import { normalEmail } from '../../domain/password-rules.js'
import type { PaymentMethod, ReceivingAccount } from '../../domain/payment-method.js'
import { refusalText } from '../../domain/refusal-texts.js'
import { isBic } from '../../domain/sepa-file.js'
import { sepaName } from '../../domain/sepa-text.js'
import { plainAccountNumber } from '../../kernel/account-number.js'
import { parseIban } from '../../kernel/iban.js'
import { isVisible } from '../../kernel/text.js'
import { Type, Value } from '../../kernel/typebox.js'

/** A problem with one variable, as the rest of a sentence that starts with its name. */
export class Problem extends Error {}

/** The directory is an absolute path, and the URL may contain a password. */
type Location<Server extends string> =
  | { readonly engine: 'embedded'; readonly directory: string }
  | { readonly engine: Server; readonly url: string }

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

/** Returns text that matches the pattern. No problem repeats the text, because it may be a secret. */
function matching(pattern: RegExp, problem: string): (text: string) => string {
  return (text) => {
    if (!pattern.test(text)) throw new Problem(problem)
    return text
  }
}

const maxNameLength = 64

export const host = matching(/^[^\s/]+$/, 'must be an IP address or a host name')

export const origin = matching(
  /^[^\s+\p{Cc}]{1,200}$/u,
  'must be a name such as pay.example.com/log, without spaces and plus signs',
)

export function installationName(text: string): string {
  if (text.length > maxNameLength || !isVisible(text))
    throw new Problem(`must be a name of at most ${maxNameLength} visible characters`)
  return text
}

export const senderProblem = 'must be an address in ASCII characters such as Payments <no-reply@pay.example.com>'

export function sender(text: string): string {
  const [, name = '', address = text] = /^([^<>"]{0,64})<([^ ]*)>$/.exec(text) ?? []
  // Mail programs receive the text unchanged.
  if (normalEmail(address) !== address.toLowerCase() || !isVisible(name)) throw new Problem(senderProblem)
  return text
}

/** A token as in RFC 6750, or empty. */
export const bearerToken = matching(/^[A-Za-z0-9._~+/-]*=*$/, 'must be a bearer token of A-Z a-z 0-9 . _ ~ + / - and =')

/** Parses a URL that passes a check. The problem does not quote it, because it may contain a password. */
function checkedUrl(text: string, isAllowed: (url: URL) => boolean, problem: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !isAllowed(url)) throw new Problem(problem)
  return url
}

const isWeb = ({ protocol }: URL) => /^https?:$/.test(protocol)
const isPlain = ({ search, hash }: URL) => !search && !hash
/** Whether the URL requires TLS, or leads to this machine. */
const isSafe = ({ protocol, hostname }: URL) =>
  protocol === 'https:' || (protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname))
const withoutSlash = ({ href }: URL) => href.replace(/\/+$/, '')

/** Returns the URL without a trailing slash. */
export function publicUrl(text: string): string {
  const problem = 'must be an http or https URL without query and semicolon, such as https://pay.example.com'
  // A semicolon would end the path of a cookie.
  const isUsable = (url: URL) => isWeb(url) && isPlain(url) && !url.username && !url.pathname.includes(';')
  return withoutSlash(checkedUrl(text, isUsable, problem))
}

/** The URL of a collector. OpenTelemetry's own variables contain its credentials and other settings. */
export function collectorUrl(text: string): string {
  const problem = 'must be an http or https URL without a user, such as http://127.0.0.1:4318'
  return checkedUrl(text, (url) => isWeb(url) && !url.username && !url.password, problem).href
}

/** A URL that receives passwords, codes and a token, so it requires TLS except on this machine. Returns it without a trailing slash. */
export function secretsUrl(text: string): string {
  const problem = 'must be an https URL without query (http on this machine only)'
  const url = checkedUrl(text, (url) => isSafe(url) && isPlain(url), problem)
  if (url.username || url.password) throw new Problem('must not contain a user: set the variable for the token instead')
  return withoutSlash(url)
}

/** Rejects a query, which could turn TLS off or log every message. */
export function smtpUrl(text: string): string {
  const isServer = (url: URL) =>
    /^smtps?:$/.test(url.protocol) && url.hostname !== '' && url.pathname.length <= 1 && isPlain(url)
  const problem = 'must be a mail server without path and query, such as smtps://user:password@mail.example.com'
  checkedUrl(text, isServer, problem)
  return text
}

/** Requires TLS except on this machine. */
export function copyTarget(text: string): CopyTarget {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return { kind: 'directory', directory: resolve(text) }
  const problem = 'must be a directory or an https URL without query (http on this machine only)'
  const url = checkedUrl(text, (url) => isSafe(url) && isPlain(url), problem)
  const user = [url.username, url.password].map(decodeURIComponent).join(':')
  const authorization = user === ':' ? undefined : `Basic ${Buffer.from(user).toString('base64')}`
  url.username = ''
  url.password = ''
  return { kind: 'url', url: withoutSlash(url), authorization }
}

/** Returns the verifier keys in the form that `parseVerifier` reads. */
export function witnesses(text: string) {
  return text.split(',').flatMap((entry) => {
    const [url, verifierKey, ...more] = entry.split(/\s+/).filter((part) => part !== '')
    if (url === undefined) return []
    if (more.length > 0 || !/^[^\s+]+\+[0-9a-f]{8}\+B[A-Za-z0-9+/]{43}$/.test(verifierKey ?? ''))
      throw new Problem('must be the URL and the verifier key of each witness, separated by a space')
    return { url: secretsUrl(url), verifierKey: verifierKey! }
  })
}

/** The adapter validates the rest of an esdb: URL. It is loaded only if it is used. */
export function eventStore(text: string): Location<'eventstoredb'> {
  if (/^esdb(\+discover)?:/i.test(text)) return { engine: 'eventstoredb', url: text }
  return embedded(text, 'esdb://<host>:<port>')
}

/** The driver validates the rest of a mongodb: URL. It is loaded only if it is used. */
export function readModels(text: string): Location<'mongodb'> {
  if (!/^mongodb(\+srv)?:/i.test(text)) return embedded(text, 'mongodb://<host>/<database>')
  if (!/^mongodb(\+srv)?:\/\/[^/?\s]+(\/\S*)?$/.test(text))
    throw new Problem('must name a server and a database, such as mongodb://127.0.0.1:27017/transferd')
  return { engine: 'mongodb', url: text }
}

/** Problems quote only the scheme of other locations, because the rest may contain a password. */
function embedded(text: string, other: string) {
  const [, scheme] = /^([a-z+]+):/i.exec(text) ?? []
  if (scheme?.toLowerCase() !== 'embedded') {
    const given = scheme ? `${scheme.toLowerCase()}:` : 'a value without a scheme'
    throw new Problem(`is ${given}: use embedded:<directory> or ${other}`)
  }
  const path = text.slice('embedded:'.length)
  // embedded://data looks like a relative path, but would be /data.
  if (path === '' || /^\/\/(?!\/)/.test(path))
    throw new Problem('must be embedded:<directory>, such as embedded:./data')
  return { engine: 'embedded', directory: resolve(path) } as const
}

/** Problems do not quote the keys, even if they are mistyped. */
export function masterKeys(text: string): readonly Buffer[] {
  const keys = decodeMasterKeys(text)
  if (!keys)
    throw new Problem('must be 32 bytes as 64 hexadecimal digits or base64; put several keys on separate lines')
  return keys
}

const maxMasterKeys = 100

/** Decodes one or more lines, each of 64 hexadecimal digits or base64. Returns `undefined` for any other text. */
export function decodeMasterKeys(text: string): readonly Buffer[] | undefined {
  const keys = text.trim().split(/\s+/).map(decodeMasterKey)
  return keys.length <= maxMasterKeys && keys.every((key) => key !== undefined) ? keys : undefined
}

function decodeMasterKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

/** Parses addresses and CIDR ranges. `tooWide` is the problem of ranges that cover over a sixteenth of all addresses. */
export function addressRanges(tooWide: string): (text: string) => readonly string[] {
  return (text) => {
    const ranges = text.split(',').flatMap((range) => range.trim() || [])
    const wrong = ranges.flatMap((range) => rangeProblem(range) ?? []).map((problem) => refusalText(problem))
    if (wrong.length > 0) throw new Problem(`must be addresses and CIDR ranges separated by commas: ${wrong.join(' ')}`)
    if (areRangesTooWide(ranges)) throw new Problem(tooWide)
    return ranges
  }
}

export function currency(text: string): Currency {
  const currency = currencyOf(text)
  if (typeof currency === 'string') throw new Problem(`${JSON.stringify(text)} ${currency}`)
  return currency
}

const amounts =
  'minAmount and maxAmount must be amounts with at most two decimals, and minAmount must not exceed maxAmount'
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
  account: Type.Optional(
    Type.Object(
      { name: Type.String(), iban: Type.String(), bic: Type.Optional(Type.String()) },
      { problem: 'account must be an object with a name, an iban and optionally a bic' },
    ),
  ),
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

/** The most characters of a payee's name in SEPA. */
const maxPayeeName = 70

const hidden = violate('hidden-characters')

/** Reads a JSON array. Empty text stands for the default catalogue. */
export function paymentMethods(text: string): readonly PaymentMethod[] {
  const entries = Value.Default(catalogue, text === '' ? defaultMethods : json(text))
  if (!Value.Check(catalogue, entries)) {
    // The path looks like /0/kinds/1.
    const [, index, field] = Value.Errors(catalogue, entries).First()?.path.split('/') ?? []
    if (index === undefined) throw new Problem('must be a JSON array of payment methods')
    const known = Object.entries(fields).find(([name]) => name === field)
    throw new Problem(`entry ${Number(index) + 1}: ${known?.[1].problem ?? 'must be an object'}`)
  }
  if (new Set(entries.map(({ code }) => code)).size < entries.length) throw new Problem('contains a code twice')
  return entries.map(({ code, name, nameTr, kinds, paidBy, account, minAmount, maxAmount }, index) => {
    if (!isVisible(name)) throw new Problem(`entry ${index + 1}: ${refusalText(hidden, 'name')}`)
    if (nameTr !== undefined && !isVisible(nameTr))
      throw new Problem(`entry ${index + 1}: ${refusalText(hidden, 'nameTr')}`)
    if (account && (paidBy !== 'manual' || !kinds.includes('deposit')))
      throw new Problem(`entry ${index + 1}: account is for deposits that are paid manually`)
    const [minAmountMinor, maxAmountMinor] = [minAmount, maxAmount].map((amount) => parseAmount(JSON.stringify(amount)))
    if (!minAmountMinor || !maxAmountMinor || minAmountMinor > maxAmountMinor)
      throw new Problem(`entry ${index + 1}: ${amounts}`)
    const receiving = account && receivingAccount(account, index + 1)
    return { code, name, nameTr, kinds, paidBy, account: receiving, minAmountMinor, maxAmountMinor }
  })
}

/** Returns the account in electronic form. @throws Problem */
function receivingAccount({ name, iban, bic }: ReceivingAccount, entry: number): ReceivingAccount {
  const [electronic, plainBic] = [parseIban(iban), bic && plainAccountNumber(bic)]
  const violations = [
    ['name', isVisible(name) ? undefined : hidden],
    ['name', name.length > maxPayeeName ? violate('too-long', { most: maxPayeeName }) : undefined],
    ['name', sepaName(name) === undefined ? violate('not-sepa-text') : undefined],
    ['iban', electronic === undefined ? violate('iban-invalid') : undefined],
    ['bic', plainBic !== undefined && !isBic(plainBic) ? violate('bic-invalid') : undefined],
  ] as const
  for (const [field, violation] of violations)
    if (violation) throw new Problem(`entry ${entry}: ${refusalText(violation, `account.${field}`)}`)
  return { name, iban: electronic!, bic: plainBic }
}

/** Returns `undefined` for text that is not JSON. */
export function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
