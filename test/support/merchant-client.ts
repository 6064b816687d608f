import { createHash, randomUUID } from 'node:crypto'

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

/** Creates a native deposit like a merchant. Rejects if the connection breaks, in which case the outcome is unknown. */
export async function createDeposit(
  baseUrl: string,
  credentials: Credentials,
  referenceId: string = randomUUID(),
  amount = '100.00',
  userId = '42',
): Promise<Answer> {
  const hashCode = createHash('md5')
    .update(`${credentials.secretKey}${amount}${referenceId}`)
    .digest('hex')
    .toUpperCase()
  const response = await fetch(`${baseUrl}/api/services/app/TransactionRequests/CreateDeposit`, {
    method: 'POST',
    headers: { 'content-type': 'application/json-patch+json', WebApiKey: credentials.webApiKey },
    body:
      `{"amount":${amount},"userId":"${userId}","name":"Ada Lovelace","username":"ada","referenceId":"${referenceId}",` +
      `"transactionType":1,"paymentMethod":1,"hashCode":"${hashCode}"}`,
  })
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: (await response.json()) as Answer['body'],
  }
}
