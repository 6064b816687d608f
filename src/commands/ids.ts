import type { TransferKind } from '../domain/transfer/events.js'
import { uuidV5 } from '../security/uuid.js'

/**
 * UUIDv5 of `<kind>:<referenceId>` in the merchant's own namespace, the merchant's id: the same request always names the
 * same stream, so a second create meets the first one.
 */
export function trackingIdOf(merchantId: string, kind: TransferKind, referenceId: string): string {
  return uuidV5(`${kind}:${referenceId}`, merchantId)
}

export function transferStream(trackingId: string): string {
  return `transfer-${trackingId}`
}

export function callbackStream(trackingId: string): string {
  return `callback-${trackingId}`
}

/** What was observed of a merchant's callback endpoint. */
export function endpointStream(merchantId: string): string {
  return `callbacks-endpoint-${merchantId}`
}

export function merchantStream(merchantId: string): string {
  return `merchant-${merchantId}`
}

/** The stream that holds which request a hashCode was first seen with. */
export function hashCodeStream(merchantId: string, hashCode: string): string {
  return `hash-${uuidV5(`hashCode:${hashCode.toUpperCase()}`, merchantId)}`
}

/** The id of the event that `cause` leads to, the same at every repetition. */
export function derivedEventId(cause: string, purpose: string): string {
  return uuidV5(purpose, cause)
}
