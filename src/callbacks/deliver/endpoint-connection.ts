import { Resolver } from 'node:dns/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { isIPv6, type LookupFunction } from 'node:net'
import type { Dispatcher, Pool } from 'undici'
import {
  AddressRefusedError,
  type CallbackNetworks,
  type ResolveHost,
} from '../../commands/merchant/callback-networks.js'
import { escapeHidden } from '../../kernel/text.js'

/**
 * Creates a resolver that queries the name servers directly. `dns.lookup` uses libuv's four threads, so four slow names would delay every
 * merchant's callbacks and all file access. The hosts file is not read, because its names are private. Concurrent attempts share a query.
 */
export function createHostResolver(): ResolveHost {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  const pending = new Map<string, Promise<readonly string[]>>()
  return (hostname) => {
    let addresses = pending.get(hostname)
    if (!addresses) {
      addresses = addressesOf(resolver, hostname).finally(() => pending.delete(hostname))
      pending.set(hostname, addresses)
    }
    return addresses
  }
}

async function addressesOf(resolver: Resolver, hostname: string): Promise<readonly string[]> {
  const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (addresses.length > 0) return addresses
  throw (results[0] as PromiseRejectedResult).reason
}

const maxResponseBytes = 65_536
/** The status is known by then. Reading the body only keeps the connection usable. */
const maxBodyMs = 1_000
const maxHeaderBytes = 16_384
const maxExcerptBytes = 1_000

export interface CallbackRequest {
  readonly url: string
  readonly sandbox: boolean
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

export interface EndpointResponse {
  /** The HTTP status, or null without a response. */
  readonly httpStatus: number | null
  /** A short code for the failure, without any part of the response. Null if the callback was delivered. */
  readonly failure: string | null
  /** The start of the body of a failed response, for users. */
  readonly excerpt?: string
  /** The `Retry-After` header of a 429 or 503. */
  readonly retryAfter?: string
  /** The `Location` header of a redirect, for users: a visible text of at most 1,000 characters. */
  readonly redirectsTo?: string
  readonly durationMs: number
}

/**
 * One request and the part of its response that is read, as a handler of undici's dispatcher. `undici.request` creates streams,
 * controllers and promises that cost as much as the request.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #startedMs = performance.now()
  readonly #onAbort = () => this.#cutOff()
  #timer: NodeJS.Timeout
  #hasTimedOut = false
  #controller: Dispatcher.DispatchController | undefined
  #head: Omit<EndpointResponse, 'durationMs'> | undefined
  #bytes = 0
  readonly #excerpt: Buffer[] = []
  hasEnded = false

  constructor(
    timeoutMs: number,
    private readonly signal: AbortSignal,
    private readonly resolve: (response: EndpointResponse) => void,
    private readonly reject: (reason: unknown) => void,
  ) {
    this.#timer = setTimeout(() => {
      this.#hasTimedOut = true
      this.#cutOff()
    }, timeoutMs)
    signal.addEventListener('abort', this.#onAbort)
    if (signal.aborted) this.#cutOff()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.hasEnded) controller.abort(new Error('cut off'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // An informational response (1xx) precedes the final one.
    if (status < 200) return
    const failure = status < 300 ? null : `http ${status}`
    const retryAfter = status === 429 || status === 503 ? headers['retry-after'] : undefined
    const { location } = headers
    this.#head = {
      httpStatus: status,
      failure,
      ...(typeof retryAfter === 'string' && { retryAfter }),
      ...(status >= 300 && status < 400 && typeof location === 'string' && { redirectsTo: shown(location) }),
    }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onAbort, maxBodyMs)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#head?.failure && this.#bytes < maxExcerptBytes)
      this.#excerpt.push(Buffer.from(chunk.subarray(0, maxExcerptBytes - this.#bytes)))
    this.#bytes += chunk.length
    if (this.#bytes > maxResponseBytes) this.#cutOff()
  }

  onResponseEnd(): void {
    this.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.end(error)
  }

  /** Closes the connection too, because the rest of the response must not become part of the next one. */
  #cutOff(): void {
    const error = new Error('cut off')
    this.end(error)
    this.#controller?.abort(error)
  }

  end(error?: unknown): void {
    if (this.hasEnded) return
    this.hasEnded = true
    clearTimeout(this.#timer)
    this.signal.removeEventListener('abort', this.#onAbort)
    const durationMs = Math.round(performance.now() - this.#startedMs)
    // A known status counts, even if the rest of the response failed.
    const excerpt = this.#excerpt.length > 0 && { excerpt: Buffer.concat(this.#excerpt).toString() }
    if (this.#head) this.resolve({ ...this.#head, ...excerpt, durationMs })
    else if (this.signal.aborted) this.reject(this.signal.reason)
    else if (isBug(error)) this.reject(error)
    else this.resolve({ httpStatus: null, failure: this.#hasTimedOut ? 'timeout' : failureCode(error), durationMs })
  }
}

function shown(location: string): string {
  return escapeHidden(location).slice(0, maxExcerptBytes)
}

type Target = Pick<CallbackRequest, 'url' | 'sandbox'> & {
  /** The addresses were checked when loopback was allowed. */
  readonly isLoopbackAllowed: boolean
  readonly addresses: readonly string[]
  readonly origin: string
  readonly path: string
}

/** The connections to one merchant's endpoint, pinned to checked addresses. */
export class EndpointConnection {
  #undici: typeof import('undici') | undefined
  #pool: { readonly key: string; readonly pool: Pool } | undefined
  /** The last target that needed no name server. Checking it again gives the same result. */
  #literalTarget: Target | undefined

  constructor(
    private readonly options: {
      readonly resolve: ResolveHost
      readonly networks: CallbackNetworks
      /** The time limit for resolving, connecting, TLS and the response's head together. */
      readonly timeoutMs: number
      readonly maxConnections: number
    },
  ) {}

  /** Sends a request. A failure is a response too. @throws the reason of an aborted signal (the outcome is then unknown), and errors that are bugs */
  send(request: CallbackRequest, signal: AbortSignal): Promise<EndpointResponse> {
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(this.options.timeoutMs, signal, resolve, reject)
      this.#start(exchange, request).catch((error) => exchange.end(error))
    })
  }

  async close(): Promise<void> {
    await this.#pool?.pool.destroy()
  }

  async #start(exchange: Exchange, { url, sandbox, headers, body }: CallbackRequest): Promise<void> {
    // Loaded with the first callback: a service without callbacks does not need to read a megabyte of source.
    this.#undici ??= await import('undici')
    const { origin, path, addresses } = await this.#target(url, sandbox)
    // Name resolution cannot be aborted, so the exchange may have ended.
    if (!exchange.hasEnded) this.#poolOf(origin, addresses).dispatch({ method: 'POST', path, headers, body }, exchange)
  }

  async #target(url: string, sandbox: boolean): Promise<Target> {
    const { networks } = this.options
    const isLoopbackAllowed = networks.allowsLoopback(sandbox)
    const known = this.#literalTarget
    if (known?.url === url && known.sandbox === sandbox && known.isLoopbackAllowed === isLoopbackAllowed) return known
    let isResolved = false
    const addresses = await networks.checkedAddresses(url, sandbox, (hostname) => {
      isResolved = true
      return this.options.resolve(hostname)
    })
    const target = { url, sandbox, isLoopbackAllowed, addresses, origin: new URL(url).origin, path: requestTarget(url) }
    this.#literalTarget = isResolved ? undefined : target
    return target
  }

  /** Returns the pool for these addresses. A pool is replaced when the addresses change, so that no connection outlives its check. */
  #poolOf(origin: string, addresses: readonly string[]): Pool {
    const key = `${origin} ${[...addresses].sort().join(' ')}`
    if (this.#pool?.key === key) return this.#pool.pool
    // Requests in flight still end.
    this.#pool?.pool.close().catch(() => undefined)
    const { timeoutMs, maxConnections } = this.options
    const pool = new this.#undici!.Pool(origin, {
      connections: maxConnections,
      maxHeaderSize: maxHeaderBytes,
      // Shorter than most servers' own limit: a request on a connection that the endpoint is closing would be a failed attempt.
      keepAliveTimeout: 2_000,
      // The exchange has its own time limits.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { lookup: pinnedLookup(addresses), timeout: timeoutMs },
    })
    this.#pool = { key, pool }
    return pool
  }
}

/**
 * Returns the path and the query as the merchant has written them. `URL` rewrites some characters and `/../`, which breaks a signature over
 * the URL. Characters that a request cannot contain are percent-encoded.
 */
function requestTarget(url: string): string {
  const [, written] = /^https?:\/\/[^/?#\\]+([/?][^#]*)/i.exec(url) ?? []
  const { pathname, search } = new URL(url)
  if (written === undefined) return `${pathname}${search}`
  return `${written.startsWith('?') ? '/' : ''}${written}`.replaceAll(/[^\x21-\x7e]|["<>]/gu, encodeURIComponent)
}

function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_hostname, options, callback) => {
    if (options.all) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}

const failureCodes: readonly (readonly [RegExp, string])[] = [
  [/^(ECONNREFUSED)$/, 'connection refused'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'connection reset'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|UND_ERR_HEADERS_TIMEOUT|UND_ERR_BODY_TIMEOUT)$/, 'timeout'],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'unreachable'],
  [/^(ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|ETIMEOUT|EAI_\w+|EBADNAME|EBADRESP|ECANCELLED)$/, 'name not resolved'],
  [/^(ERR_TLS_|ERR_SSL_|EPROTO|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_OSSL_)/, 'tls'],
  [/^(UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES)/, 'invalid response'],
]

/** Whether the error is not the endpoint's, so that it does not count as an attempt. Errors of the network, undici and URLs have a code. */
function isBug(error: unknown): boolean {
  return (error instanceof TypeError || error instanceof ReferenceError) && codeOf(error) === ''
}

/** Returns a short code and never the error's message, which may quote the response. */
function failureCode(error: unknown): string {
  if (error instanceof AddressRefusedError) return 'address refused'
  // undici sets its code in some cases only.
  if (error instanceof Error && error.name === 'HTTPParserError') return 'invalid response'
  const code = codeOf(error)
  return failureCodes.find(([pattern]) => pattern.test(code))?.[1] ?? 'connection failed'
}

/** Returns the code of the error, of its cause, or of the last address that was tried. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown }
  if (typeof code === 'string') return code
  if (error instanceof AggregateError) return codeOf(error.errors.at(-1))
  return cause === undefined ? '' : codeOf(cause)
}
