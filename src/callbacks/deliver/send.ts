import type { IncomingHttpHeaders } from 'node:http'
import { isIPv6, type LookupFunction } from 'node:net'
import type { Dispatcher, Pool } from 'undici'
import { AddressRefusedError, checkedAddresses, type ResolveHost } from './address-guard.js'

const maxAnswerBytes = 65_536
/** The status has come; reading on only saves the connection. */
const maxAnswerReadMs = 1_000
const maxAnswerHeaderBytes = 16_384

export interface CallbackRequest {
  readonly url: string
  readonly sandbox: boolean
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

/** What became of one request. */
export interface Answer {
  /** Null when none came. */
  readonly httpStatus: number | null
  /** Why it is no delivery, as a short code without anything of the answer; null when it is one. */
  readonly failure: string | null
  /** The header of a 429 or 503. */
  readonly retryAfter?: string
  readonly durationMs: number
}

/**
 * One request and what is read of its answer, straight from the client's dispatcher: no stream, controller and promise for each of its
 * parts, which cost as much as the request.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly answer: Promise<Answer>
  readonly #startedMs = performance.now()
  readonly #signal: AbortSignal
  readonly #onAbort = () => this.#cutOff()
  #timer: NodeJS.Timeout
  #timedOut = false
  #controller: Dispatcher.DispatchController | undefined
  #head: Omit<Answer, 'durationMs'> | undefined
  #bytes = 0
  #ended = false
  #resolve: (answer: Answer) => void = () => undefined
  #reject: (reason: unknown) => void = () => undefined

  constructor(timeoutMs: number, signal: AbortSignal) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#signal = signal
    this.#timer = setTimeout(() => {
      this.#timedOut = true
      this.#cutOff()
    }, timeoutMs)
    signal.addEventListener('abort', this.#onAbort)
    if (signal.aborted) this.#cutOff()
  }

  get hasEnded(): boolean {
    return this.#ended
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#ended) controller.abort(new CutOffError())
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // 1xx: the answer is still to come.
    if (status < 200) return
    if (status < 300) this.#head = { httpStatus: status, failure: null }
    else {
      const retryAfter = status === 429 || status === 503 ? headers['retry-after'] : undefined
      const failure = `http ${status}`
      this.#head = { httpStatus: status, failure, ...(typeof retryAfter === 'string' && { retryAfter }) }
    }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onAbort, maxAnswerReadMs)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > maxAnswerBytes) this.#cutOff()
  }

  onResponseEnd(): void {
    this.#end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.failed(error)
  }

  failed(error: unknown): void {
    this.#end(error)
  }

  /** The connection with it: what it may still send is nobody's. */
  #cutOff(): void {
    this.#end(new CutOffError())
    this.#controller?.abort(new CutOffError())
  }

  #end(error?: unknown): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#onAbort)
    const durationMs = Math.round(performance.now() - this.#startedMs)
    // The status counts, whatever became of the rest.
    if (this.#head) this.#resolve({ ...this.#head, durationMs })
    else if (this.#signal.aborted) this.#reject(this.#signal.reason)
    else if (isMistake(error)) this.#reject(error)
    else {
      const failure = this.#timedOut ? 'timeout' : failureCode(error)
      this.#resolve({ httpStatus: null, failure, durationMs })
    }
  }
}

class CutOffError extends Error {
  override readonly name = 'CutOffError'
}

interface Target {
  readonly url: string
  readonly sandbox: boolean
  readonly addresses: readonly string[]
  readonly origin: string
  readonly path: string
}

/** The connections to one merchant's endpoint, bound to the addresses that were checked. */
export class EndpointConnection {
  #undici: typeof import('undici') | undefined
  #pool: { readonly key: string; readonly pool: Pool } | undefined
  /** The last target, where no name server was asked: checked again it would be the same. */
  #unresolved: Target | undefined

  constructor(
    private readonly options: {
      readonly resolve: ResolveHost
      /** For everything: resolving, connecting, TLS and the answer's head. */
      readonly timeoutMs: number
      readonly maxConnections: number
    },
  ) {}

  /** @throws the signal's reason when it aborts: nothing is known then; and mistakes of the program. Every other failure is an answer. */
  async send(request: CallbackRequest, signal: AbortSignal): Promise<Answer> {
    const exchange = new Exchange(this.options.timeoutMs, signal)
    this.#begin(exchange, request).catch((error) => exchange.failed(error))
    return await exchange.answer
  }

  async close(): Promise<void> {
    await this.#pool?.pool.destroy()
  }

  async #begin(exchange: Exchange, { url, sandbox, headers, body }: CallbackRequest): Promise<void> {
    // By an endpoint's first callback: a megabyte of source that a service without any need not read.
    this.#undici ??= await import('undici')
    const { origin, path, addresses } = await this.#target(url, sandbox)
    // Name servers take no signal.
    if (!exchange.hasEnded) this.#poolOf(origin, addresses).dispatch({ method: 'POST', path, headers, body }, exchange)
  }

  async #target(url: string, sandbox: boolean): Promise<Target> {
    const known = this.#unresolved
    if (known?.url === url && known.sandbox === sandbox) return known
    let isResolved = false
    const addresses = await checkedAddresses(url, sandbox, (hostname) => {
      isResolved = true
      return this.options.resolve(hostname)
    })
    const { origin, pathname, search } = new URL(url)
    const target = { url, sandbox, addresses, origin, path: `${pathname}${search}` }
    this.#unresolved = isResolved ? undefined : target
    return target
  }

  /** Connections are kept while the name leads to the same addresses, so that none outlives the check it passed. */
  #poolOf(origin: string, addresses: readonly string[]): Pool {
    const key = addresses.length === 1 ? `${origin} ${addresses[0]}` : `${origin} ${[...addresses].sort().join(' ')}`
    if (this.#pool?.key === key) return this.#pool.pool
    // Lets what is in flight end.
    this.#pool?.pool.close().catch(() => undefined)
    const { timeoutMs, maxConnections } = this.options
    const pool = new this.#undici!.Pool(origin, {
      connections: maxConnections,
      maxHeaderSize: maxAnswerHeaderBytes,
      // Ours ends before theirs: a request on a connection that the endpoint is closing would be a failed attempt.
      keepAliveTimeout: 2_000,
      // An exchange has its own end.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { lookup: pinned(addresses), timeout: timeoutMs },
    })
    this.#pool = { key, pool }
    return pool
  }
}

function pinned(addresses: readonly string[]): LookupFunction {
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
  [/^(UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES)/, 'bad answer'],
]

/** A short code and never the message, which may quote the answer. */
/** Not the endpoint's doing, so no attempt: what the network, undici and URLs throw has a code. */
function isMistake(error: unknown): boolean {
  return (error instanceof TypeError || error instanceof ReferenceError) && codeOf(error) === ''
}

function failureCode(error: unknown): string {
  if (error instanceof AddressRefusedError) return 'address refused'
  // Has a code now and then only.
  if (error instanceof Error && error.name === 'HTTPParserError') return 'bad answer'
  const code = codeOf(error)
  return failureCodes.find(([pattern]) => pattern.test(code))?.[1] ?? 'connection failed'
}

/** Of the error, of its cause, or of the last address that was tried. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown }
  if (typeof code === 'string') return code
  if (error instanceof AggregateError) return codeOf(error.errors.at(-1))
  return cause === undefined ? '' : codeOf(cause)
}
