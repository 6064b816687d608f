import { isIPv6, type LookupFunction } from 'node:net'
import { type Dispatcher, errors, Pool } from 'undici'
import { AddressRefusedError, checkedAddresses, type ResolveHost } from './guard.js'

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

/** The connections to one merchant's endpoint, bound to the addresses that were checked. */
export class EndpointConnection {
  #pool: { readonly key: string; readonly pool: Pool } | undefined

  constructor(
    private readonly options: {
      readonly resolve: ResolveHost
      /** For everything: resolving, connecting, TLS and the answer's head. */
      readonly timeoutMs: number
      readonly maxConnections: number
    },
  ) {}

  /** @throws the signal's reason when it aborts: nothing is known then; every other failure is an answer */
  async send(request: CallbackRequest, signal: AbortSignal): Promise<Answer> {
    const startedMs = performance.now()
    const elapsedMs = () => Math.round(performance.now() - startedMs)
    // Not AbortSignal.any, which leaves something behind in a signal that lives as long as the worker.
    const ending = new AbortController()
    const onAbort = () => ending.abort()
    const timer = setTimeout(onAbort, this.options.timeoutMs)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    try {
      return { ...(await this.#exchange(request, ending.signal)), durationMs: elapsedMs() }
    } catch (error) {
      signal.throwIfAborted()
      // undici wraps or renames the reason now and then; the signal knows which it was.
      const failure = ending.signal.aborted ? 'timeout' : failureCode(error)
      return { httpStatus: null, failure, durationMs: elapsedMs() }
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
  }

  async close(): Promise<void> {
    await this.#pool?.pool.destroy()
  }

  async #exchange(request: CallbackRequest, signal: AbortSignal): Promise<Omit<Answer, 'durationMs'>> {
    const { url, sandbox, headers, body } = request
    const addresses = await unlessAborted(checkedAddresses(url, sandbox, this.options.resolve), signal)
    const { origin, pathname, search } = new URL(url)
    const response = await this.#poolOf(origin, addresses).request({
      method: 'POST',
      path: `${pathname}${search}`,
      headers,
      body,
      signal,
    })
    const { statusCode } = response
    await discard(response.body)
    if (statusCode >= 200 && statusCode < 300) return { httpStatus: statusCode, failure: null }
    const retryAfter = statusCode === 429 || statusCode === 503 ? response.headers['retry-after'] : undefined
    return {
      httpStatus: statusCode,
      failure: `http ${statusCode}`,
      ...(typeof retryAfter === 'string' && { retryAfter }),
    }
  }

  /** Connections are kept while the name leads to the same addresses, so that none outlives the check it passed. */
  #poolOf(origin: string, addresses: readonly string[]): Pool {
    const key = `${origin} ${[...addresses].sort().join(' ')}`
    if (this.#pool?.key === key) return this.#pool.pool
    // Lets what is in flight end.
    this.#pool?.pool.close().catch(() => undefined)
    const { timeoutMs, maxConnections } = this.options
    const pool = new Pool(origin, {
      connections: maxConnections,
      maxHeaderSize: maxAnswerHeaderBytes,
      // Ours ends before theirs: a request on a connection that the endpoint is closing would be a failed attempt.
      keepAliveTimeout: 2_000,
      connect: { lookup: pinned(addresses), timeout: timeoutMs },
    })
    this.#pool = { key, pool }
    return pool
  }
}

async function discard(body: Dispatcher.ResponseData['body']): Promise<void> {
  const timer = setTimeout(() => body.destroy(), maxAnswerReadMs)
  await body.dump({ limit: maxAnswerBytes }).catch(() => undefined)
  clearTimeout(timer)
}

function pinned(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_hostname, options, callback) => {
    if (options.all) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}

/** Name servers take no signal. */
function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
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
function failureCode(error: unknown): string {
  if (error instanceof AddressRefusedError) return 'address refused'
  // Has a code now and then only.
  if (error instanceof errors.HTTPParserError) return 'bad answer'
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
