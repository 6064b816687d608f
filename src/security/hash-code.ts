import { hash, timingSafeEqual } from 'node:crypto'

/**
 * The specification's hash (Resources, "Hash code"): md5 of SecretKey, amount text and referenceId, 32 upper-case
 * hexadecimal characters. The amount is text because `100` and `100.00` hash differently.
 */
export function hashCode(secretKey: string, amountText: string, referenceId: string): string {
  return hash('md5', `${secretKey}${amountText}${referenceId}`).toUpperCase()
}

const hashCodeText = /^[0-9a-f]{32}$/i

/**
 * Compares a supplied hash, in either case, in constant time. The form is checked first: as latin1, `Ł` would be the same
 * byte as `A`, and one hash in two spellings would be reserved in two streams.
 */
export function matchesHashCode(supplied: string, expected: string): boolean {
  return hashCodeText.test(supplied) && timingSafeEqual(Buffer.from(supplied.toUpperCase()), Buffer.from(expected))
}
