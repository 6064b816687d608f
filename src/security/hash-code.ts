import { hash, timingSafeEqual } from 'node:crypto'

/**
 * Returns the specification's hash code (Resources, "Hash code"): the md5 of SecretKey, amount text and referenceId in 32 uppercase
 * hexadecimal characters. The amount is a text because `100` and `100.00` have different hashes.
 */
export function hashCode(secretKey: string, amountText: string, referenceId: string): string {
  return hash('md5', `${secretKey}${amountText}${referenceId}`).toUpperCase()
}

const hashCodeText = /^[0-9a-f]{32}$/i

/**
 * Compares a supplied hash code in constant time, ignoring case. Checks its form first, because `timingSafeEqual` throws on texts of
 * different length.
 */
export function matchesHashCode(supplied: string, expected: string): boolean {
  return hashCodeText.test(supplied) && timingSafeEqual(Buffer.from(supplied.toUpperCase()), Buffer.from(expected))
}
