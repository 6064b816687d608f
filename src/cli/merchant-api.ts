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
 * Returns the access that the options or the environment name, or that of the sandbox in this directory. Secrets of the sandbox are never
 * combined with another key. @throws Refused if there is no key
 */
export async function accessOf(options: Named, environment = process.env): Promise<Access> {
  const named: Named = {
    url: options.url ?? environment.TRANSFERD_URL,
    apiKey: options.apiKey ?? environment.TRANSFERD_API_KEY,
    secretKey: options.secretKey ?? environment.TRANSFERD_SECRET_KEY,
    webhookSecret: options.webhookSecret ?? environment.TRANSFERD_WEBHOOK_SECRET,
  }
  if (named.apiKey !== undefined && named.url === undefined)
    throw new UsageError('name the service: --url or TRANSFERD_URL')
  const { url, apiKey, secretKey, webhookSecret } =
    named.apiKey === undefined ? { ...(await sandboxHere()), ...given(named) } : named
  return { url: url!.replace(/\/+$/, ''), apiKey: apiKey!, secretKey, webhookSecret }
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

  /** Sends `body` unchanged, because signatures and hashes cover its text. A repeat must be safe: it is sent again after a 429 or 503. */
  post<Answer>(path: string, body: string, headers: { readonly [name: string]: string } = {}): Promise<Answer> {
    return this.#send(path, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } })
  }

  /** Opens a stream that lasts until the signal aborts. */
  async open(path: string, headers: { readonly [name: string]: string }, signal: AbortSignal): Promise<Response> {
    const response = await this.#fetch(path, { headers, signal })
    if (!response.ok) throw await refusal(response)
    return response
  }

  async #send<Answer>(path: string, init: RequestInit): Promise<Answer> {
    const deadline = performance.now() + patienceMs
    for (;;) {
      const response = await this.#fetch(path, { ...init, signal: AbortSignal.timeout(timeoutMs) })
      if (response.ok) return (await response.json()) as Answer
      const waitMs = 1_000 * Number(response.headers.get('retry-after') ?? Number.NaN)
      const isBusy = response.status === 429 || response.status === 503
      if (!isBusy || !(performance.now() + waitMs < deadline)) throw await refusal(response)
      await delay(waitMs)
    }
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const { url, apiKey } = this.access
    try {
      return await fetch(`${url}${path}`, { ...init, headers: { ...init.headers, WebApiKey: apiKey } })
    } catch (error) {
      if (init.signal?.aborted && (init.signal.reason as Error).name !== 'TimeoutError') throw error
      throw new Refused('service-unreachable', `${url} does not respond: ${reasonOf(error)}`)
    }
  }
}

/** Returns the code of a failed connection, or its message. */
export function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message
}

async function refusal(response: Response): Promise<Refused> {
  const text = await response.text().catch(() => '')
  const { code, message, details } = errorIn(text)
  const reason = [message, details].filter(Boolean).join(' ')
  const isPassing = response.status === 429 || response.status === 503
  return new Refused(
    isPassing ? 'service-busy' : 'request-rejected',
    `the service responded with ${code ?? response.status}${reason && `: ${reason}`}`,
  )
}

type EnvelopeError = { readonly code?: number; readonly message?: string; readonly details?: string | null }

/** Returns the error of a response, or nothing if something other than the service sent it. */
function errorIn(text: string): EnvelopeError {
  try {
    return ((JSON.parse(text) as { readonly error?: EnvelopeError | null }).error ?? {}) as EnvelopeError
  } catch {
    return {}
  }
}
