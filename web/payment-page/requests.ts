import { data, type PageState } from './page-data.js'

/** Longer than the service waits for a wallet. */
const timeoutMs = 60_000

export interface Next {
  readonly next: 'code' | 'device' | 'wait' | 'result'
  readonly token?: string
}

/** Why a step did not work: a key of the page's texts, or `over`. */
export interface Refused {
  readonly reason: string
  readonly retryAfterSeconds?: number
}

export function take(step: 'login' | 'code' | 'device', body: object): Promise<Next | Refused> {
  return ask<Next>(step, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

export function readState(): Promise<PageState | Refused> {
  return ask<PageState>('state', {})
}

async function ask<Answer>(what: string, request: RequestInit): Promise<Answer | Refused> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), timeoutMs)
  try {
    const address = `${location.pathname}/${what}?lang=${data.language}`
    const response = await fetch(address, {
      ...request,
      // The cookie by which the wallet knows this browser again.
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: abort.signal,
    })
    const answer = (await response.json()) as Answer | Refused
    if (response.ok) return answer
    const { reason, retryAfterSeconds } = answer as Partial<Refused>
    return { reason: reason ?? 'trouble', ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }
  } catch {
    return { reason: 'offline' }
  } finally {
    clearTimeout(timer)
  }
}
