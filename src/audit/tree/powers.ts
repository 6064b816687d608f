/** The largest power of two below `length`: where RFC 6962 splits a tree. 1 for 1. */
export function split(length: number): number {
  let power = 1
  while (power * 2 < length) power *= 2
  return power
}

export function isPowerOfTwo(length: number): boolean {
  return length === 1 || split(length) * 2 === length
}
