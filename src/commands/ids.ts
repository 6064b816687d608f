import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { uuidV5 } from '../kernel/uuid.js'
import type { SecretBox } from '../security/secret-box.js'

/**
 * UUIDv5 of `<kind>:<referenceId>` in the merchant's own namespace, the merchant's id: the same request always names the
 * same stream, so a second create meets the first one.
 */
export function trackingIdOf(merchantId: string, kind: TransferKind, referenceId: string): string {
  return uuidV5(`${kind}:${referenceId}`, merchantId)
}

/**
 * Where a customer pays from, as the wallet sees it: a keyed digest of the merchant and the merchant's userId, so that the
 * wallet learns of neither.
 */
export function deviceIdOf(box: Pick<SecretBox, 'mac'>, merchantId: string, userId: string): string {
  return box.mac('device', JSON.stringify([merchantId, userId]))
}

/** The id of the event that `cause` leads to, the same at every repetition. */
export function derivedEventId(cause: string, purpose: string): string {
  return uuidV5(purpose, cause)
}
