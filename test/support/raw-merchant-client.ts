import { type CreateKind, createBody, paths, signatureOf, walletPaths } from './merchant-requests.js'

interface ApiResponse {
  readonly status: number
  readonly body: { readonly [field: string]: unknown }
}

/**
 * Sends the signed requests of a merchant's server and returns the unchanged responses, for tests of statuses and bodies. `merchant-client.ts` has the
 * create of tests with load and crashes.
 */
export class RawMerchantClient {
  constructor(
    private readonly baseUrl: string,
    private readonly credentials: { readonly webApiKey: string; readonly secretKey: string },
  ) {}

  hostedDeposit(referenceId: string, amount: string, fields: object = {}): Promise<ApiResponse> {
    return this.create('hosted', { referenceId, ...fields }, amount)
  }

  nativeDeposit(referenceId: string, amount: string): Promise<ApiResponse> {
    return this.create('native', { referenceId }, amount)
  }

  withdrawal(referenceId: string, amount: string, accountNumber: string): Promise<ApiResponse> {
    return this.create('withdrawal', { referenceId, accountNumber }, amount)
  }

  /** Executes the first step of a native deposit, which sends a code to the customer. Its `result` is the token of the next step. */
  walletLogIn(trackingId: string, userName: string, password: string): Promise<ApiResponse> {
    return this.send(walletPaths.logIn, JSON.stringify({ trackingId, userName, password }))
  }

  /** Executes the second step. Its `result` contains the next step (`next_step`) and its token. */
  walletCode(trackingId: string, token: string, code: string): Promise<ApiResponse> {
    return this.send(walletPaths.code, JSON.stringify({ trackingId, token, code }))
  }

  /** Executes the third step if `next_step` was `ValidateUserDevice`. Repeat it every two seconds until `result` is `Completed`. */
  walletDevice(trackingId: string, token: string): Promise<ApiResponse> {
    return this.send(walletPaths.device, JSON.stringify({ trackingId, token }))
  }

  async get(path: string): Promise<ApiResponse> {
    const response = await fetch(`${this.baseUrl}${path}`, { headers: { WebApiKey: this.credentials.webApiKey } })
    return { status: response.status, body: (await response.json()) as ApiResponse['body'] }
  }

  private create(kind: CreateKind, fields: { readonly [name: string]: unknown }, amount: string): Promise<ApiResponse> {
    return this.send(paths[kind], createBody(kind, this.credentials.secretKey, fields, amount))
  }

  /** Signs every byte of the body, because the hashCode covers neither the account nor the customer. */
  private async send(path: string, body: string): Promise<ApiResponse> {
    const headers = {
      'Content-Type': 'application/json-patch+json',
      accept: 'text/plain',
      WebApiKey: this.credentials.webApiKey,
      'X-Signature': signatureOf(this.credentials.secretKey, body),
    }
    const response = await fetch(`${this.baseUrl}${path}`, { method: 'POST', headers, body })
    return { status: response.status, body: (await response.json()) as ApiResponse['body'] }
  }
}
