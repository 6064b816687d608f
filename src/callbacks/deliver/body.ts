import type { CallbackPayload } from '../../domain/callback/events.js'
import { formatShortest } from '../../domain/money.js'
import { type Status, statusCodes } from '../../domain/transfer/transfer.js'
import { hashCode } from '../../security/hash-code.js'

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
