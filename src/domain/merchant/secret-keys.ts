import type { SealedSecret } from './merchant-events.js'

export interface SecretKey {
  /** 0 for the one the merchant is registered with, one more with each rotation. */
  readonly number: number
  readonly sealed: SealedSecret
  /** ISO 8601, valid before it; null: the current one. */
  readonly validUntil: string | null
}

/** A merchant's SecretKeys; a request may be made with any that is valid. */
export interface SecretKeys {
  /** The current one first, each older than the one before it. */
  readonly all: readonly [SecretKey, ...SecretKey[]]
  /** The number of the newest one that the merchant is known to use. */
  readonly takenUp: number
}

/** Each request is compared with all that are valid; the oldest gives way. */
const maxSecretKeys = 4

export function firstSecretKey(sealed: SealedSecret): SecretKeys {
  return { all: [{ number: 0, sealed, validUntil: null }], takenUp: 0 }
}

/**
 * The one before stays valid until `previousValidUntil`, and those before it until their own times: each was promised to
 * somebody. Without an overlap all of them end.
 */
export function rotateSecretKey(
  { all, takenUp }: SecretKeys,
  next: {
    readonly secretKey: SealedSecret
    readonly previousValidUntil: string
    readonly at: string
  },
): SecretKeys {
  const { secretKey: sealed, previousValidUntil, at } = next
  const [before, ...earlier] = all
  const current = { number: before.number + 1, sealed, validUntil: null }
  if (previousValidUntil <= at) return { all: [current], takenUp }
  const previous = { ...before, validUntil: previousValidUntil }
  const kept = earlier.filter((key) => isValid(key, at)).slice(0, maxSecretKeys - 2)
  return { all: [current, previous, ...kept], takenUp }
}

/** The same keys under another master key. */
export function resealSecretKeys(
  { all: [first, ...others], takenUp }: SecretKeys,
  resealed: readonly { readonly number: number; readonly secretKey: SealedSecret }[],
): SecretKeys {
  const sealedOf = new Map(resealed.map(({ number, secretKey }) => [number, secretKey]))
  const anew = (key: SecretKey) => ({ ...key, sealed: sealedOf.get(key.number) ?? key.sealed })
  return { all: [anew(first), ...others.map(anew)], takenUp }
}

/** The newest first. */
export function validSecretKeys({ all }: SecretKeys, at: string): readonly SecretKey[] {
  // Most of the time nothing is being rotated.
  return all.length === 1 ? all : all.filter((key) => isValid(key, at))
}

/**
 * What callbacks are hashed with: the oldest valid one, but none from before one that the merchant is known to use. A receiver that checks
 * only the HashCode has one key, and changes it when the merchant does.
 */
export function callbackSecretKey(keys: SecretKeys, at: string): SecretKey {
  return validSecretKeys(keys, at).findLast(({ number }) => number >= keys.takenUp) ?? keys.all[0]
}

function isValid({ validUntil }: SecretKey, at: string): boolean {
  return validUntil === null || at < validUntil
}
