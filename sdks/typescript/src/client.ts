import type { ListCallbacksQuery, ListTransfersQuery, Transfer, ValidationError } from './api.js'
import { type ApiRequest, amountFields, type Callback, type CallbackSummary, type Feed, Operations } from './api.js'

export * from './api.js'

export interface ClientOptions {
  /** The address of the service, such as `https://pay.example.com`. */
  readonly baseUrl: string
  readonly webApiKey: string
  /** Hashes creates and signs requests. A program that only reads needs none. */
  readonly secretKey?: string | undefined
  /** The time for each attempt. Defaults to 30 seconds. */
  readonly timeoutMs?: number | undefined
  /** How often a request is repeated that is safe to repeat. Defaults to 3. */
  readonly maxRetries?: number | undefined
  /** Replaces the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined
}

/** Waits before the repeats of a request. */
const backOff = { firstMs: 500, longestMs: 8_000, longestRetryAfterSeconds: 60 }
const mayPass = new Set([429, 500, 502, 503, 504])

/** A client of the service for one merchant. It holds no connections and no state, so one can be used for the whole program. */
export class TransferdClient extends Operations {
  readonly #options: ClientOptions
  readonly #baseUrl: string

  /** @throws TypeError if an option is invalid */
  constructor(options: ClientOptions) {
    super()
    const { baseUrl, webApiKey, secretKey } = options
    // A variable of the environment that is not set would be the text "undefined".
    if (typeof webApiKey !== 'string' || !/^[!-~]+$/.test(webApiKey))
      throw new TypeError('webApiKey must be the key that the operator issued')
    if (secretKey !== undefined && (typeof secretKey !== 'string' || secretKey === ''))
      throw new TypeError('secretKey must be the key that the operator issued')
    this.#options = options
    this.#baseUrl = checkedBaseUrl(baseUrl)
  }

  /** Iterates over all transfers that match, newest first. */
  async *iterateTransfers(
    query: Omit<ListTransfersQuery, 'cursor' | 'limit'> = {},
  ): AsyncGenerator<Transfer, void, void> {
    yield* itemsOf((cursor) => this.listTransfers({ ...query, limit: 100, cursor }))
  }

  /** Iterates over all callbacks that match, newest first. */
  async *iterateCallbacks(
    query: Omit<ListCallbacksQuery, 'cursor' | 'limit'> = {},
  ): AsyncGenerator<CallbackSummary, void, void> {
    yield* itemsOf((cursor) => this.listCallbacks({ ...query, limit: 100, cursor }))
  }

  /**
   * Iterates over pages of events, oldest first, until there are no more. Store the `next` of each page after you have processed it, and
   * start with it the next time.
   */
  async *iterateFeed(after?: string | null): AsyncGenerator<Feed, void, void> {
    let position = after ?? undefined
    for (;;) {
      const page = await this.listEvents({ after: position, limit: 100 })
      if (page.items.length === 0) return
      yield page
      position = advanced(position, page.next)
    }
  }

  protected async send<Result>(request: ApiRequest): Promise<Result> {
    const body = request.body && this.#bodyOf(request.body, request.isHashed === true)
    for (let repeats = 0; ; repeats++) {
      try {
        return (await this.#attempt(request, body)) as Result
      } catch (error) {
        const waitMs = request.isRepeatable && repeats < (this.#options.maxRetries ?? 3) && waitMsAfter(error, repeats)
        if (waitMs === false) throw error
        await this.delay(waitMs)
      }
    }
  }

  protected delay(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms))
  }

  /** Returns the JSON of a body, with amounts as they were given, because the hash covers their text. */
  #bodyOf(fields: object, isHashed: boolean): string {
    const { amount, referenceId } = fields as { readonly amount?: string; readonly referenceId?: string }
    const { secretKey } = this.#options
    if (!isHashed) return jsonOf(fields)
    if (secretKey === undefined) throw new TypeError('creating a transfer requires the secretKey')
    return jsonOf({ ...fields, hashCode: hashCode(secretKey, amountText('amount', amount), String(referenceId)) })
  }

  async #attempt(request: ApiRequest, body: string | undefined): Promise<unknown> {
    const { method, path, query = {} } = request
    const { webApiKey, secretKey, timeoutMs = 30_000, fetch = globalThis.fetch } = this.#options
    const parameters = Object.entries(query).flatMap(([name, value]) => {
      if (typeof value !== 'object' || value === null) return value === undefined ? [] : [[name, String(value)]]
      return Object.entries(value).map(([key, text]) => [`${name}[${key}]`, String(text)])
    })
    const search = parameters.length > 0 ? `?${new URLSearchParams(parameters)}` : ''
    const isSigned = method !== 'GET' && secretKey !== undefined
    const headers = {
      WebApiKey: webApiKey,
      Accept: 'application/json',
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(isSigned && { 'X-Signature': await signRequest(secretKey, body ?? '', { method, path }) }),
    }
    // The keys are meant for the service only, so redirects are not followed.
    const options = { method, headers, body: body ?? null, redirect: 'manual' } as const
    const signal = AbortSignal.timeout(timeoutMs)
    let response: Response
    let text: string
    try {
      response = await fetch(`${this.#baseUrl}${path}${search}`, { ...options, signal })
      text = await response.text()
    } catch (cause) {
      throw new NoResponseError(`${this.#baseUrl} did not respond: ${reasonOf(cause)}`, { cause })
    }
    const json = parsed(text)
    const result = response.ok ? resultOf(request, json) : undefined
    if (result === undefined) throw apiError(response, json)
    return result
  }
}

/** Every failure of a request. */
export class TransferdError extends Error {
  override readonly name: string = 'TransferdError'
  /** Whether the request may have had an effect. To find out, send it again unchanged: for creates, with the same referenceId. */
  readonly isOutcomeUnknown: boolean = false
}

/** The service did not respond in time, or the connection failed. */
export class NoResponseError extends TransferdError {
  override readonly isOutcomeUnknown = true
  override readonly name = 'NoResponseError'
}

/** The service responded with a failure. */
export class ApiError extends TransferdError {
  override readonly name = 'ApiError'
  override readonly isOutcomeUnknown: boolean

  constructor(
    message: string,
    /** The HTTP status. */
    readonly status: number,
    /** One of ErrorCode, or null if something other than the service responded. */
    readonly code: number | null,
    readonly details: string | null,
    readonly validationErrors: readonly ValidationError[],
    /** The X-Request-Id, which the operator can find in the logs. */
    readonly requestId: string | null,
    /** The time after which the request can succeed. */
    readonly retryAfterSeconds: number | null,
  ) {
    super(message)
    // An unreadable success may have had its effect, and so may a redirected request.
    this.isOutcomeUnknown = status < 400 || status >= 500
  }
}

export type RejectionReason =
  | 'missing-signature'
  | 'old-timestamp'
  | 'future-timestamp'
  | 'changed-body'
  | 'wrong-signature'
  | 'wrong-hash-code'

const rejections: { readonly [reason in RejectionReason]: string } = {
  'missing-signature': 'A webhook-… header or x-transfer-revision is missing. Pass all headers of the request.',
  'old-timestamp': 'The callback was sent too long ago.',
  'future-timestamp': 'The time of the callback is in the future. Check the clock of this machine.',
  'changed-body':
    'Neither the signature nor the HashCode matches the body. Verify the body as it was received, before it is parsed. Otherwise both secrets are those of a different merchant.',
  'wrong-signature':
    'The signature does not match. The webhook secret is a different one, or the callback was changed.',
  'wrong-hash-code': 'The signature is right, but the HashCode is not. The SecretKey is a different one.',
}

/** A request that is not a callback of the service. Respond with 400. */
export class CallbackRejected extends Error {
  override readonly name = 'CallbackRejected'

  constructor(readonly reason: RejectionReason) {
    super(rejections[reason])
  }
}

export interface VerifyOptions {
  /** The webhook secret (`whsec_…`), or several during a rotation. */
  readonly webhookSecret: string | readonly string[]
  /** The SecretKey, or several during a rotation. */
  readonly secretKey: string | readonly string[]
  /** Returns whether the program has already handled the callback with this webhook-id. It is called for genuine callbacks only. */
  readonly isHandled?: ((webhookId: string) => boolean | Promise<boolean>) | undefined
  /** The largest difference between the callback's time and this clock. Defaults to 300 seconds. */
  readonly toleranceSeconds?: number | undefined
  /** Defaults to the current time. */
  readonly nowSeconds?: number | undefined
}

export interface ReceivedCallback {
  readonly callback: Callback
  /** The same for every attempt of a callback. */
  readonly webhookId: string
  /** It increases with every change of the transfer. */
  readonly revision: number
  /** Whether it is a test event, which is about no transfer. */
  readonly isTest: boolean
  /** Whether it was handled before. Respond with 2xx and do nothing. */
  readonly isRepeated: boolean
}

type GivenHeaders =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined }

/**
 * Verifies a callback. Respond with 2xx first, and do your work afterwards.
 * @param body the body as it was received, before it is parsed
 * @throws CallbackRejected if it is not genuine
 */
export async function verifyCallback(
  body: string | Uint8Array,
  headers: GivenHeaders,
  { webhookSecret, secretKey, isHandled, toleranceSeconds = 300, nowSeconds = Date.now() / 1_000 }: VerifyOptions,
): Promise<ReceivedCallback> {
  // A view, because the Uint8Array of a test environment can be a different class.
  if (typeof body !== 'string' && !ArrayBuffer.isView(body))
    throw new TypeError('body must be the text or the bytes as received, before they are parsed')
  const secretKeys = allOf('secretKey', secretKey)
  const keys = allOf('webhookSecret', webhookSecret).map(keyOf)
  const webhookId = header(headers, 'webhook-id')
  const timestamp = header(headers, 'webhook-timestamp')
  const signature = header(headers, 'webhook-signature')
  if (!webhookId || !timestamp || !signature) throw new CallbackRejected('missing-signature')
  if (!wholeNumber.test(timestamp)) throw new CallbackRejected('wrong-signature')
  const ageSeconds = nowSeconds - Number(timestamp)
  // Every comparison with NaN is false, and a tolerance that is not a number must not accept every time.
  if (!(Math.abs(ageSeconds) <= toleranceSeconds))
    throw new CallbackRejected(ageSeconds < 0 ? 'future-timestamp' : 'old-timestamp')

  const content = joined(utf8(`${webhookId}.${timestamp}.`), typeof body === 'string' ? utf8(body) : body)
  const expected = await Promise.all(keys.map(async (key) => `v1,${base64(await hmac(key, content))}`))
  const isSigned = signature.split(' ').some((given) => expected.some((each) => isEqual(each, given)))
  const isHashed = matchesHashCode(body, secretKeys)
  if (!isSigned) throw new CallbackRejected(isHashed ? 'wrong-signature' : 'changed-body')
  if (!isHashed) throw new CallbackRejected('wrong-hash-code')
  const revision = header(headers, 'x-transfer-revision') ?? ''
  if (!wholeNumber.test(revision)) throw new CallbackRejected('missing-signature')
  const callback = parsed(body) as Callback | undefined
  if (callback === undefined) throw new TypeError('the callback has an amount with an unknown format')
  return {
    callback,
    webhookId,
    revision: Number(revision),
    isTest: header(headers, 'x-transfer-test') === 'true',
    isRepeated: (await isHandled?.(webhookId)) === true,
  }
}

const wholeNumber = /^\d{1,15}$/

/** The hash covers the text of the amount: `100.5` and `100.50` are the same number. */
function matchesHashCode(body: string | Uint8Array, secretKeys: readonly string[]): boolean {
  const { Amount, RefereneceId, HashCode } = Object(parsed(body, (number) => number))
  if (![Amount, RefereneceId, HashCode].every((each) => typeof each === 'string')) return false
  return secretKeys.some((key) => isEqual(hashCode(key, Amount, RefereneceId), HashCode.toUpperCase()))
}

/** @throws TypeError if one is missing, because everyone could sign with an empty secret */
function allOf(name: string, secrets: string | readonly string[]): readonly string[] {
  const all = [secrets].flat()
  if (all.length === 0 || !all.every((each) => typeof each === 'string' && each !== ''))
    throw new TypeError(`${name} is missing`)
  return all
}

/** @throws TypeError if it is not a webhook secret */
function keyOf(webhookSecret: string): Uint8Array<ArrayBuffer> {
  const [, text = ''] =
    /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(webhookSecret) ?? []
  if (text === '') throw new TypeError('a webhook secret is `whsec_` followed by base64')
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

/** Returns the hashCode of a create: the md5 of the SecretKey, the amount as it is written in the body, and the referenceId. */
export function hashCode(secretKey: string, amount: string, referenceId: string): string {
  return md5(utf8(`${secretKey}${amount}${referenceId}`)).toUpperCase()
}

/** Returns the `X-Signature` of a request. The client signs its own requests; this is for programs that send them in another way. */
export async function signRequest(
  secretKey: string,
  body: string,
  { method = 'POST', path = '', timestampSeconds = Math.floor(Date.now() / 1_000) } = {},
): Promise<string> {
  // Below /v1, the path names what the request changes.
  const target = path.startsWith('/v1/') ? `${method} ${path}.` : ''
  return `t=${timestampSeconds},v1=${hex(await hmac(utf8(secretKey), utf8(`${timestampSeconds}.${target}${body}`)))}`
}

const decimal = /^(0|[1-9]\d*)(?:\.(\d{1,2}))?$/

/** Returns the minor units of an amount: `10050n` for `100.50`. @throws TypeError if it is not an amount with at most two decimals */
export function toMinorUnits(amount: string): bigint {
  const [, whole, decimals = ''] = (typeof amount === 'string' && decimal.exec(amount)) || []
  if (whole === undefined) throw new TypeError(`not an amount: ${amount}`)
  return BigInt(whole + decimals.padEnd(2, '0'))
}

/** Returns the amount of minor units: `100.50` for `10050n`. @throws RangeError if they are negative, TypeError if they are a number */
export function fromMinorUnits(minorUnits: bigint): string {
  if (typeof minorUnits !== 'bigint') throw new TypeError(`minor units are a bigint, not a ${typeof minorUnits}`)
  if (minorUnits < 0n) throw new RangeError('an amount is not negative')
  const digits = minorUnits.toString().padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** @throws TypeError if it is not the text of an amount. A number is not exact, and its text depends on how it was computed. */
function amountText(name: string, amount: unknown): string {
  if (typeof amount === 'string' && decimal.test(amount) && /[1-9]/.test(amount)) return amount
  const given = typeof amount === 'string' ? `'${amount}'` : `a ${typeof amount}`
  throw new TypeError(`${name} must be a text with at most two decimals, such as '100.50', not ${given}`)
}

function jsonOf(fields: object): string {
  const members = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined) return []
    const isAmount = amountFields.has(name) && value !== null
    return [`${JSON.stringify(name)}:${isAmount ? amountText(name, value) : JSON.stringify(value)}`]
  })
  return `{${members.join(',')}}`
}

/** In valid JSON, a name between two quotes is a whole text unless the first quote is escaped, and then the colon makes it a field. */
const amountNumbers = new RegExp(`(?<!\\\\)"(${[...amountFields].join('|')})"\\s*:\\s*(-?\\d[^\\s,}\\]]*)`, 'g')
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns parsed JSON whose amounts are texts, or undefined if it is invalid. `JSON.parse` alone would round them. */
function parsed(body: string | Uint8Array, textOf = withTwoDecimals): unknown {
  try {
    const text = typeof body === 'string' ? body : strictUtf8.decode(body)
    JSON.parse(text)
    return JSON.parse(text.replace(amountNumbers, (_, name, number) => `"${name}":"${textOf(number)}"`))
  } catch {
    return undefined
  }
}

/** @throws SyntaxError if it is not an amount, because a rounded or a negative one must not pass for it */
function withTwoDecimals(number: string): string {
  const [, whole, decimals = ''] = decimal.exec(number) ?? []
  if (whole === undefined) throw new SyntaxError('not an amount')
  return `${whole}.${decimals.padEnd(2, '0')}`
}

/** Returns the result of a successful response, or undefined if the response is not one of the service. */
function resultOf({ isEnvelope, isNullable = false, required }: ApiRequest, json: unknown): unknown {
  const result = isEnvelope ? Object(json).result : json
  if (result === null) return isNullable ? null : undefined
  const isText = typeof result === 'string'
  const isComplete = required.every((name) => (Object(result)[name] ?? null) !== null)
  return isComplete && isText === (required.length === 0) ? result : undefined
}

interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

async function* itemsOf<Item>(
  list: (cursor: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, void> {
  let cursor: string | undefined
  do {
    const { items, nextCursor }: Page<Item> = await list(cursor)
    yield* items
    cursor = nextCursor === null ? undefined : advanced(cursor, nextCursor)
  } while (cursor !== undefined)
}

/** Returns the next position. @throws TransferdError if it is the same, for example because a cache responds: the loop would never end */
function advanced(position: string | undefined, next: string | null): string {
  if (next === null || next === position) throw new TransferdError('the service returned the same page again')
  return next
}

/** @throws TypeError if requests cannot be sent to it */
function checkedBaseUrl(baseUrl: string): string {
  const url = /^https?:\/\/./i.test(baseUrl) && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!url || url.username || url.password || /[?#]/.test(baseUrl))
    throw new TypeError('baseUrl must be an http or https URL without a user name, a query and a fragment')
  return baseUrl.replace(/\/+$/, '')
}

/** Returns the time before the next attempt, or false if there should be none. */
function waitMsAfter(error: unknown, repeats: number): number | false {
  if (!(error instanceof TransferdError)) return false
  const { firstMs, longestMs, longestRetryAfterSeconds } = backOff
  if (error instanceof ApiError) {
    if (!mayPass.has(error.status)) return false
    const { retryAfterSeconds } = error
    if (retryAfterSeconds !== null) return retryAfterSeconds <= longestRetryAfterSeconds && retryAfterSeconds * 1_000
  }
  return Math.min(longestMs, firstMs * 2 ** repeats) * (0.5 + Math.random() / 2)
}

interface EnvelopeError {
  readonly code: number
  readonly message: string
  readonly details?: string | null
  readonly validationErrors?: readonly ValidationError[] | null
}

function isEnvelopeError(error: Partial<EnvelopeError> | null | undefined): error is EnvelopeError {
  const { code, message, validationErrors } = error ?? {}
  const invalid: unknown = validationErrors ?? []
  const areTexts = Array.isArray(invalid) && invalid.every((each) => typeof each?.message === 'string')
  return typeof code === 'number' && typeof message === 'string' && areTexts
}

function apiError(response: Response, json: unknown): ApiError {
  const { status, headers } = response
  const { error } = Object(json)
  const { code, message, details, validationErrors } = isEnvelopeError(error)
    ? error
    : { code: null, message: `the response is not one of the service.${redirectOf(response)}` }
  const requestId = headers.get('x-request-id')
  const texts = [message, details, ...(validationErrors ?? []).map((each) => each.message)].filter(Boolean)
  const kind = code === null ? `HTTP ${status}` : `${code} (HTTP ${status})`
  return new ApiError(
    `${kind}: ${texts.join(' ')}${requestId ? ` [X-Request-Id ${requestId}]` : ''}`,
    status,
    code,
    details ?? null,
    validationErrors ?? [],
    requestId,
    retryAfterSecondsOf(headers),
  )
}

function redirectOf({ status, headers }: Response): string {
  const location = status >= 300 && status < 400 && headers.get('location')
  return location ? ` It redirects to ${location}, which is not followed, to keep the keys safe.` : ''
}

/** Returns the reason of a failed fetch. In Node it is the cause of the error. */
function reasonOf(error: unknown): string {
  const { cause, message } = Object(error)
  return String(cause?.message || cause?.code || message)
}

/** The header has seconds or a date. */
function retryAfterSecondsOf(headers: Headers): number | null {
  const value = headers.get('retry-after') ?? ''
  if (/^\d+$/.test(value)) return Number(value)
  // Date.parse reads almost anything, such as `-1`, as a date.
  const seconds = /^\w+, .* GMT$/.test(value) ? (Date.parse(value) - Date.now()) / 1_000 : Number.NaN
  return Number.isNaN(seconds) ? null : Math.max(0, seconds)
}

function header(headers: GivenHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined
  const [, value] = Object.entries(headers).find(([each]) => each.toLowerCase() === name) ?? []
  return [value as string | readonly string[] | undefined].flat()[0]
}

const encoder = new TextEncoder()
const utf8 = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text)
const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

function joined(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(a.length + b.length)
  bytes.set(a)
  bytes.set(b, a.length)
  return bytes
}

const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes))

async function hmac(key: Uint8Array<ArrayBuffer>, content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, content))
}

/** Compares in a time that does not depend on the position of a difference. */
function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < a.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  return difference === 0
}

/** The rotations of MD5, four per round. */
const rotations = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const
const sines = Array.from({ length: 64 }, (_, index) => Math.floor(2 ** 32 * Math.abs(Math.sin(index + 1))))

/** Returns the MD5 (RFC 1321), which the specification requires and Web Crypto does not have. */
function md5(message: Uint8Array): string {
  const padded = new Uint8Array(((message.length + 72) >> 6) << 6)
  padded.set(message)
  padded[message.length] = 0x80
  const words = new DataView(padded.buffer)
  words.setBigUint64(padded.length - 8, BigInt(message.length) * 8n, true)
  let state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476] as [number, number, number, number]
  for (let block = 0; block < padded.length; block += 64) {
    let [a, b, c, d] = state
    for (let step = 0; step < 64; step++) {
      const round = step >> 4
      const [mixed, word] = mix(round, step, b, c, d)
      const sum = (a + mixed + sines[step]! + words.getUint32(block + 4 * (word % 16), true)) >>> 0
      const rotation = rotations[round]![step % 4]!
      ;[a, d, c, b] = [d, c, b, (b + ((sum << rotation) | (sum >>> (32 - rotation)))) >>> 0]
    }
    state = [state[0] + a, state[1] + b, state[2] + c, state[3] + d]
  }
  const result = new DataView(new ArrayBuffer(16))
  state.forEach((word, index) => {
    result.setUint32(4 * index, word >>> 0, true)
  })
  return hex(new Uint8Array(result.buffer))
}

/** Returns the mixed bits and the index of the word of a step, in one of four rounds. */
function mix(round: number, step: number, b: number, c: number, d: number): readonly [number, number] {
  if (round === 0) return [(b & c) | (~b & d), step]
  if (round === 1) return [(d & b) | (~d & c), 5 * step + 1]
  if (round === 2) return [b ^ c ^ d, 3 * step + 5]
  return [c ^ (b | ~d), 7 * step]
}
