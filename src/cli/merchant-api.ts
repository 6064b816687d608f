import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Refused, UsageError } from './failures.js'

/** How a command reaches the API of a merchant. The secrets are undefined if they were not named. */
export interface Access {
  /** Without a slash at its end. */
  readonly url: string
  readonly apiKey: string
  readonly secretKey: string | undefined
  readonly webhookSecret: string | undefined
}

type Named = { readonly [name in keyof Access]?: string | undefined }

/**
 * Returns the access that the options or the environment name, or that of the sandbox in this directory. Its key and secrets are never
 * combined with another service or key. @throws Refused if there is no key, UsageError that contains no value, because values can be secrets
 */
export async function accessOf(options: Named, environment = process.env): Promise<Access> {
  // An empty variable counts as unset.
  const named: Named = {
    url: options.url ?? (environment.TRANSFERD_URL || undefined),
    apiKey: options.apiKey ?? (environment.TRANSFERD_API_KEY || undefined),
    secretKey: options.secretKey ?? (environment.TRANSFERD_SECRET_KEY || undefined),
    webhookSecret: options.webhookSecret ?? (environment.TRANSFERD_WEBHOOK_SECRET || undefined),
  }
  if (named.apiKey !== undefined && named.url === undefined)
    throw new UsageError('name the service: --url or TRANSFERD_URL')
  if (named.apiKey === undefined && named.url !== undefined)
    throw new UsageError('name the key of this service: --api-key or TRANSFERD_API_KEY')
  const { url, apiKey, secretKey, webhookSecret } =
    named.apiKey === undefined ? { ...(await sandboxHere()), ...given(named) } : named
  // The error of `fetch` would contain the key.
  if (!/^[\x21-\x7e]+$/.test(apiKey!)) throw new UsageError('the WebApiKey is empty or contains invalid characters')
  return { url: baseUrlOf(url!), apiKey: apiKey!, secretKey, webhookSecret }
}

/** Returns a base URL without a slash at its end. @throws UsageError */
export function baseUrlOf(text: string): string {
  requireRequestable(text, 'the base URL')
  const { search, hash } = new URL(text)
  if (search || hash) throw new UsageError('the base URL must not contain a query or a fragment')
  return text.replace(/\/+$/, '')
}

/** @throws UsageError if `fetch` rejects the URL. The error does not contain the URL, because it can contain a password. */
export function requireRequestable(text: string, name: string): void {
  if (!/^https?:\/\/./i.test(text) || !URL.canParse(text)) throw new UsageError(`${name} must be an http or https URL`)
  const { username, password } = new URL(text)
  if (username || password) throw new UsageError(`${name} must not contain a user name or a password`)
}

function given(named: Named): Named {
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
}

/** Returns the access to the sandbox whose service has written its credentials into the data directory. */
async function sandboxHere(): Promise<Named> {
  const { readConfiguration } = await import('../operations/configuration/configuration.js')
  const { dataDirectory } = readConfiguration(process.env)
  const path = join(dataDirectory, 'sandbox.json')
  try {
    const { baseUrl, webApiKey, secretKey, webhookSecret } = JSON.parse(readFileSync(path, 'utf8'))
    return { url: baseUrl, apiKey: webApiKey, secretKey, webhookSecret }
  } catch {
    throw new Refused(
      'no-access',
      `there is no sandbox in ${dataDirectory}: run this in the directory of its service, or name a service and a key (--url and --api-key, or TRANSFERD_URL and TRANSFERD_API_KEY)`,
    )
  }
}

/** The time for which a command tries again while the service limits requests or is unavailable. */
const patienceMs = 30_000
const timeoutMs = 30_000

/** The merchant of a key. */
export interface KeysMerchant {
  readonly merchantId: string
  readonly name: string
  readonly sandbox: boolean
  readonly currency: string
}

/** Sends requests to the API with a merchant's key. Each method throws Refused if the service does not accept the request. */
export class MerchantApi {
  constructor(private readonly access: Access) {}

  get<Answer>(path: string): Promise<Answer> {
    return this.#send(path, { method: 'GET' })
  }

  /**
   * Sends `body` unchanged, because signatures and hashes cover its text. Signs it if the SecretKey is known, because a merchant can require
   * signatures. A repeat must be safe: it is sent again after a 429 or 503.
   */
  post<Answer>(path: string, body: string): Promise<Answer> {
    const { secretKey } = this.access
    const signature = secretKey !== undefined && { 'X-Signature': signatureOf(secretKey, path, body) }
    return this.#send(path, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...signature } })
  }

  /** Opens a stream that lasts until the signal aborts. */
  async open(path: string, headers: { readonly [name: string]: string }, signal: AbortSignal): Promise<Response> {
    const response = await this.#fetch(path, { headers, signal })
    if (!response.ok) throw await refusal(response)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) throw this.#unreachable(notTheService)
    return response
  }

  async #send<Answer>(path: string, init: RequestInit): Promise<Answer> {
    const deadline = performance.now() + patienceMs
    for (;;) {
      const response = await this.#fetch(path, { ...init, signal: AbortSignal.timeout(timeoutMs) })
      if (response.ok) return (await this.#read(response)) as Answer
      const waitMs = 1_000 * Number(response.headers.get('retry-after') ?? Number.NaN)
      const isBusy = response.status === 429 || response.status === 503
      if (!isBusy || !(performance.now() + waitMs < deadline)) throw await refusal(response)
      await delay(waitMs)
    }
  }

  async #read(response: Response): Promise<unknown> {
    try {
      return await response.json()
    } catch (error) {
      throw this.#unreachable(error instanceof SyntaxError ? notTheService : reasonOf(error))
    }
  }

  /** Follows no redirect, because the key is meant for the service only. */
  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const { url, apiKey } = this.access
    const headers = { ...init.headers, WebApiKey: apiKey }
    try {
      return await fetch(`${url}${path}`, { ...init, headers, redirect: 'manual' })
    } catch (error) {
      if (init.signal?.aborted && (init.signal.reason as Error).name !== 'TimeoutError') throw error
      throw this.#unreachable(reasonOf(error))
    }
  }

  #unreachable(reason: string): Refused {
    return new Refused('service-unreachable', `${this.access.url} does not respond: ${reason}`)
  }
}

const notTheService = 'something other than transferd answers there'

function signatureOf(secretKey: string, path: string, body: string): string {
  const atSeconds = Math.floor(Date.now() / 1_000)
  // Below /v1, the path names what the request changes.
  const target = path.startsWith('/v1/') ? `POST ${path}.` : ''
  return `t=${atSeconds},v1=${createHmac('sha256', secretKey).update(`${atSeconds}.${target}${body}`).digest('hex')}`
}

/** Returns the code of a failed connection, or its message. */
export function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message
}

async function refusal(response: Response): Promise<Refused> {
  const text = await response.text().catch(() => '')
  const { code, message, details, validationErrors } = errorIn(text)
  const fields = validationErrors?.map(({ message }) => message).join(' ')
  const location = response.headers.get('location')
  const reason = [message, details, fields, location !== null && `It redirects to ${location}`]
    .filter(Boolean)
    .join(' ')
  // A proxy responds with 502 or 504 while the service restarts.
  const isPassing = response.status === 429 || response.status >= 500
  return new Refused(
    isPassing ? 'service-busy' : 'request-rejected',
    `the service responded with ${code ?? response.status}${reason && `: ${reason}`}`,
  )
}

interface EnvelopeError {
  readonly code?: number
  readonly message?: string
  readonly details?: string | null
  readonly validationErrors?: readonly { readonly message: string }[] | null
}

/** Returns the error of a response, or nothing if something other than the service sent it. */
function errorIn(text: string): EnvelopeError {
  try {
    return ((JSON.parse(text) as { readonly error?: EnvelopeError | null }).error ?? {}) as EnvelopeError
  } catch {
    return {}
  }
}
