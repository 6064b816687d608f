import { createHash } from 'node:crypto'
import type { Credentials } from './receiver.js'

const nativePath = '/api/services/app/TransactionRequests'
const customer = { userId: '42', name: 'Ada Lovelace', username: 'ada', paymentMethod: 1 }

export interface Answer {
  readonly status: number
  readonly body: { readonly [field: string]: unknown }
}

/** The requests a merchant's server sends. Amounts are text, so that what is hashed is what is sent. */
export class MerchantClient {
  constructor(
    private readonly baseUrl: string,
    private readonly credentials: Credentials,
  ) {}

  hostedDeposit(referenceId: string, amount: string): Promise<Answer> {
    return this.post('/Transaction/CreateDeposit', referenceId, amount, { ...customer, transactionType: 1 })
  }

  nativeDeposit(referenceId: string, amount: string): Promise<Answer> {
    return this.post(`${nativePath}/CreateDeposit`, referenceId, amount, { ...customer, transactionType: 1 })
  }

  withdrawal(referenceId: string, amount: string, accountNumber: string): Promise<Answer> {
    const fields = { ...customer, transactionType: 2, accountNumber }
    return this.post(`${nativePath}/CreateWithdraw`, referenceId, amount, fields)
  }

  async get(path: string): Promise<Answer> {
    const response = await fetch(`${this.baseUrl}${path}`, { headers: { WebApiKey: this.credentials.webApiKey } })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }

  private async post(path: string, referenceId: string, amount: string, fields: object): Promise<Answer> {
    const { webApiKey, secretKey } = this.credentials
    const hashCode = createHash('md5').update(`${secretKey}${amount}${referenceId}`).digest('hex').toUpperCase()
    const rest = JSON.stringify({ ...fields, referenceId, hashCode })
    const response = await fetch(`${this.baseUrl}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json-patch+json', accept: 'text/plain', WebApiKey: webApiKey },
      body: `{"amount":${amount},${rest.slice(1)}`,
    })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }
}
