import { data, type PageState } from './page-data.js'

/** Longer than the timeout of the service for wallets. */
const timeoutMs = 60_000

export interface Next {
  readonly next: 'code' | 'device' | 'wait' | 'result'
  readonly token?: string
}

/** The reason why a step failed: a key of the page's texts, or `over` if the deposit has ended. */
export interface Refused {
  readonly reason: string
  readonly retryAfterSeconds?: number
}

export function sendStep(step: 'login' | 'code' | 'device', body: object): Promise<Next | Refused> {
  return request<Next>(step, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

export function readState(): Promise<PageState | Refused> {
  return request<PageState>('state', {})
}

async function request<Body>(path: string, init: RequestInit): Promise<Body | Refused> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), timeoutMs)
  try {
    const address = `${location.pathname}/${path}?lang=${data.language}`
    const response = await fetch(address, {
      ...init,
      // The wallet recognizes this browser by its cookie.
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: abort.signal,
    })
    const body = (await response.json()) as Body | Refused
    if (response.ok) return body
    const { reason, retryAfterSeconds } = body as Partial<Refused>
    return { reason: reason ?? 'failure', ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }
  } catch {
    return { reason: 'offline' }
  } finally {
    clearTimeout(timer)
  }
}
