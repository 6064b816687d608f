import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileDurably } from '../files/durable-file.js'
import { BackupError } from './backup-manifest.js'

/** Who can open a backup; `undefined` for a backup that is not encrypted. */
export type EncryptTo = { readonly recipients: readonly string[] } | { readonly passphrase: string } | undefined
/** What opens an encrypted backup. */
export type OpenWith = { readonly identities: readonly string[] } | { readonly passphrase: string } | undefined

export interface ChunkKey {
  readonly name: string
  readonly bytes: Buffer
}

const ivBytes = 12
const tagBytes = 16

/** Returns the form that a manifest records. */
export function encryptedTo(to: EncryptTo): string[] {
  if (!to) return []
  return 'passphrase' in to ? ['passphrase'] : [...to.recipients].sort()
}

/**
 * Returns the key for the chunks of a backup, and stores it in a file that age(1) opens. A machine that encrypts to recipients cannot open
 * that file again, so each backup has its own key; with a passphrase, all backups in a target share the `earlier` key. @throws BackupError
 */
export async function chunkKeyFor(
  target: string,
  to: EncryptTo,
  earlier: string | undefined,
): Promise<ChunkKey | undefined> {
  if (!to) return undefined
  if ('passphrase' in to && earlier !== undefined) return openChunkKey(target, earlier, to)
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  if ('passphrase' in to) encrypter.setPassphrase(to.passphrase)
  else for (const recipient of to.recipients) addRecipient(encrypter, recipient)
  const key = { name: randomBytes(8).toString('hex'), bytes: randomBytes(32) }
  writeFileDurably(keyFile(target, key.name), await encrypter.encrypt(key.bytes))
  return key
}

function addRecipient(encrypter: { addRecipient(recipient: string): void }, recipient: string): void {
  try {
    encrypter.addRecipient(recipient)
  } catch {
    throw new BackupError(`${recipient} is not an age recipient: it must start with age1`)
  }
}

/** @throws BackupError */
export async function openChunkKey(target: string, name: string, openWith: OpenWith): Promise<ChunkKey> {
  const path = keyFile(target, name)
  if (!existsSync(path)) throw new BackupError(`the backup is incomplete: ${path} is missing`)
  if (!openWith) throw new BackupError('the backup is encrypted: add --identity-file or --passphrase-file')
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  try {
    if ('passphrase' in openWith) decrypter.addPassphrase(openWith.passphrase)
    else for (const identity of openWith.identities) decrypter.addIdentity(identity)
  } catch {
    throw new BackupError(
      'the identity file must contain age identities, as age-keygen creates them: AGE-SECRET-KEY-1…',
    )
  }
  try {
    return { name, bytes: Buffer.from(await decrypter.decrypt(readFileSync(path))) }
  } catch {
    throw new BackupError(`${path} cannot be opened: the passphrase or identity is wrong, or the file is damaged`)
  }
}

function keyFile(target: string, name: string): string {
  return join(target, 'keys', `${name}.age`)
}

/** Encrypts with AES-256-GCM into nonce, ciphertext and tag. The id is authenticated too, so that no chunk can replace another. */
export function encryptChunk(key: ChunkKey, id: string, content: Buffer): Buffer {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key.bytes, iv).setAAD(Buffer.from(id))
  return Buffer.concat([iv, cipher.update(content), cipher.final(), cipher.getAuthTag()])
}

/** @throws Error if it was changed */
export function decryptChunk(key: ChunkKey, id: string, stored: Buffer): Buffer {
  const [iv, tag] = [stored.subarray(0, ivBytes), stored.subarray(-tagBytes)]
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, iv, { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(id)).setAuthTag(tag)
  return Buffer.concat([decipher.update(stored.subarray(ivBytes, -tagBytes)), decipher.final()])
}
