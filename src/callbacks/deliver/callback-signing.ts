import { createHmac } from 'node:crypto'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { Delivery } from '../../domain/callback.js'
import { callbackBody } from '../../domain/callback.js'
import { callbackSecretKey, type Merchant } from '../../domain/merchant/merchant.js'
import { hashCode } from '../../security/api-keys.js'
import type { CallbackRequest } from './endpoint-connection.js'

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
