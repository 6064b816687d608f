import { createHash, createHmac } from 'node:crypto'

const nativePath = '/api/services/app/TransactionRequests'
const customer = { userId: '42', name: 'Ada Lovelace', username: 'ada', paymentMethod: 1 }

export interface ApiResponse {
  readonly status: number
  readonly body: { readonly [field: string]: unknown }
}

/** Sends the requests of a merchant's server and returns the unchanged responses, for tests of statuses and bodies. */
export class RawMerchantClient {
  constructor(
    private readonly baseUrl: string,
    private readonly credentials: { readonly webApiKey: string; readonly secretKey: string },
  ) {}

  hostedDeposit(referenceId: string, amount: string): Promise<ApiResponse> {
    return this.post('/Transaction/CreateDeposit', referenceId, amount, { ...customer, transactionType: 1 })
  }

  nativeDeposit(referenceId: string, amount: string): Promise<ApiResponse> {
    return this.post(`${nativePath}/CreateDeposit`, referenceId, amount, { ...customer, transactionType: 1 })
  }

  withdrawal(referenceId: string, amount: string, accountNumber: string): Promise<ApiResponse> {
    const fields = { ...customer, transactionType: 2, accountNumber }
    return this.post(`${nativePath}/CreateWithdraw`, referenceId, amount, fields)
  }

  /** Executes the first step of a native deposit, which sends a code to the customer. Its `result` is the token of the next step. */
  walletLogIn(trackingId: string, userName: string, password: string): Promise<ApiResponse> {
    return this.send(`${nativePath}/WalletCustomerLogin`, JSON.stringify({ trackingId, userName, password }))
  }

  /** Executes the second step. Its `result` contains the next step (`next_step`) and its token. */
  walletCode(trackingId: string, token: string, code: string): Promise<ApiResponse> {
    return this.send(`${nativePath}/Wallet2Fa`, JSON.stringify({ trackingId, token, code }))
  }

  /** Executes the third step if `next_step` was `ValidateUserDevice`. Repeat it every two seconds until `result` is `Completed`. */
  walletDevice(trackingId: string, token: string): Promise<ApiResponse> {
    return this.send(`${nativePath}/WalletValidateUserDevice`, JSON.stringify({ trackingId, token }))
  }

  async get(path: string): Promise<ApiResponse> {
    const response = await fetch(`${this.baseUrl}${path}`, { headers: { WebApiKey: this.credentials.webApiKey } })
    return { status: response.status, body: (await response.json()) as ApiResponse['body'] }
  }

  private post(path: string, referenceId: string, amount: string, fields: object): Promise<ApiResponse> {
    const hashed = `${this.credentials.secretKey}${amount}${referenceId}`
    const hashCode = createHash('md5').update(hashed).digest('hex').toUpperCase()
    const rest = JSON.stringify({ ...fields, referenceId, hashCode })
    const body = `{"amount":${amount},${rest.slice(1)}`
    return this.send(path, body)
  }

  /** Signs every byte of the body, because the hashCode covers neither the account nor the customer. */
  private signature(body: string): string {
    const at = Math.floor(Date.now() / 1000)
    return `t=${at},v1=${createHmac('sha256', this.credentials.secretKey).update(`${at}.${body}`).digest('hex')}`
  }

  private async send(path: string, body: string): Promise<ApiResponse> {
    const headers = {
      'Content-Type': 'application/json-patch+json',
      accept: 'text/plain',
      WebApiKey: this.credentials.webApiKey,
      'X-Signature': this.signature(body),
    }
    const response = await fetch(`${this.baseUrl}${path}`, { method: 'POST', headers, body })
    return { status: response.status, body: (await response.json()) as ApiResponse['body'] }
  }
}
