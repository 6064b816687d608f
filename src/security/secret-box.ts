import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { decrypt, encrypt } from '../kernel/sodium.js'

/** A sealed secret cannot be opened: it has a different master key or owner, or it is damaged. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError'
}

/** Master keys of 32 bytes each. They are plain data, so that another thread can create the same box. */
export interface KeyRing {
  readonly current: Uint8Array
  /** The keys that only open texts that they sealed earlier. */
  readonly others?: readonly Uint8Array[]
  /** The key that {@link SecretBox.mac} derives its keys from; defaults to {@link digestKeyOf} of `current`. */
  readonly digestKey?: Uint8Array
}

/** Seals secrets with XChaCha20-Poly1305 under keys derived from the master keys. The `owner` is associated data. */
export interface SecretBox {
  /** The id of the master key that seals, 8 hexadecimal digits. */
  readonly keyId: string
  /** Returns `v1.<key id>.<nonce, ciphertext, tag>` in base64url. @throws SecretBoxError on an empty secret */
  seal(secret: string, owner: string): string
  open(sealed: string, owner: string): string
  /** Returns the same secret under the current key, or the text itself if that key sealed it. @throws SecretBoxError */
  reseal(sealed: string, owner: string): string
  /** Returns an HMAC-SHA256 in base64url under a separate key for `purpose`. It stays the same regardless of the key that seals. */
  mac(purpose: string, text: string): string
}

/** Returns the key from which `mac` derives its keys while a log has only had one master key: the extract step of HKDF (RFC 5869). */
export const digestKeyOf = (masterKey: Uint8Array): Buffer => createHmac('sha256', '').update(masterKey).digest()

/** Returns the id of the key that sealed a text, or `undefined` if the text is not sealed. */
export const keyIdOf = (sealed: string): string | undefined => /^v1\.([0-9a-f]{8})\./.exec(sealed)?.[1]
export const idOfMasterKey = (masterKey: Uint8Array): string => sealingKeyOf(masterKey).id

export function createSecretBox(ring: KeyRing | Uint8Array): SecretBox {
  const { current, others = [], digestKey } = ring instanceof Uint8Array ? { current: ring } : ring
  const sealing = sealingKeyOf(current)
  const keys = new Map([...others.map(sealingKeyOf), sealing].map(({ id, key }) => [id, key]))
  const macOf = macs(digestKey ?? digestKeyOf(current))
  const box: SecretBox = {
    keyId: sealing.id,
    seal(secret, owner) {
      if (secret === '') throw new SecretBoxError('an empty secret cannot be sealed')
      const bytes = encrypt(sealing.key, Buffer.from(secret), Buffer.from(owner))
      return `v1.${sealing.id}.${bytes.toString('base64url')}`
    },
    open(sealed, owner) {
      const [version, sealedWith = '', text, ...more] = sealed.split('.')
      if (version !== 'v1' || !text || more.length > 0) throw new SecretBoxError('not a sealed secret')
      const key = keys.get(sealedWith)
      if (!key) {
        throw new SecretBoxError(
          `sealed with master key ${sealedWith}, but only ${[...keys.keys()].join()} is available`,
        )
      }
      const bytes = Buffer.from(text, 'base64url')
      // `Buffer.from` skips invalid characters, so that many texts would open as the same secret.
      const secret = bytes.toString('base64url') === text ? decrypt(key, bytes, Buffer.from(owner)) : undefined
      if (!secret) throw new SecretBoxError(`a sealed secret of ${owner} was altered or belongs to another owner`)
      return secret.toString()
    },
    reseal(sealed, owner) {
      return keyIdOf(sealed) === sealing.id ? sealed : box.seal(box.open(sealed, owner), owner)
    },
    mac: (purpose, text) => createHmac('sha256', macOf(purpose)).update(text).digest('base64url'),
  }
  return box
}

function sealingKeyOf(masterKey: Uint8Array): { readonly id: string; readonly key: Buffer } {
  if (masterKey.length !== 32) throw new SecretBoxError('a master key must be 32 bytes')
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', 'transferd seal v1', 32))
  return { id: createHash('sha256').update(key).digest('hex').slice(0, 8), key }
}

/** Derives the key for each purpose once: the expand step of HKDF. */
function macs(digestKey: Uint8Array): (purpose: string) => Buffer {
  const keys = new Map<string, Buffer>()
  return (purpose) => {
    let key = keys.get(purpose)
    if (!key) {
      key = createHmac('sha256', digestKey).update(`transferd mac ${purpose}\x01`).digest()
      keys.set(purpose, key)
    }
    return key
  }
}
