import { createHmac } from 'node:crypto'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { Delivery } from '../../domain/callback/callback-decider.js'
import type { CallbackPayload } from '../../domain/callback/callback-events.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { callbackSecretKey } from '../../domain/merchant/secret-keys.js'
import { formatShortest } from '../../domain/money.js'
import { type Status, statusCodes } from '../../domain/transfer/transfer.js'
import { hashCode } from '../../security/hash-code.js'
import type { CallbackRequest } from './send.js'

/** A callback as it is sent now, hashed and signed with the keys that are valid at `atMs`. */
export async function signedCallback(
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
  const body = callbackBody(payload, trackingId, secretKey.value)
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
 * The merchant as the log has it now, where callbacks are hashed with a SecretKey that it may have put aside a moment ago, at
 * another node: its receiver would refuse the hash.
 */
async function withCurrentKeys(merchants: MerchantDirectory, merchant: Merchant, at: string): Promise<Merchant> {
  if (callbackSecretKey(merchant.secretKeys, at) === merchant.secretKeys.all[0]) return merchant
  await merchants.catchUp()
  return merchants.byId(merchant.merchantId) ?? merchant
}

const statusNames = new Map<number, string>(
  (Object.keys(statusCodes) as Status[]).map((name) => [statusCodes[name], name]),
)

/**
 * The JSON text of a callback: the specification's ten fields in its order and spelling (Events, "Payload"). Written by
 * hand because HashCode covers the text of Amount: what is hashed and what is printed are the same string here.
 * TransactionAmount is 0 until money moved; ReceiptUrl is a string, empty while there is no receipt.
 */
export function callbackBody(payload: CallbackPayload, trackingId: string, secretKey: string): string {
  const statusDescription = statusNames.get(payload.status)
  if (statusDescription === undefined) throw new Error(`a callback with the unknown status ${payload.status}`)
  const amount = formatShortest(payload.amountMinor)
  const fields = [
    `"Status":${payload.status}`,
    `"StatusDescription":${JSON.stringify(statusDescription)}`,
    `"TrackingId":${JSON.stringify(trackingId)}`,
    `"RefereneceId":${JSON.stringify(payload.referenceId)}`,
    `"HashCode":"${hashCode(secretKey, amount, payload.referenceId)}"`,
    `"Message":${JSON.stringify(payload.message)}`,
    `"Amount":${amount}`,
    `"TransactionAmount":${formatShortest(payload.transactionAmountMinor)}`,
    `"HasAmountMismatch":${payload.hasAmountMismatch}`,
    `"ReceiptUrl":${JSON.stringify(payload.receiptUrl ?? '')}`,
  ]
  return `{${fields.join(',')}}`
}

/**
 * The `webhook-signature` header of Standard Webhooks: `v1,<base64 HMAC-SHA256>` over `<id>.<timestamp>.<body>`, one for
 * each secret that is valid now (`whsec_…`), separated by spaces.
 */
export function webhookSignature(
  secrets: readonly string[],
  webhookId: string,
  timestampSeconds: number,
  body: string,
): string {
  const sign = (secret: string) => createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
  const signed = `${webhookId}.${timestampSeconds}.${body}`
  return secrets.map((secret) => `v1,${sign(secret).update(signed).digest('base64')}`).join(' ')
}
