import type { CallbackPayload } from './callback.js'
import { formatShortest } from './money.js'
import { type Status, statusCodes } from './transfer/transfer.js'

const statusNames = new Map<number, string>(
  (Object.keys(statusCodes) as Status[]).map((name) => [statusCodes[name], name]),
)

/**
 * Returns the JSON text of a callback: the specification's ten fields in its order and spelling (Events, "Payload"). The text is built
 * here because HashCode covers the text of Amount: the hashed and the sent text are the same string. TransactionAmount is 0 until money
 * moves, and ReceiptUrl is an empty string without a receipt.
 */
export function callbackBody(
  payload: CallbackPayload,
  trackingId: string,
  hashCodeOf: (amount: string, referenceId: string) => string,
): string {
  const statusDescription = statusNames.get(payload.status)
  if (statusDescription === undefined) throw new Error(`a callback has the unknown status ${payload.status}`)
  const amount = formatShortest(payload.amountMinor)
  const fields = [
    `"Status":${payload.status}`,
    `"StatusDescription":${JSON.stringify(statusDescription)}`,
    `"TrackingId":${JSON.stringify(trackingId)}`,
    `"RefereneceId":${JSON.stringify(payload.referenceId)}`,
    `"HashCode":"${hashCodeOf(amount, payload.referenceId)}"`,
    `"Message":${JSON.stringify(payload.message)}`,
    `"Amount":${amount}`,
    `"TransactionAmount":${formatShortest(payload.transactionAmountMinor)}`,
    `"HasAmountMismatch":${payload.hasAmountMismatch}`,
    `"ReceiptUrl":${JSON.stringify(payload.receiptUrl ?? '')}`,
  ]
  return `{${fields.join(',')}}`
}
