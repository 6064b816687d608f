import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/** A sealed secret that cannot be opened: another master key, damage, or a row moved from elsewhere. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError'
}

/** Seals secrets with AES-256-GCM under keys derived from the master key; `owner` is bound in as associated data. */
export interface SecretBox {
  /** `v1.<key id>.<iv>.<ciphertext>.<tag>`, base64url parts. @throws SecretBoxError on an empty secret */
  seal(secret: string, owner: string): string
  /** @throws SecretBoxError */
  open(sealed: string, owner: string): string
  /** HMAC-SHA256 (base64url) under a key of its own for `purpose`: for links that cannot be guessed. */
  mac(purpose: string, text: string): string
}

/** `masterKey`: 32 bytes. */
export function createSecretBox(masterKey: Buffer): SecretBox {
  if (masterKey.length !== 32) throw new SecretBoxError('the master key must be 32 bytes')
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', masterKey, '', `transferd ${purpose}`, 32))
  const sealingKey = derive('seal v1')
  const keyId = createHash('sha256').update(sealingKey).digest('hex').slice(0, 8)
  const macKeys = new Map<string, Buffer>()
  return {
    seal(secret, owner) {
      if (secret === '') throw new SecretBoxError('an empty secret is refused')
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', sealingKey, iv).setAAD(Buffer.from(owner))
      const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return ['v1', keyId, ...[iv, ciphertext, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join('.')
    },
    open(sealed, owner) {
      const [version, sealedWith, iv, ciphertext, tag, ...more] = sealed.split('.')
      if (version !== 'v1' || !iv || !ciphertext || !tag || more.length > 0) {
        throw new SecretBoxError('not a sealed secret')
      }
      if (sealedWith !== keyId) {
        throw new SecretBoxError(`sealed with master key ${sealedWith}, but TRANSFERD_MASTER_KEY is ${keyId}`)
      }
      try {
        // Without authTagLength Node takes tags cut down to four bytes, which can be forged by trying.
        const decipher = createDecipheriv('aes-256-gcm', sealingKey, bytes(iv), { authTagLength: 16 })
        decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes(tag))
        return decipher.update(bytes(ciphertext), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        throw new SecretBoxError(`a sealed secret of ${owner} was altered or belongs to another owner`)
      }
    },
    mac(purpose, text) {
      let key = macKeys.get(purpose)
      if (!key) {
        key = derive(`mac ${purpose}`)
        macKeys.set(purpose, key)
      }
      return createHmac('sha256', key).update(text).digest('base64url')
    },
  }
}

/** Buffer.from skips characters that are not base64url, so that many texts would open as one secret. */
function bytes(text: string): Buffer {
  const decoded = Buffer.from(text, 'base64url')
  if (decoded.toString('base64url') !== text) throw new SecretBoxError('not base64url')
  return decoded
}
