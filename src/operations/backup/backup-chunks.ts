import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { crc32, gunzipSync, gzipSync } from 'node:zlib'
import { decrypt, encrypt } from '../../kernel/sodium.js'
import { writeFileDurably } from '../files/durable-file.js'
import { type Chunk, maxChunkBytes } from './backup-manifest.js'
import { BackupError, readTargetFile } from './target-files.js'

const kibibyte = 1024
const minBytes = 256 * kibibyte
const meanExtraBytes = 256 * kibibyte
/** A backup that completes a chunk stores it again as a whole, so this is also the most that a part repeats. */
const maxBytes = 1024 * kibibyte
/** The end of a part is cut finer, because the next backup replaces its last piece. */
const openEndBytes = 128 * kibibyte

/**
 * Cuts a part into chunks between its records, at places that the content determines. A part that has grown therefore starts with the same
 * chunks, and a record that was added or removed in the middle changes one or two of them.
 */
export async function* cutIntoChunks(records: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let open: Buffer[] = []
  let bytes = 0
  for await (const record of records) {
    open.push(record)
    bytes += record.length
    if (bytes < maxBytes && (bytes < minBytes || !endsChunk(record))) continue
    yield Buffer.concat(open)
    open = []
    bytes = 0
  }
  yield* cutOpenEnd(open)
}

/** A longer record is more likely to end a chunk, so that the mean size is the same for records of every length. */
function endsChunk(record: Buffer): boolean {
  return crc32(record) < (record.length / meanExtraBytes) * 2 ** 32
}

function* cutOpenEnd(records: readonly Buffer[]): Generator<Buffer> {
  let piece: Buffer[] = []
  let bytes = 0
  for (const record of records) {
    piece.push(record)
    bytes += record.length
    if (bytes < openEndBytes) continue
    yield Buffer.concat(piece)
    piece = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(piece)
}

/** The people who can open a backup; `undefined` for a backup that is not encrypted. */
export type EncryptTo = { readonly recipients: readonly string[] } | { readonly passphrase: string } | undefined
/** The secret that opens an encrypted backup. */
export type OpenWith = { readonly identities: readonly string[] } | { readonly passphrase: string } | undefined

export type ChunkKey = { readonly name: string; readonly bytes: Buffer }

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

/** A file has a few hundred bytes for each recipient. */
const maxKeyFileBytes = 1024 * kibibyte

/** @throws BackupError */
export async function openChunkKey(target: string, name: string, openWith: OpenWith): Promise<ChunkKey> {
  const path = keyFile(target, name)
  const encrypted = readTargetFile(path, { maxBytes: maxKeyFileBytes })
  if (!encrypted) throw new BackupError(`the backup is incomplete: ${path} is missing`)
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
    return { name, bytes: Buffer.from(await decrypter.decrypt(encrypted)) }
  } catch {
    throw new BackupError(`${path} cannot be opened: the passphrase or identity is wrong, or the file is damaged`)
  }
}

function keyFile(target: string, name: string): string {
  return join(target, 'keys', `${name}.age`)
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Stores chunks under their digests, each once. */
export class ChunkWriter {
  readonly #known: Map<string, Chunk>
  /** The bytes that this writer has added to the target. */
  newBytes = 0

  /** @param earlier the chunks of earlier backups that can be opened in the same way as this one */
  constructor(
    private readonly target: string,
    private readonly key: ChunkKey | undefined,
    earlier: readonly Chunk[],
  ) {
    this.#known = new Map(earlier.map((chunk) => [chunk.id, chunk]))
  }

  /** Stores a chunk, or reads back the stored one. A stored chunk that has been damaged is stored again. @throws BackupError */
  put(content: Buffer): Chunk {
    const id = sha256(content)
    const known = this.#known.get(id)
    if (known && isIntact(this.target, known)) return known
    const packed = gzipSync(content, { level: 3 })
    // The id is authenticated too, so that no chunk can replace another.
    const stored = this.key ? encrypt(this.key.bytes, packed, Buffer.from(id)) : packed
    const sizes = { bytes: content.length, storedBytes: stored.length }
    const chunk = { id, ...sizes, storedSha256: sha256(stored), key: this.key?.name ?? null }
    const path = pathOf(this.target, chunk)
    // The draft has a fixed name, so that the next backup replaces what a killed one left.
    writeFileDurably(path, stored, `${path}.draft`)
    if (!isIntact(this.target, chunk)) throw new BackupError(`${path} differs from the written data`)
    this.newBytes += stored.length
    this.#known.set(id, chunk)
    return chunk
  }
}

/** Returns the content of a chunk. @throws BackupError if it is missing, damaged or another chunk */
export function readChunk(target: string, chunk: Chunk, keys: ReadonlyMap<string, ChunkKey>): Buffer {
  const path = pathOf(target, chunk)
  const stored = readStored(target, chunk)
  if (!stored) throw new BackupError(`the backup is incomplete: ${path} is missing`)
  const damaged = new BackupError(`the backup is damaged: ${path}`)
  if (sha256(stored) !== chunk.storedSha256) throw damaged
  const key = chunk.key === null ? undefined : keys.get(chunk.key)
  if (chunk.key !== null && !key) throw new BackupError(`${path} is encrypted with a key that is not in the backup`)
  const packed = key ? decrypt(key.bytes, stored, Buffer.from(chunk.id)) : stored
  if (!packed) throw damaged
  let content: Buffer
  try {
    content = gunzipSync(packed, { maxOutputLength: maxChunkBytes })
  } catch {
    throw damaged
  }
  if (content.length !== chunk.bytes || sha256(content) !== chunk.id) throw damaged
  return content
}

function isIntact(target: string, chunk: Chunk): boolean {
  try {
    const stored = readStored(target, chunk)
    return stored !== undefined && sha256(stored) === chunk.storedSha256
  } catch (error) {
    if (error instanceof BackupError) return false
    throw error
  }
}

function readStored(target: string, chunk: Chunk): Buffer | undefined {
  return readTargetFile(pathOf(target, chunk), { exactBytes: chunk.storedBytes })
}

/** Chunks with different keys have different names, so that a stored chunk is never replaced by a different one. */
function pathOf(target: string, { id, key }: Pick<Chunk, 'id' | 'key'>): string {
  return join(target, 'chunks', id.slice(0, 2), key === null ? id : `${id}.${key}`)
}
