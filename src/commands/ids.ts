import type { TransferKind } from '../domain/transfer/events.js'
import type { SecretBox } from '../security/secret-box.js'
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

/** How a customer pays one deposit from a wallet account. */
export function paymentStream(trackingId: string): string {
  return `payment-${trackingId}`
}

/** Wrong codes for one wallet account. */
export function walletCodesStream(accountNumber: number): string {
  return `walletcodes-${accountNumber}`
}

/** Wrong passwords for one wallet account; the e-mail it is asked for by appears as a keyed digest. */
export function walletLogInsStream(account: string): string {
  return `walletlogins-${account}`
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

/** The stream of the request that claimed a text its hashes are made of: the amount text and the referenceId, joined. */
export function hashedTextStream(merchantId: string, joined: string): string {
  return `hash-${uuidV5(`request:${joined}`, merchantId)}`
}

/** What names a hashCode without being one. */
export function hashIdOf(merchantId: string, hashCode: string): string {
  return uuidV5(`hashCode:${hashCode.toUpperCase()}`, merchantId)
}

/** The stream that held which request a hashCode was first seen with, before requests claimed texts. */
export function hashCodeStream(merchantId: string, hashCode: string): string {
  return `hash-${hashIdOf(merchantId, hashCode)}`
}

/** An account of the built-in wallet. */
export function walletAccountStream(accountNumber: number): string {
  return `wallet-${accountNumber}`
}

/** The stream that holds which account an e-mail belongs to; the e-mail appears as a keyed digest. */
export function walletEmailStream(emailMac: string): string {
  return `walletemail-${emailMac}`
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
