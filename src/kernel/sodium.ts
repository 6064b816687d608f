import { createRequire } from 'node:module'

/** The functions of libsodium in use, with the names and the order of arguments of its documentation. */
interface Sodium {
  crypto_generichash(target: Uint8Array, message: Uint8Array, key: Uint8Array): void
  randombytes_buf(target: Uint8Array): void
  crypto_aead_xchacha20poly1305_ietf_encrypt(
    ...target: [Uint8Array, message: Uint8Array, associated: Uint8Array, secretNonce: null, Uint8Array, key: Uint8Array]
  ): void
  crypto_aead_xchacha20poly1305_ietf_decrypt(
    ...target: [Uint8Array, secretNonce: null, sealed: Uint8Array, associated: Uint8Array, Uint8Array, key: Uint8Array]
  ): void
}

const require = createRequire(import.meta.url)

/** The binary of the package itself. The package's loader searches for it, which costs every thread 14 ms of CPU time instead of 2. */
const sodium: Sodium = require(`sodium-native/prebuilds/${process.platform}-${process.arch}/sodium-native.node`)

const nonceBytes = 24
const tagBytes = 16

/** Returns nonce, ciphertext and tag of XChaCha20-Poly1305 with a random nonce. The key has 32 bytes. */
export function encrypt(key: Uint8Array, message: Uint8Array, associated: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(nonceBytes + message.length + tagBytes)
  const nonce = randomNonce()
  sealed.set(nonce)
  sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(sealed.subarray(nonceBytes), message, associated, null, nonce, key)
  return sealed
}

/** Returns the message, or `undefined` if the bytes were altered or have a different key or associated data. */
export function decrypt(key: Uint8Array, sealed: Uint8Array, associated: Uint8Array): Buffer | undefined {
  if (sealed.length < nonceBytes + tagBytes) return undefined
  const message = Buffer.allocUnsafe(sealed.length - nonceBytes - tagBytes)
  const [nonce, rest] = [sealed.subarray(0, nonceBytes), sealed.subarray(nonceBytes)]
  try {
    sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(message, null, rest, associated, nonce, key)
    return message
  } catch {
    return undefined
  }
}

const keyedHashBytes = 64

/** Returns the 64 bytes of BLAKE2b of a text under a key of 32 bytes. */
export function keyedHash(key: Uint8Array, text: string): Buffer {
  const hash = Buffer.allocUnsafe(keyedHashBytes)
  sodium.crypto_generichash(hash, Buffer.from(text), key)
  return hash
}

/** Random bytes for many nonces, because a separate call for each costs as much as the encryption. Every thread has its own. */
const randomPool = Buffer.alloc(nonceBytes * 256)
let used = randomPool.length

function randomNonce(): Uint8Array {
  if (used === randomPool.length) {
    sodium.randombytes_buf(randomPool)
    used = 0
  }
  used += nonceBytes
  return randomPool.subarray(used - nonceBytes, used)
}
