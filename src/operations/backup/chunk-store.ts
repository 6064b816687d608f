import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { writeDurably } from './durably.js'
import { type ChunkKey, decryptChunk, encryptChunk } from './encryption.js'
import { BackupError } from './manifest.js'
import type { Chunk } from './manifest-schema.js'

/** No part is larger, so that a damaged one cannot fill the memory. */
const maxChunkBytes = 8 * 1024 * 1024

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Writes parts under their digests, each once. */
export class ChunkWriter {
  readonly #target: string
  readonly #key: ChunkKey | undefined
  /** By id: those of earlier backups that whoever opens this one can open. */
  readonly #known: Map<string, Chunk>
  newBytes = 0

  constructor(target: string, key: ChunkKey | undefined, earlier: Iterable<Chunk>) {
    this.#target = target
    this.#key = key
    this.#known = new Map([...earlier].map((chunk) => [chunk.id, chunk]))
  }

  /** One that is there is read back: where it was damaged since, it is written anew. */
  put(plain: Buffer): Chunk {
    const id = sha256(plain)
    const known = this.#known.get(id)
    if (known && isIntact(this.#target, known)) return known
    const packed = gzipSync(plain, { level: 3 })
    const stored = this.#key ? encryptChunk(this.#key, id, packed) : packed
    const chunk = { id, bytes: plain.length, storedSha256: sha256(stored), key: this.#key?.name ?? null }
    writeDurably(pathOf(this.#target, chunk), stored)
    if (!isIntact(this.#target, chunk))
      throw new BackupError(`${pathOf(this.#target, chunk)} does not hold what was written`)
    this.newBytes += stored.length
    this.#known.set(id, chunk)
    return chunk
  }
}

/** @throws BackupError where it is missing, damaged or another one's */
export function readChunk(target: string, chunk: Chunk, keys: ReadonlyMap<string, ChunkKey>): Buffer {
  const path = pathOf(target, chunk)
  const stored = storedBytes(path)
  if (!stored) throw new BackupError(`the backup is incomplete: ${path} is missing`)
  const damaged = new BackupError(`the backup is damaged: ${path}`)
  if (sha256(stored) !== chunk.storedSha256) throw damaged
  const key = chunk.key === null ? undefined : keys.get(chunk.key)
  if (chunk.key !== null && !key) throw new BackupError(`${path} is encrypted with a key that is not in the backup`)
  let plain: Buffer
  try {
    plain = gunzipSync(key ? decryptChunk(key, chunk.id, stored) : stored, { maxOutputLength: maxChunkBytes })
  } catch {
    throw damaged
  }
  if (plain.length !== chunk.bytes || sha256(plain) !== chunk.id) throw damaged
  return plain
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

/** Parts of another key have another name, so that nothing that is there is ever replaced by something else. */
function pathOf(target: string, { id, key }: Pick<Chunk, 'id' | 'key'>): string {
  return join(target, 'chunks', id.slice(0, 2), key === null ? id : `${id}.${key}`)
}
