import { createHmac, randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import { defaultSettings } from '../../src/domain/merchant/merchant-settings.js'
import type { PaymentMethod } from '../../src/domain/payment-method.js'
import { hashCode } from '../../src/security/api-keys.js'

export const paymentMethods: readonly PaymentMethod[] = [
  {
    code: 1,
    name: 'Wallet',
    kinds: ['deposit', 'withdrawal'],
    paidBy: 'wallet',
    minAmountMinor: 1n,
    maxAmountMinor: 99_999_999n,
  },
  {
    code: 2,
    name: 'Bank transfer',
    kinds: ['withdrawal'],
    paidBy: 'manual',
    minAmountMinor: 100n,
    maxAmountMinor: 5_000_000n,
  },
]

/** A method for deposits that are paid manually, for a catalogue of a test. */
export const manualDeposits: PaymentMethod = {
  ...{ code: 7, name: 'Bank transfer', nameTr: 'Banka havalesi', kinds: ['deposit'], paidBy: 'manual' },
  ...{ minAmountMinor: 1n, maxAmountMinor: 99_999_999n },
}

export const merchantSettings: MerchantSettings = {
  ...defaultSettings(true),
  name: 'Shop',
  callbackUrl: 'http://127.0.0.1:1/callback',
  allowIps: ['127.0.0.1'],
  rateLimitPerSecond: 10_000,
  minAmountMinor: 1n,
}

export const paths = {
  hosted: '/Transaction/CreateDeposit',
  native: '/api/services/app/TransactionRequests/CreateDeposit',
  withdrawal: '/api/services/app/TransactionRequests/CreateWithdraw',
} as const

export const walletPaths = {
  logIn: '/api/services/app/TransactionRequests/WalletCustomerLogin',
  code: '/api/services/app/TransactionRequests/Wallet2Fa',
  device: '/api/services/app/TransactionRequests/WalletValidateUserDevice',
} as const

export type CreateKind = keyof typeof paths

/**
 * Returns a request body with a valid hashCode over `amountText`. `fields` overrides the defaults, and `undefined`
 * omits a field.
 */
export function createBody(
  kind: CreateKind,
  secretKey: string,
  fields: { readonly [name: string]: unknown } = {},
  amountText = '100.50',
): string {
  const referenceId = typeof fields.referenceId === 'string' ? fields.referenceId : randomUUID()
  const body: Record<string, unknown> = {
    userId: '8412',
    name: 'Ada Lovelace',
    username: 'ada',
    referenceId,
    transactionType: kind === 'withdrawal' ? 2 : 1,
    paymentMethod: 1,
    hashCode: hashCode(secretKey, amountText, referenceId),
    ...(kind === 'withdrawal' && { accountNumber: 'TR330006100519786457841326' }),
    ...fields,
  }
  const rest = JSON.stringify(body).slice(1)
  return 'amount' in fields ? `{${rest}` : `{"amount":${amountText},${rest}`
}

/** Returns a valid X-Signature of the body. */
export function signatureOf(secretKey: string, body: string, atS = Math.floor(Date.now() / 1000)): string {
  return `t=${atS},v1=${createHmac('sha256', secretKey).update(`${atS}.${body}`).digest('hex')}`
}

interface Post {
  readonly key?: string
  readonly contentType?: string
  readonly address?: string
  readonly headers?: { readonly [name: string]: string }
}

export async function post(app: FastifyInstance, url: string, body: string | Buffer, options: Post = {}) {
  const { key, contentType = 'application/json-patch+json', address = '127.0.0.1', headers } = options
  return app.inject({
    method: 'POST',
    url,
    remoteAddress: address,
    headers: { 'content-type': contentType, ...(key !== undefined && { webapikey: key }), ...headers },
    payload: body,
  })
}
