import { randomUUID } from 'node:crypto'
import { createBody, paths } from './merchant-requests.js'

export interface Credentials {
  readonly id: string
  readonly webApiKey: string
  readonly secretKey: string
}

export interface Answer {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: {
    readonly success: boolean
    readonly result: { readonly trackingId: string; readonly referenceId: string } | null
  }
}

/**
 * Creates a native deposit like a merchant. Rejects if the connection breaks, in which case the outcome is unknown. It is for load and crashes, which
 * need one typed create without a signature; `raw-merchant-client.ts` is for tests of statuses and bodies of all requests.
 */
export async function createDeposit(
  baseUrl: string,
  credentials: Credentials,
  referenceId: string = randomUUID(),
  amount = '100.00',
  fields: { readonly [name: string]: string } = {},
): Promise<Answer> {
  const response = await fetch(`${baseUrl}${paths.native}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json-patch+json', WebApiKey: credentials.webApiKey },
    body: createBody('native', credentials.secretKey, { referenceId, ...fields }, amount),
  })
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: (await response.json()) as Answer['body'],
  }
}
