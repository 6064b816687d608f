import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { writeFileDurably } from '../files/durable-file.js'
import { BackupError, type Chunk } from './backup-manifest.js'
import { type ChunkKey, decryptChunk, encryptChunk } from './chunk-encryption.js'

/** A damaged chunk must not fill the memory. The largest intact one ends with an append of 16 MiB or a receipt. */
const maxChunkBytes = 64 * 1024 * 1024

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Stores chunks under their digests, each once. */
export class ChunkWriter {
  readonly #target: string
  readonly #key: ChunkKey | undefined
  readonly #known: Map<string, Chunk>
  /** The bytes that this writer has added to the target. */
  newBytes = 0

  /** @param earlier the chunks of earlier backups that can be opened in the same way as this one */
  constructor(target: string, key: ChunkKey | undefined, earlier: Iterable<Chunk>) {
    this.#target = target
    this.#key = key
    this.#known = new Map([...earlier].map((chunk) => [chunk.id, chunk]))
  }

  /** Stores a chunk, or reads back the stored one. A stored chunk that has been damaged is stored again. @throws BackupError */
  put(content: Buffer): Chunk {
    const id = sha256(content)
    const known = this.#known.get(id)
    if (known && isIntact(this.#target, known)) return known
    const packed = gzipSync(content, { level: 3 })
    const stored = this.#key ? encryptChunk(this.#key, id, packed) : packed
    const chunk = { id, bytes: content.length, storedSha256: sha256(stored), key: this.#key?.name ?? null }
    const path = pathOf(this.#target, chunk)
    // The draft has a fixed name, so that the next backup replaces what a killed one left.
    writeFileDurably(path, stored, `${path}.draft`)
    if (!isIntact(this.#target, chunk)) throw new BackupError(`${path} does not contain what was written`)
    this.newBytes += stored.length
    this.#known.set(id, chunk)
    return chunk
  }
}

/** Returns the content of a chunk. @throws BackupError if it is missing, damaged or another chunk */
export function readChunk(target: string, chunk: Chunk, keys: ReadonlyMap<string, ChunkKey>): Buffer {
  const path = pathOf(target, chunk)
  const stored = storedBytes(path)
  if (!stored) throw new BackupError(`the backup is incomplete: ${path} is missing`)
  const damaged = new BackupError(`the backup is damaged: ${path}`)
  if (sha256(stored) !== chunk.storedSha256) throw damaged
  const key = chunk.key === null ? undefined : keys.get(chunk.key)
  if (chunk.key !== null && !key) throw new BackupError(`${path} is encrypted with a key that is not in the backup`)
  let content: Buffer
  try {
    content = gunzipSync(key ? decryptChunk(key, chunk.id, stored) : stored, { maxOutputLength: maxChunkBytes })
  } catch {
    throw damaged
  }
  if (content.length !== chunk.bytes || sha256(content) !== chunk.id) throw damaged
  return content
}

function isIntact(target: string, chunk: Chunk): boolean {
  const stored = storedBytes(pathOf(target, chunk))
  return stored !== undefined && sha256(stored) === chunk.storedSha256
}

function storedBytes(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Chunks with different keys have different names, so that a stored chunk is never replaced by a different one. */
function pathOf(target: string, { id, key }: Pick<Chunk, 'id' | 'key'>): string {
  return join(target, 'chunks', id.slice(0, 2), key === null ? id : `${id}.${key}`)
}
