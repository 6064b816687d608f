const multiplierA = 0x9e3779b1
const multiplierB = 0x85ebca77

/**
 * Returns a 48-bit hash of a stream's name, the key of `stream_names`. The hash is a storage format: never change it. Names with the
 * same hash are distinguished by the names themselves.
 */
export function streamHash(name: string): number {
  let a = 0x74667264
  let b = name.length
  for (let i = 0; i < name.length; i++) {
    const unit = name.charCodeAt(i)
    a = Math.imul(a ^ unit, multiplierA)
    a ^= a >>> 15
    b = Math.imul(b ^ unit, multiplierB)
    b ^= b >>> 13
  }
  a = Math.imul(a ^ (b >>> 16), multiplierB)
  a ^= a >>> 16
  b = Math.imul(b ^ (a >>> 15), multiplierA)
  b ^= b >>> 16
  return (b & 0xffff) * 0x1_0000_0000 + (a >>> 0)
}
