import { createHmac, randomUUID } from 'node:crypto'
import type { CallbackNetworks, ResolveHost } from '../../commands/merchant/callback-networks.js'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { Delivery } from '../../domain/callback.js'
import { callbackBody } from '../../domain/callback.js'
import { callbackSecretKey, type Merchant } from '../../domain/merchant/merchant.js'
import type { Clock } from '../../kernel/time.js'
import { hashCode } from '../../security/api-keys.js'
import { type CallbackRequest, EndpointConnection } from './endpoint-connection.js'

/** Returns the request of a callback, hashed and signed with the keys that are valid at `atMs`. */
export async function signCallback(
  merchants: MerchantDirectory,
  known: Merchant,
  trackingId: string,
  { webhookId, transferRevision, payload }: Pick<Delivery, 'webhookId' | 'transferRevision' | 'payload'>,
  atMs: number,
): Promise<CallbackRequest> {
  const at = new Date(atMs).toISOString()
  const merchant = await withCurrentKeys(merchants, known, at)
  const { number } = callbackSecretKey(merchant.secretKeys, at)
  const secretKey = merchants.secretKeys(merchant, at).find((key) => key.number === number)
  if (!secretKey) throw new Error(`merchant ${merchant.merchantId} has no SecretKey`)
  const body = callbackBody(payload, trackingId, (...hashed) => hashCode(secretKey.value, ...hashed))
  const timestamp = Math.floor(atMs / 1_000)
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'transferd',
    'webhook-id': webhookId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': webhookSignature(merchants.secrets(merchant, 'webhookSecret'), webhookId, timestamp, body),
    'x-transfer-revision': String(transferRevision),
  }
  const { callbackUrl: url, sandbox } = merchant.settings
  return { url, sandbox, headers, body }
}

/**
 * Returns the merchant as currently recorded in the log, if its callbacks are hashed with an older SecretKey. The merchant may just have
 * stopped using that key on another node, and its receiver would then reject the hash.
 */
async function withCurrentKeys(merchants: MerchantDirectory, merchant: Merchant, at: string): Promise<Merchant> {
  if (callbackSecretKey(merchant.secretKeys, at) === merchant.secretKeys.all[0]) return merchant
  await merchants.catchUp()
  return merchants.byId(merchant.merchantId) ?? merchant
}

/**
 * Returns the `webhook-signature` header of Standard Webhooks: `v1,<base64 HMAC-SHA256>` over `<id>.<timestamp>.<body>` for each valid
 * secret (`whsec_…`), separated by spaces.
 */
export function webhookSignature(
  secrets: readonly string[],
  webhookId: string,
  timestampSeconds: number,
  body: string,
): string {
  const hmac = (secret: string) => createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
  const content = `${webhookId}.${timestampSeconds}.${body}`
  return secrets.map((secret) => `v1,${hmac(secret).update(content).digest('base64')}`).join(' ')
}

/** No transfer has this id. */
const testTrackingId = '00000000-0000-0000-0000-000000000000'
/** A header of test events only. The signature does not cover it, and the message in the body identifies the test as well. */
const testHeader = 'x-transfer-test'

const testPayload = {
  status: 1,
  referenceId: 'test',
  message: 'This is a test. It does not belong to a transfer.',
  amountMinor: 1_00n,
  transactionAmountMinor: 0n,
  hasAmountMismatch: false,
  receiptUrl: null,
}
const pauseMs = 5_000

interface TestEventDependencies {
  readonly merchants: MerchantDirectory
  readonly resolve: ResolveHost
  readonly networks: CallbackNetworks
  readonly timeoutMs: number
  readonly clock: Clock
}

/** Creates a function that sends a signed sample to a merchant's endpoint and records nothing. It returns `undefined` for an unknown merchant. */
export function createTestEventSender({ merchants, resolve, networks, timeoutMs, clock }: TestEventDependencies) {
  /** The time of each merchant's last test. Tests are limited, so that users cannot flood an endpoint. */
  const testedMs = new Map<string, number>()
  return async (merchantId: string) => {
    const merchant = merchants.byId(merchantId)
    if (!merchant) return undefined
    const nowMs = Date.parse(clock())
    const waitMs = (testedMs.get(merchantId) ?? 0) + pauseMs - nowMs
    if (waitMs > 0) return { sent: false as const, retryAfterSeconds: Math.ceil(waitMs / 1_000) }
    testedMs.set(merchantId, nowMs)
    const delivery = { webhookId: randomUUID(), transferRevision: 0, payload: testPayload }
    const request = await signCallback(merchants, merchant, testTrackingId, delivery, nowMs)
    const connection = new EndpointConnection({ resolve, networks, timeoutMs, maxConnections: 1 })
    try {
      const marked = { ...request, headers: { ...request.headers, [testHeader]: 'true' } }
      return { sent: true as const, response: await connection.send(marked, new AbortController().signal) }
    } finally {
      await connection.close()
    }
  }
}
