import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isEverybody, rangeProblem } from '../commands/address-index.js'
import { defaultCompletionGuardFactor } from '../commands/transfers.js'
import { type Currency, currencyOf } from '../domain/currency.js'
import { parseAmount } from '../domain/money.js'
import type { PaymentMethod } from '../domain/payment-method.js'
import { hiddenCharacters, isVisible } from '../domain/text.js'

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

/** What a node does: answers merchants and customers; keeps the read models and lets deposits expire; sends callbacks. */
export const roles = ['api', 'projections', 'callbacks'] as const
export type Role = (typeof roles)[number]

export type WalletLocation =
  | { readonly engine: 'built-in' }
  /** A wallet core; `url` is without a slash at the end. */
  | { readonly engine: 'http'; readonly url: string; readonly token: string; readonly timeoutMs: number }

/** How customers of the built-in wallet are reached; undefined: not at all, or by the sandbox's outbox. */
export interface MessageGateways {
  /** `url` (smtp: or smtps:) may hold a password. */
  readonly email: { readonly url: string; readonly from: string } | undefined
  readonly sms: { readonly url: string; readonly token: string } | undefined
}

export interface Configuration {
  /** At least one. */
  readonly roles: ReadonlySet<Role>
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Without a slash at the end; undefined: the address listened on. */
  readonly publicUrl: string | undefined
  readonly eventStore: EventStoreLocation
  /** Absolute path of the directory that holds the master key and sandbox.json: that of the log where it has one. */
  readonly dataDirectory: string
  readonly readModels: ReadModelLocation
  /** 32 bytes; undefined: the key file in the data directory. */
  readonly masterKey: Buffer | undefined
  /** Addresses and CIDR ranges whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[]
  readonly maxConnections: number
  /** Of one peer that is no trusted proxy. */
  readonly maxConnectionsPerAddress: number
  readonly logLevel: string
  readonly currency: Currency
  readonly paymentMethods: readonly PaymentMethod[]
  /** `auto`: a sandbox merchant is offered as long as there is no live one. */
  readonly sandbox: 'auto' | 'off'
  readonly callbackTimeoutMs: number
  /** How many times the requested amount, or which fraction, must be confirmed to complete a transfer with it. */
  readonly completionGuardFactor: number
  readonly wallet: WalletLocation
  readonly messages: MessageGateways
}

/** Every variable that is read, with its default as text; docs/reference/configuration.md lists the same. */
export const configurationDefaults = {
  ROLES: roles.join(),
  HOST: '127.0.0.1',
  PORT: '3000',
  PUBLIC_URL: '',
  EVENT_STORE_URL: 'embedded:./data',
  READ_MODEL_URL: 'embedded:./data',
  DATA_DIRECTORY: './data',
  TRANSFERD_MASTER_KEY: '',
  TRUSTED_PROXIES: '',
  MAX_CONNECTIONS: '10000',
  MAX_CONNECTIONS_PER_ADDRESS: '500',
  LOG_LEVEL: 'info',
  CURRENCY: 'TRY',
  PAYMENT_METHODS: '',
  SANDBOX: 'auto',
  CALLBACK_TIMEOUT_MS: '15000',
  COMPLETION_GUARD_FACTOR: String(defaultCompletionGuardFactor),
  WALLET_URL: '',
  WALLET_TOKEN: '',
  WALLET_TIMEOUT_MS: '10000',
  SMTP_URL: '',
  MAIL_FROM: '',
  SMS_URL: '',
  SMS_TOKEN: '',
} as const

type Variable = keyof typeof configurationDefaults

/** What holds a secret, or may: `<name>_FILE` names a file to read it from instead. */
export const secretVariables = [
  'EVENT_STORE_URL',
  'READ_MODEL_URL',
  'TRANSFERD_MASTER_KEY',
  'WALLET_TOKEN',
  'SMTP_URL',
  'SMS_TOKEN',
] as const satisfies readonly Variable[]

const secrets: ReadonlySet<string> = new Set(secretVariables)
type Environment = { readonly [name: string]: string | undefined }

/** The environment asks for something impossible; `problems` names all of it. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  constructor(readonly problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

const defaultPaymentMethods = (['Wallet', 'Bank transfer', 'Card'] as const).map(
  (name, index): PaymentMethod => ({
    code: index + 1,
    name,
    kinds: ['deposit', 'withdrawal'],
    paidBy: name === 'Wallet' ? 'wallet' : 'manual',
    minAmountMinor: 1_00n,
    maxAmountMinor: 999_999_99n,
  }),
)

type Read = <Value>(name: Variable, parse: (text: string) => Value) => Value

/** An empty variable counts as absent. @throws ConfigurationError with every problem at once */
export function readConfiguration(environment: Environment): Configuration {
  const problems: string[] = []
  const text = (name: Variable) =>
    secretOfFile(environment, name) || environment[name]?.trim() || configurationDefaults[name]
  const read: Read = (name, parse) => {
    try {
      return parse(text(name))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      problems.push(`${name} ${error.message}`)
      // Never returned to the caller: the problem is thrown below.
      return undefined as never
    }
  }
  const configuration: Omit<Configuration, 'dataDirectory'> = {
    roles: read('ROLES', parseRoles),
    host: read('HOST', parseHost),
    port: read('PORT', (value) => parseInteger(value, 0, 65_535)),
    publicUrl: read('PUBLIC_URL', parsePublicUrl),
    eventStore: read('EVENT_STORE_URL', parseEventStore),
    readModels: read('READ_MODEL_URL', parseReadModels),
    masterKey: read('TRANSFERD_MASTER_KEY', parseMasterKey),
    trustedProxies: read('TRUSTED_PROXIES', parseRanges),
    maxConnections: read('MAX_CONNECTIONS', (value) => parseInteger(value, 1, 1_000_000)),
    maxConnectionsPerAddress: read('MAX_CONNECTIONS_PER_ADDRESS', (value) => parseInteger(value, 1, 1_000_000)),
    logLevel: read('LOG_LEVEL', (value) =>
      parseOneOf(value, ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    ),
    currency: read('CURRENCY', parseCurrency),
    paymentMethods: read('PAYMENT_METHODS', (value) => (value === '' ? defaultPaymentMethods : parseCatalogue(value))),
    sandbox: read('SANDBOX', (value) => parseOneOf(value, ['auto', 'off'])),
    callbackTimeoutMs: read('CALLBACK_TIMEOUT_MS', (value) => parseInteger(value, 100, 120_000)),
    completionGuardFactor: read('COMPLETION_GUARD_FACTOR', (value) => parseInteger(value, 1, 1_000_000)),
    wallet: readWallet(read),
    messages: readMessages(read),
  }
  if (problems.length > 0) throw new ConfigurationError(problems)
  const { eventStore } = configuration
  const dataDirectory = eventStore.engine === 'embedded' ? eventStore.directory : resolve(text('DATA_DIRECTORY'))
  return { ...configuration, dataDirectory }
}

/** What is wrong with one variable, as the end of a sentence that begins with its name. */
class Problem extends Error {}

/** Undefined where the variable names no file. Never quotes what the file holds. */
function secretOfFile(environment: Environment, name: Variable): string | undefined {
  const path = secrets.has(name) && environment[`${name}_FILE`]?.trim()
  if (!path) return undefined
  if (environment[name]?.trim()) throw new Problem(`and ${name}_FILE are both set: which of them is meant?`)
  let content: string
  try {
    content = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new Problem(`cannot be read from the file ${path}: ${(error as NodeJS.ErrnoException).code}`)
  }
  if (content === '') throw new Problem(`cannot be read from the file ${path}: it is empty`)
  return content
}

/** Separated by commas. */
function parseRoles(value: string): ReadonlySet<Role> {
  return new Set(value.split(',').map((name) => parseOneOf(name.trim(), roles)))
}

function readWallet(read: Read): WalletLocation {
  const url = read('WALLET_URL', parseSecretsUrl)
  const token = read('WALLET_TOKEN', (value) => parseToken(value, url !== undefined))
  const timeoutMs = read('WALLET_TIMEOUT_MS', (value) => parseInteger(value, 100, 120_000))
  return url === undefined ? { engine: 'built-in' } : { engine: 'http', url, token, timeoutMs }
}

function readMessages(read: Read): MessageGateways {
  const smtpUrl = read('SMTP_URL', parseSmtpUrl)
  const from = read('MAIL_FROM', (value) => parseSender(value, smtpUrl !== undefined))
  const smsUrl = read('SMS_URL', parseSecretsUrl)
  const token = read('SMS_TOKEN', (value) => parseToken(value, smsUrl !== undefined))
  return {
    email: smtpUrl === undefined ? undefined : { url: smtpUrl, from },
    sms: smsUrl === undefined ? undefined : { url: smsUrl, token },
  }
}

function parseHost(value: string): string {
  if (/[\s/]/.test(value)) throw new Problem('must be an IP address or a host name')
  return value
}

function parseInteger(value: string, min: number, max: number): number {
  const number = Number(value)
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new Problem(`must be a whole number from ${min} to ${max}, not ${JSON.stringify(value)}`)
  }
  return number
}

function parseOneOf<Value extends string>(value: string, allowed: readonly Value[]): Value {
  const found = allowed.find((candidate) => candidate === value)
  if (!found) throw new Problem(`must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}`)
  return found
}

function parsePublicUrl(value: string): string | undefined {
  if (value === '') return undefined
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Problem('must be an http or https URL without query, such as https://pay.example.com')
  }
  return url.href.replace(/\/+$/, '')
}

/** Where passwords, codes and a token are sent to: nothing but TLS, unless it is this machine. */
function parseSecretsUrl(value: string): string | undefined {
  if (value === '') return undefined
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? '')
  if (!url || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback)) || url.search || url.hash) {
    throw new Problem('must be an https URL without query (http on this machine only)')
  }
  if (url.username || url.password) throw new Problem('must not hold a user: there is a variable for the token')
  return url.href.replace(/\/+$/, '')
}

function parseToken(value: string, isNeeded: boolean): string {
  if (value === '' && isNeeded) throw new Problem('must be set: it is sent as the bearer token')
  // What a header can hold (RFC 6750). Not a character of the value: it is a secret.
  if (!/^[A-Za-z0-9._~+/-]*=*$/.test(value))
    throw new Problem('must be a bearer token of A-Z a-z 0-9 . _ ~ + / - and =')
  return value
}

function parseSmtpUrl(value: string): string | undefined {
  if (value === '') return undefined
  const url = URL.canParse(value) ? new URL(value) : undefined
  // Without query: one could switch TLS off, or have every message written to the log. Not a character of the value is
  // repeated, as it may hold a password.
  if (!url || !/^smtps?:$/.test(url.protocol) || !url.hostname || url.pathname.length > 1 || url.search || url.hash) {
    throw new Problem('must be a mail server without path and query, such as smtps://user:password@mail.example.com')
  }
  return value
}

function parseSender(value: string, isNeeded: boolean): string {
  if (value === '' && !isNeeded) return value
  if (!/^(?:[^<>"\p{Cc}]{0,64}<[^\s<>@]+@[^\s<>@]+>|[^\s<>@,]+@[^\s<>@,]+)$/u.test(value)) {
    throw new Problem('must be an address such as Payments <no-reply@pay.example.com>')
  }
  return value
}

/** The rest of a mongodb: URL is the driver's to judge, which is not loaded unless it is needed. */
function parseReadModels(value: string): ReadModelLocation {
  if (/^mongodb(\+srv)?:/i.test(value)) {
    // Not a character of the value: it may hold a password.
    if (!/^mongodb(\+srv)?:\/\/[^/?\s]+(\/\S*)?$/.test(value))
      throw new Problem('must name a server and a database, such as mongodb://127.0.0.1:27017/transferd')
    return { engine: 'mongodb', url: value }
  }
  const scheme = schemeOf(value)
  if (scheme !== 'embedded')
    throw new Problem(`is ${asked(scheme)}: use embedded:<directory> or mongodb://<host>/<database>`)
  return { engine: 'embedded', directory: directoryOf(value) }
}

/** The rest of an esdb: URL is the adapter's to judge, which is not loaded unless it is needed. */
function parseEventStore(value: string): EventStoreLocation {
  // Not a character of the value: it may hold a password.
  if (/^esdb(\+discover)?:/i.test(value)) return { engine: 'eventstoredb', url: value }
  const scheme = schemeOf(value)
  if (scheme !== 'embedded') throw new Problem(`is ${asked(scheme)}: use embedded:<directory> or esdb://<host>:<port>`)
  return { engine: 'embedded', directory: directoryOf(value) }
}

function schemeOf(value: string): string | undefined {
  return /^([a-z+]+):/i.exec(value)?.[1]?.toLowerCase()
}

function asked(scheme: string | undefined): string {
  return scheme ? `${scheme}:` : 'a value without a scheme'
}

function directoryOf(value: string): string {
  const path = value.slice('embedded:'.length)
  // embedded://data reads like a relative path and would be /data.
  if (path === '' || /^\/\/(?!\/)/.test(path))
    throw new Problem('must be embedded:<directory>, such as embedded:./data')
  return resolve(path)
}

/** 32 bytes as 64 hexadecimal digits or as base64; undefined for an empty text. */
function parseMasterKey(value: string): Buffer | undefined {
  if (value === '') return undefined
  const key = decodeMasterKey(value)
  // Not a character of the value: it is a secret, even when mistyped.
  if (!key) throw new Problem('must be 32 bytes, as 64 hexadecimal digits or as base64')
  return key
}

export function decodeMasterKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

function parseRanges(value: string): string[] {
  const ranges = value.split(',').flatMap((range) => range.trim() || [])
  const wrong = ranges.flatMap((range) => rangeProblem(range) ?? [])
  if (wrong.length > 0) throw new Problem(`must be addresses and CIDR ranges separated by commas: ${wrong.join('; ')}`)
  if (isEverybody(ranges))
    throw new Problem('trusts so many addresses that anybody could say who calls: name your proxies')
  return ranges
}

function parseCurrency(value: string): Currency {
  const currency = currencyOf(value)
  if (typeof currency === 'string') throw new Problem(`${JSON.stringify(value)} ${currency}`)
  return currency
}

function parseCatalogue(value: string): PaymentMethod[] {
  let entries: unknown
  try {
    entries = JSON.parse(value)
  } catch {
    entries = undefined
  }
  if (!Array.isArray(entries) || entries.length === 0) throw new Problem('must be a JSON array of payment methods')
  const methods = entries.map(parsePaymentMethod)
  if (new Set(methods.map(({ code }) => code)).size < methods.length) throw new Problem('names a code twice')
  return methods
}

function parsePaymentMethod(entry: unknown, index: number): PaymentMethod {
  const wrong = (what: string) => new Problem(`entry ${index + 1}: ${what}`)
  if (entry === null || typeof entry !== 'object') throw wrong('must be an object')
  const {
    code,
    name,
    kinds,
    paidBy = 'wallet',
    minAmount = 1,
    maxAmount = 999_999.99,
  } = entry as Record<string, unknown>
  if (!Number.isInteger(code) || (code as number) < 1 || (code as number) > 9999) throw wrong('code must be 1 to 9999')
  if (typeof name !== 'string' || name === '' || name.length > 64) throw wrong('name must be 1 to 64 characters')
  if (!isVisible(name)) throw wrong(`name ${hiddenCharacters}`)
  if (
    !Array.isArray(kinds) ||
    kinds.length === 0 ||
    !kinds.every((kind) => kind === 'deposit' || kind === 'withdrawal')
  ) {
    throw wrong('kinds must list deposit, withdrawal or both')
  }
  if (paidBy !== 'wallet' && paidBy !== 'manual') throw wrong('paidBy must be wallet or manual')
  const minAmountMinor = parseAmount(JSON.stringify(minAmount))
  const maxAmountMinor = parseAmount(JSON.stringify(maxAmount))
  if (!minAmountMinor || !maxAmountMinor || minAmountMinor > maxAmountMinor) {
    throw wrong('minAmount and maxAmount must be amounts with at most two decimals, the first not above the second')
  }
  return { code: code as number, name, kinds, paidBy, minAmountMinor, maxAmountMinor }
}
