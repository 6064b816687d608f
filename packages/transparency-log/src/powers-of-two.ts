/** Returns the largest power of two below `length`, at which RFC 6962 splits a tree. Returns 1 for 1. */
export function largestPowerOfTwoBelow(length: number): number {
  let power = 1
  while (power * 2 < length) power *= 2
  return power
}

export function isPowerOfTwo(length: number): boolean {
  return length === 1 || largestPowerOfTwoBelow(length) * 2 === length
}
