import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from './durably.js'
import { BackupError } from './manifest.js'

/** What a backup is encrypted to; with none of them it is not. */
export type EncryptTo = { readonly recipients: readonly string[] } | { readonly passphrase: string } | undefined
/** What opens it again. */
export type OpenWith = { readonly identities: readonly string[] } | { readonly passphrase: string } | undefined

export interface ChunkKey {
  readonly name: string
  readonly bytes: Buffer
}

const ivBytes = 12
const tagBytes = 16

/** As a manifest names it. */
export function encryptedTo(to: EncryptTo): string[] {
  if (!to) return []
  return 'passphrase' in to ? ['passphrase'] : [...to.recipients].sort()
}

/**
 * The key of this backup's parts, in a file that age(1) opens. Who backs up to recipients cannot open it again, so each backup has one of
 * its own; with a passphrase it is the target's first. @throws BackupError
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
  writeDurably(keyFile(target, key.name), await encrypter.encrypt(key.bytes))
  return key
}

function addRecipient(encrypter: { addRecipient(recipient: string): void }, recipient: string): void {
  try {
    encrypter.addRecipient(recipient)
  } catch {
    throw new BackupError(`${recipient} is no recipient of age: it must be age1…`)
  }
}

/** @throws BackupError */
export async function openChunkKey(target: string, name: string, openWith: OpenWith): Promise<ChunkKey> {
  const path = keyFile(target, name)
  if (!existsSync(path)) throw new BackupError(`the backup is incomplete: ${path} is missing`)
  if (!openWith) throw new BackupError('the backup is encrypted: give --identity-file or --passphrase-file')
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  try {
    if ('passphrase' in openWith) decrypter.addPassphrase(openWith.passphrase)
    else for (const identity of openWith.identities) decrypter.addIdentity(identity)
  } catch {
    throw new BackupError('the file of identities must hold what age-keygen made: AGE-SECRET-KEY-1…')
  }
  try {
    return { name, bytes: Buffer.from(await decrypter.decrypt(readFileSync(path))) }
  } catch {
    throw new BackupError(`what is given does not open ${path}: another passphrase or identity, or it is damaged`)
  }
}

function keyFile(target: string, name: string): string {
  return join(target, 'keys', `${name}.age`)
}

/** AES-256-GCM: nonce, ciphertext, tag. `id` is bound in, so that no part can stand in for another. */
export function encryptChunk(key: ChunkKey, id: string, plain: Buffer): Buffer {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key.bytes, iv).setAAD(Buffer.from(id))
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** @throws Error where it was altered */
export function decryptChunk(key: ChunkKey, id: string, stored: Buffer): Buffer {
  const [iv, tag] = [stored.subarray(0, ivBytes), stored.subarray(-tagBytes)]
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, iv, { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(id)).setAuthTag(tag)
  return Buffer.concat([decipher.update(stored.subarray(ivBytes, -tagBytes)), decipher.final()])
}
