import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * The specification's hash (Resources, "Hash code"): md5 of SecretKey, amount text and referenceId, 32 upper-case
 * hexadecimal characters. The amount is text because `100` and `100.00` hash differently.
 */
export function hashCode(secretKey: string, amountText: string, referenceId: string): string {
  return createHash('md5').update(secretKey).update(amountText).update(referenceId).digest('hex').toUpperCase()
}

/** Compares a supplied hash, in either case, in constant time. */
export function matchesHashCode(supplied: string, expected: string): boolean {
  const a = Buffer.from(supplied.toUpperCase(), 'latin1')
  const b = Buffer.from(expected, 'latin1')
  return a.length === b.length && timingSafeEqual(a, b)
}
