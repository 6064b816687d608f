import { apiAddress, type Search } from './api-address'
import { ApiError, toApiError } from './api-error'
import { noteNoResponse, noteResponse } from './connection'
import { takeEarly } from './early-responses'

type ChangeMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The parts of the session that requests need. The shell provides them. */
interface SessionLink {
  readonly csrfToken: () => string | undefined
  /** Asks the user to sign in again after the session has ended. Returns whether the same user is signed in. */
  readonly signInAgain: () => Promise<boolean>
  /** Fetches the session again. Returns whether the same user is still signed in. */
  readonly refresh: () => Promise<boolean>
  /** Asks the user for the password. Returns false if the user cancels. */
  readonly confirm: () => Promise<boolean>
}

const readTimeoutMs = 30_000
const changeTimeoutMs = 60_000

let session: SessionLink = {
  csrfToken: () => undefined,
  signInAgain: async () => false,
  refresh: async () => false,
  confirm: async () => false,
}

export function linkSession(link: SessionLink): void {
  session = link
}

/** Sends requests to the dashboard's API. Paths are relative to `/dashboard/api`. Every method that sends a request throws ApiError. */
export const api = {
  async get<Body>(path: string, search: Search = {}, signal?: AbortSignal): Promise<Body> {
    const response = await sendRead(api.href(path, search), signal)
    return (await response.json()) as Body
  },

  /** Returns the body of the response, `undefined` if it has none. */
  async send<Body = undefined>(method: ChangeMethod, path: string, body?: object): Promise<Body> {
    const response = await sendChange(method, path, body)
    return (response.status === 204 ? undefined : await response.json()) as Body
  },

  /** Posts the body and saves the response as a file, named by the server. */
  async download(path: string, body: object): Promise<void> {
    await save(await sendChange('POST', path, body))
  },

  /**
   * Saves the response of a GET as a file. Unlike a plain link, it lets the page show an error response instead of
   * saving it.
   */
  async save(path: string): Promise<void> {
    await save(await sendRead(api.href(path)))
  },

  href: apiAddress,
}

async function sendRead(url: string, signal?: AbortSignal): Promise<Response> {
  const attempt = () => request(url, { method: 'GET' }, readTimeoutMs, signal)
  try {
    return await attempt()
  } catch (error) {
    if (!(error instanceof ApiError) || !(await continuesAfter(error))) throw error
    return attempt()
  }
}

/** Returns whether the request can be repeated, because the user has signed in again. Nothing that the user typed is lost. */
async function continuesAfter({ rule }: ApiError): Promise<boolean> {
  return rule === 'not-signed-in' && (await session.signInAgain())
}

async function sendChange(method: ChangeMethod, path: string, body: object | undefined): Promise<Response> {
  const attempt = () => request(api.href(path), { method, ...contentOf(body) }, changeTimeoutMs)
  try {
    return await attempt()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const canRetry =
      (error.rule === 'recent-sign-in-needed' && (await session.confirm())) ||
      (error.rule === 'csrf' && (await session.refresh())) ||
      (await continuesAfter(error))
    if (!canRetry) throw error
    return attempt()
  }
}

function contentOf(body: object | undefined): { body?: BodyInit; headers: Record<string, string> } {
  const headers: Record<string, string> = { 'x-csrf-token': session.csrfToken() ?? '' }
  if (body === undefined) return { headers }
  if (body instanceof Blob) return { body, headers: { ...headers, 'content-type': body.type } }
  return { body: JSON.stringify(body), headers: { ...headers, 'content-type': 'application/json' } }
}

async function request(url: string, init: RequestInit, timeoutMs: number, signal?: AbortSignal): Promise<Response> {
  const isChange = init.method !== 'GET'
  const timeout = AbortSignal.timeout(timeoutMs)
  const early = isChange ? undefined : await takeEarly(url)
  const sending = early ?? fetch(url, { ...init, signal: signal ? AbortSignal.any([signal, timeout]) : timeout })
  const response = await Promise.resolve(sending).catch((error: unknown) => {
    if (signal?.aborted) throw error
    noteNoResponse()
    throw new ApiError(isChange ? 'unknown' : 'unreachable', String(error))
  })
  noteResponse()
  if (response.ok) return response
  const error = await toApiError(response, isChange)
  if (error.rule === 'password-change-needed') await session.refresh()
  throw error
}

async function save(response: Response): Promise<void> {
  const [, ascii = 'transferd', exact = ascii] =
    /filename="([^"]+)"(?:; filename\*=UTF-8''(.+))?/.exec(response.headers.get('content-disposition') ?? '') ?? []
  const name = decodeURIComponent(exact)
  const href = URL.createObjectURL(await response.blob())
  Object.assign(document.createElement('a'), { href, download: name }).click()
  URL.revokeObjectURL(href)
}
