import type { DataOf } from '../event.js'
import type { MerchantEvent, SealedSecret } from './merchant-events.js'

export interface SecretKey {
  /** 0 for the SecretKey that the merchant is registered with, one more with each rotation. */
  readonly number: number
  readonly sealed: SealedSecret
  /** The end of its validity; null for the current SecretKey. */
  readonly validUntil: string | null
}

/** A merchant's SecretKeys. A request can use any valid one. */
export interface SecretKeys {
  /** The SecretKeys, newest first. */
  readonly all: readonly [SecretKey, ...SecretKey[]]
  /** The number of the newest SecretKey that the merchant is known to use. */
  readonly takenUp: number
}

/** The largest number of SecretKeys: each request is compared with all valid ones. The oldest is removed first. */
const maxSecretKeys = 4

export function firstSecretKey(sealed: SealedSecret): SecretKeys {
  return { all: [{ number: 0, sealed, validUntil: null }], takenUp: 0 }
}

/**
 * Rotates the SecretKey. The previous one stays valid until `previousValidUntil`, and older ones until their own ends, which were promised to
 * the merchant. Without an overlap, all of them end.
 */
export function rotateSecretKey(
  { all, takenUp }: SecretKeys,
  next: Omit<DataOf<MerchantEvent, 'SecretKeyRotated'>, 'merchantId'>,
): SecretKeys {
  const { secretKey: sealed, previousValidUntil, at } = next
  const [before, ...earlier] = all
  const current = { number: before.number + 1, sealed, validUntil: null }
  if (previousValidUntil <= at) return { all: [current], takenUp }
  const previous = { ...before, validUntil: previousValidUntil }
  const kept = earlier.filter((key) => isValid(key, at)).slice(0, maxSecretKeys - 2)
  return { all: [current, previous, ...kept], takenUp }
}

/** Replaces the sealed texts by ones that are sealed with a different master key. */
export function resealSecretKeys(
  { all: [first, ...others], takenUp }: SecretKeys,
  resealed: readonly { readonly number: number; readonly secretKey: SealedSecret }[],
): SecretKeys {
  const sealedOf = new Map(resealed.map(({ number, secretKey }) => [number, secretKey]))
  const reseal = (key: SecretKey) => ({ ...key, sealed: sealedOf.get(key.number) ?? key.sealed })
  return { all: [reseal(first), ...others.map(reseal)], takenUp }
}

/** Returns the valid SecretKeys, newest first. */
export function validSecretKeys({ all }: SecretKeys, at: string): readonly SecretKey[] {
  // The usual case: no rotation is in progress.
  return all.length === 1 ? all : all.filter((key) => isValid(key, at))
}

/**
 * Returns the SecretKey that callbacks are hashed with: the oldest valid one, but none older than one that the merchant is known to use. A
 * receiver that checks only the HashCode has one SecretKey, and replaces it when the merchant does.
 */
export function callbackSecretKey(keys: SecretKeys, at: string): SecretKey {
  return validSecretKeys(keys, at).findLast(({ number }) => number >= keys.takenUp) ?? keys.all[0]
}

function isValid({ validUntil }: SecretKey, at: string): boolean {
  return validUntil === null || at < validUntil
}
