import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { uuidV5 } from '../kernel/uuid.js'
import type { SecretBox } from '../security/secret-box.js'

/**
 * Returns the UUIDv5 of `<kind>:<referenceId>` in the namespace of the merchant's id. The same request always has the same stream, so a
 * second create finds the first one.
 */
export function trackingIdOf(merchantId: string, kind: TransferKind, referenceId: string): string {
  return uuidV5(`${kind}:${referenceId}`, merchantId)
}

/** Returns the id by which the wallet knows a customer's device: a keyed digest of the merchant and its userId, which reveals neither. */
export function deviceIdOf(box: Pick<SecretBox, 'mac'>, merchantId: string, userId: string): string {
  return box.mac('device', JSON.stringify([merchantId, userId]))
}

/** Returns the id of the event that `cause` leads to, which is the same at every repetition. */
export function derivedEventId(cause: string, purpose: string): string {
  return uuidV5(purpose, cause)
}
