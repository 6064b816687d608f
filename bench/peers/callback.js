/**
 * The common parts of all peers for callbacks: transferd's body, signature, timeout and schedule of attempts, sent over open connections
 * by transferd's undici.
 */
import { createHash, createHmac, randomUUID } from 'node:crypto'
import { Pool } from 'undici'

const timeoutMs = 15_000
const jobsPerCall = 1_000

/** The delays after each failed attempt. */
export const retryDelaysSeconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
export const jitter = 0.1

/**
 * Returns a function that signs and sends a callback and returns the HTTP status of the response.
 *
 * @param {{ secretKey: string, webhookSecret: string }} merchant
 * @param {number} receiverPort
 * @param {number} connections
 * @returns {(id: string, transfer: { trackingId: string, referenceId: string, amount: number }) => Promise<number>}
 */
export function callbackSender(merchant, receiverPort, connections) {
  const key = Buffer.from(merchant.webhookSecret.slice('whsec_'.length), 'base64')
  const receiver = new Pool(`http://127.0.0.1:${receiverPort}`, { connections })

  function bodyOf({ trackingId, referenceId, amount }) {
    const hash = createHash('md5').update(`${merchant.secretKey}${amount}${referenceId}`).digest('hex').toUpperCase()
    return JSON.stringify({
      Status: 1,
      StatusDescription: 'Pending',
      TrackingId: trackingId,
      RefereneceId: referenceId,
      HashCode: hash,
      Message: null,
      Amount: amount,
      TransactionAmount: 0,
      HasAmountMismatch: false,
      ReceiptUrl: '',
    })
  }

  return async (id, transfer) => {
    const body = bodyOf(transfer)
    const timestamp = Math.floor(Date.now() / 1_000)
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
    }
    const response = await receiver.request({
      method: 'POST',
      path: '/',
      headers,
      body,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    })
    await response.body.dump()
    return response.statusCode
  }
}

/**
 * Records a backlog of callbacks, which requests would have added earlier.
 *
 * @param {number} count
 * @param {(callbacks: { id: string, transfer: object }[]) => Promise<unknown>} add
 */
export async function recordBacklog(count, add) {
  for (let done = 0; done < count; done += jobsPerCall) {
    const callbacks = Array.from({ length: Math.min(jobsPerCall, count - done) }, () => {
      const transfer = { trackingId: randomUUID(), referenceId: randomUUID(), amount: 100 }
      return { id: `msg_${randomUUID()}`, transfer }
    })
    await add(callbacks)
  }
}
