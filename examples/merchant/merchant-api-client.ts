import { createHash, createHmac } from 'node:crypto'
import type { Credentials } from './callback-receiver.js'

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

  /** First step of a native deposit: has a code sent to the customer. Its `result` is the token of the next step. */
  walletLogIn(trackingId: string, userName: string, password: string): Promise<Answer> {
    return this.send(`${nativePath}/WalletCustomerLogin`, JSON.stringify({ trackingId, userName, password }))
  }

  /** Second step. Its `result` says whether that was all (`next_step`), and has the token of the step after. */
  walletCode(trackingId: string, token: string, code: string): Promise<Answer> {
    return this.send(`${nativePath}/Wallet2Fa`, JSON.stringify({ trackingId, token, code }))
  }

  /** Third step, where `next_step` was `ValidateUserDevice`: asked every two seconds until `result` is `Completed`. */
  walletDevice(trackingId: string, token: string): Promise<Answer> {
    return this.send(`${nativePath}/WalletValidateUserDevice`, JSON.stringify({ trackingId, token }))
  }

  async get(path: string): Promise<Answer> {
    const response = await fetch(`${this.baseUrl}${path}`, { headers: { WebApiKey: this.credentials.webApiKey } })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }

  private post(path: string, referenceId: string, amount: string, fields: object): Promise<Answer> {
    const hashed = `${this.credentials.secretKey}${amount}${referenceId}`
    const hashCode = createHash('md5').update(hashed).digest('hex').toUpperCase()
    const rest = JSON.stringify({ ...fields, referenceId, hashCode })
    const body = `{"amount":${amount},${rest.slice(1)}`
    return this.send(path, body, { 'X-Signature': this.signature(body) })
  }

  /** The hashCode covers neither the account nor the customer; this covers every byte. */
  private signature(body: string): string {
    const at = Math.floor(Date.now() / 1000)
    return `t=${at},v1=${createHmac('sha256', this.credentials.secretKey).update(`${at}.${body}`).digest('hex')}`
  }

  private async send(path: string, body: string, signed: { readonly 'X-Signature'?: string } = {}): Promise<Answer> {
    const headers = {
      'Content-Type': 'application/json-patch+json',
      accept: 'text/plain',
      WebApiKey: this.credentials.webApiKey,
      ...signed,
    }
    const response = await fetch(`${this.baseUrl}${path}`, { method: 'POST', headers, body })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }
}
