import { basePath } from '../app/base-path'
import { ApiError, errorOf } from './api-error'

export type Search = Readonly<Record<string, string | number | undefined>>
type ChangeMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What requests need of the session; the shell gives it. */
export interface SessionLink {
  readonly csrfToken: () => string | undefined
  /** The server knows no session any more. */
  readonly ended: () => void
  /** Looks again who is signed in; true while it is the same person. */
  readonly refresh: () => Promise<boolean>
  /** Asks who sits there; false when they would rather not say. */
  readonly confirm: () => Promise<boolean>
}

const readTimeoutMs = 30_000
const changeTimeoutMs = 60_000

let session: SessionLink = {
  csrfToken: () => undefined,
  ended: () => undefined,
  refresh: async () => false,
  confirm: async () => false,
}

export function linkSession(link: SessionLink): void {
  session = link
}

export const api = {
  /** `path`: below `/dashboard/api`. @throws ApiError */
  async get<Answer>(path: string, search: Search = {}, signal?: AbortSignal): Promise<Answer> {
    const answer = await exchange(api.href(path, search), { method: 'GET' }, readTimeoutMs, signal)
    return (await answer.json()) as Answer
  },

  /** Undefined for an answer without content. @throws ApiError */
  async send<Answer = undefined>(method: ChangeMethod, path: string, body?: object): Promise<Answer> {
    const answer = await change(method, path, body)
    return (answer.status === 204 ? undefined : await answer.json()) as Answer
  },

  /** Saves the answer under the name that the server gives it. @throws ApiError */
  async download(path: string, body: object): Promise<void> {
    await save(await change('POST', path, body))
  },

  /** Likewise, of something that is only read: where a refusal has to be shown, which a plain link would save. @throws ApiError */
  async save(path: string): Promise<void> {
    await save(await exchange(api.href(path), { method: 'GET' }, readTimeoutMs))
  },

  href(path: string, search: Search = {}): string {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
    return `${basePath}/api${path}${query && `?${query}`}`
  },
}

async function change(method: ChangeMethod, path: string, body: object | undefined): Promise<Response> {
  const once = () => exchange(api.href(path), { method, ...content(body) }, changeTimeoutMs)
  try {
    return await once()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const isMended =
      (error.refusal === 'recent-sign-in-needed' && (await session.confirm())) ||
      (error.refusal === 'csrf' && (await session.refresh()))
    if (!isMended) throw error
    return once()
  }
}

function content(body: object | undefined): { body?: BodyInit; headers: Record<string, string> } {
  const headers: Record<string, string> = { 'x-csrf-token': session.csrfToken() ?? '' }
  if (body === undefined) return { headers }
  if (body instanceof Blob) return { body, headers: { ...headers, 'content-type': body.type } }
  return { body: JSON.stringify(body), headers: { ...headers, 'content-type': 'application/json' } }
}

async function exchange(url: string, init: RequestInit, timeoutMs: number, signal?: AbortSignal): Promise<Response> {
  const isChange = init.method !== 'GET'
  const timeout = AbortSignal.timeout(timeoutMs)
  const answer = await fetch(url, { ...init, signal: signal ? AbortSignal.any([signal, timeout]) : timeout }).catch(
    (error: unknown) => {
      if (signal?.aborted) throw error
      throw new ApiError(isChange ? 'unknown' : 'unreachable', undefined, String(error))
    },
  )
  if (answer.ok) return answer
  const failed = await errorOf(answer, isChange)
  if (failed.refusal === 'not-signed-in') session.ended()
  if (failed.refusal === 'password-change-needed') await session.refresh()
  throw failed
}

/** Under the name that the server gives it. */
async function save(answer: Response): Promise<void> {
  const [, name = 'transferd'] = /filename="([^"]+)"/.exec(answer.headers.get('content-disposition') ?? '') ?? []
  const href = URL.createObjectURL(await answer.blob())
  Object.assign(document.createElement('a'), { href, download: name }).click()
  URL.revokeObjectURL(href)
}
