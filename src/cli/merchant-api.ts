import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiError, type ApiRequest, TransferdClient, TransferdError } from '@transferd/client'
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
    secretKey: (options.secretKey ?? environment.TRANSFERD_SECRET_KEY) || undefined,
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

/** A merchant's client that waits while the service limits requests. Its methods throw Refused if the service does not accept the request. */
export class MerchantApi extends TransferdClient {
  readonly #options

  constructor({ url, apiKey, secretKey }: Access) {
    const options = { baseUrl: url, webApiKey: apiKey, secretKey, maxRetries: 0 }
    super(options)
    this.#options = options
  }

  /** Opens a stream that lasts until the signal aborts. */
  async open(path: string, headers: { readonly [name: string]: string }, signal: AbortSignal): Promise<Response> {
    const { baseUrl, webApiKey: WebApiKey } = this.#options
    let response: Response
    try {
      // Follows no redirect, because the key is meant for the service only.
      response = await fetch(`${baseUrl}${path}`, { headers: { ...headers, WebApiKey }, redirect: 'manual', signal })
    } catch (error) {
      if (signal.aborted) throw error
      throw new Refused('service-unreachable', `${baseUrl} did not respond: ${reasonOf(error)}`)
    }
    if (response.ok && response.headers.get('content-type')?.startsWith('text/event-stream')) return response
    // The client has no streams, but it explains the response.
    const client = new TransferdClient({ ...this.#options, fetch: async () => response })
    throw refusalOf(await client.getMerchant().catch((error: unknown) => error))
  }

  /** A request that was rejected with 429 or 503 had no effect, so each can be repeated. */
  protected override async send<Result>(request: ApiRequest): Promise<Result> {
    const deadline = performance.now() + patienceMs
    for (;;) {
      try {
        return await super.send<Result>(request)
      } catch (error) {
        const isBusy = error instanceof ApiError && (error.status === 429 || error.status === 503)
        const waitMs = isBusy ? 1_000 * (error.retryAfterSeconds ?? Number.NaN) : Number.NaN
        if (!(performance.now() + waitMs < deadline)) throw refusalOf(error)
        await this.delay(waitMs)
      }
    }
  }
}

/** Returns the code of a failed connection, or its message. */
export function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message
}

function refusalOf(error: unknown): unknown {
  if (!(error instanceof TransferdError)) return error
  if (!(error instanceof ApiError)) return new Refused('service-unreachable', error.message)
  const { status, message } = error
  if (status < 300) return new Refused('service-unreachable', `something other than transferd responded: ${message}`)
  // A proxy responds with 502 or 504 while the service restarts.
  const isPassing = status === 429 || status >= 500
  return new Refused(isPassing ? 'service-busy' : 'request-rejected', `the service responded with ${message}`)
}
