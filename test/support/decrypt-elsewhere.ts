import { createDecipheriv } from 'node:crypto'

const [rotate, lastRounds] = [(word: number, bits: number) => (word << bits) | (word >>> (32 - bits)), 10]

/** Derives the key of a message: HChaCha20 of draft-irtf-cfrg-xchacha-03, 2.2. */
function messageKey(key: Uint8Array, nonce: Uint8Array): Buffer {
  const input = Buffer.concat([Buffer.from('expand 32-byte k'), key, nonce.subarray(0, 16)])
  const words = new Uint32Array(16).map((_, index) => input.readUInt32LE(index * 4))
  const quarter = (a: number, b: number, c: number, d: number) => {
    for (const [x, y, z, bits] of [
      [a, b, d, 16],
      [c, d, b, 12],
      [a, b, d, 8],
      [c, d, b, 7],
    ] as const) {
      words[x] = words[x]! + words[y]!
      words[z] = rotate(words[z]! ^ words[x]!, bits)
    }
  }
  for (let round = 0; round < lastRounds; round++) {
    for (const column of [0, 1, 2, 3]) quarter(column, 4 + column, 8 + column, 12 + column)
    for (const row of [0, 1, 2, 3]) quarter(row, 4 + ((row + 1) % 4), 8 + ((row + 2) % 4), 12 + ((row + 3) % 4))
  }
  const output = Buffer.alloc(32)
  for (const [at, word] of [...words.subarray(0, 4), ...words.subarray(12)].entries())
    output.writeUInt32LE(word, at * 4)
  return output
}

/** Decrypts with OpenSSL's ChaCha20-Poly1305 instead of libsodium. */
export function decryptElsewhere(key: Uint8Array, sealed: Uint8Array, associated: Uint8Array): Buffer {
  const [nonce, end] = [sealed.subarray(0, 24), sealed.length - 16]
  const short = Buffer.concat([Buffer.alloc(4), nonce.subarray(16)])
  const decipher = createDecipheriv('chacha20-poly1305', messageKey(key, nonce), short, { authTagLength: 16 })
  decipher.setAAD(associated, { plaintextLength: end - 24 }).setAuthTag(sealed.subarray(end))
  return Buffer.concat([decipher.update(sealed.subarray(24, end)), decipher.final()])
}
