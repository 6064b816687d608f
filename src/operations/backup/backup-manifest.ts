import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Static } from '@sinclair/typebox'
import type { LogEnd } from '@transferd/event-log'
import { parseTime } from '../../kernel/time.js'
import { Type, Value } from '../../kernel/typebox.js'
import { BackupError, readTargetFile } from './target-files.js'

export const format = 'transferd backup 1'

/** A damaged chunk must not fill the memory. The largest intact one ends with an append of 16 MiB or a receipt. */
export const maxChunkBytes = 64 * 1024 * 1024
/** Compression and encryption add at most a few bytes per kibibyte. */
const maxStoredBytes = maxChunkBytes + 1024 * 1024
/** The manifest of a backup of some 400 GB. */
export const maxManifestBytes = 256 * 1024 * 1024

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Bytes = Type.Integer({ minimum: 0 })
const Nullable = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Union([schema, Type.Null()])
const closed = { additionalProperties: false }

const Chunk = Type.Object(
  {
    /** The SHA-256 of its content. */
    id: Sha256,
    bytes: Bytes,
    /** The size of the stored file, which is read only if it has this size. */
    storedBytes: Type.Integer({ minimum: 0, maximum: maxStoredBytes }),
    /** The SHA-256 of the stored file, which is compressed and, with a key, encrypted. */
    storedSha256: Sha256,
    /** The name of the key that it is encrypted with, or null. */
    key: Nullable(Type.String({ pattern: '^[0-9a-f]{16}$' })),
  },
  closed,
)

/** docs/operating/backup.md describes each part. A restore writes them in this order. */
const PartName = Type.Union([
  Type.Literal('events'),
  Type.Literal('files'),
  Type.Literal('read-models'),
  Type.Literal('receipts'),
  Type.Literal('customer-keys'),
])

/** The contents of one backup, as docs/operating/backup.md describes them. */
const Manifest = Type.Object(
  {
    format: Type.Literal(format),
    createdAt: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' }),
    /** Null if the log is on a server. */
    log: Type.Union([
      Type.Object(
        {
          events: Type.Integer({ minimum: 0 }),
          /** The position of the last event, or null for an empty log. */
          position: Nullable(Type.String({ pattern: '^\\d{1,19}$' })),
          lastEventAt: Nullable(Type.String()),
        },
        closed,
      ),
      Type.Null(),
    ]),
    /** The signed checkpoint of the tree in this backup, or null without a tree. */
    checkpoint: Nullable(Type.String({ maxLength: 65_536 })),
    /** Why the log did not verify against the tree, in sentences; at most a hundred. */
    problems: Type.Array(Type.String({ maxLength: 4_096 }), { maxItems: 100 }),
    /** The age recipients, or `passphrase`; empty if the backup is not encrypted. */
    encryptedTo: Type.Array(Type.String({ maxLength: 4_096 })),
    /** Each part is the content of its chunks, in this order. */
    parts: Type.Array(Type.Object({ name: PartName, chunks: Type.Array(Chunk) }, closed), { minItems: 1 }),
  },
  closed,
)

export type Manifest = Static<typeof Manifest>
export type Chunk = Static<typeof Chunk>
export type PartName = Static<typeof PartName>

/** Returns the end of a log as a manifest states it. */
export function statedEnd({ position, recordedAtMs }: LogEnd): NonNullable<Manifest['log']> {
  return {
    events: position,
    position: position === 0 ? null : String(position),
    lastEventAt: recordedAtMs === undefined ? null : new Date(recordedAtMs).toISOString(),
  }
}

export function chunksOf({ parts }: Manifest): Chunk[] {
  return parts.flatMap(({ chunks }) => chunks)
}

export function bytesOf(manifest: Manifest): number {
  return chunksOf(manifest).reduce((sum, { bytes }) => sum + bytes, 0)
}

const manifestName = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z\.json$/

/**
 * Returns the paths of all manifests in the target, oldest first. Each stands for a complete backup, because the manifest is written last.
 * @throws BackupError
 */
export function manifestsIn(target: string): string[] {
  const directory = join(target, 'sets')
  try {
    const names = readdirSync(directory).filter((name) => manifestName.test(name))
    return names.sort().map((name) => join(directory, name))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    throw new BackupError(`${directory} cannot be read: ${message}`, { cause: error })
  }
}

/** @throws BackupError */
export function readManifest(path: string): Manifest {
  const content = readTargetFile(path, { maxBytes: maxManifestBytes })
  if (!content) throw new BackupError(`${path} is missing`)
  let manifest: unknown
  try {
    manifest = JSON.parse(content.toString('utf8'))
  } catch (error) {
    throw new BackupError(`${path} cannot be read: ${(error as Error).message}`)
  }
  if (!Value.Check(Manifest, manifest)) {
    const at = Value.Errors(Manifest, manifest).First()?.path
    throw new BackupError(`${path} is not a manifest that this version of transferd can read (at ${at || '/'})`)
  }
  if (parseTime(manifest.createdAt) !== manifest.createdAt)
    throw new BackupError(`${path} states a time of the backup that does not exist: ${manifest.createdAt}`)
  if (new Set(manifest.parts.map(({ name }) => name)).size < manifest.parts.length)
    throw new BackupError(`${path} names a part twice`)
  if ((manifest.log === null) === manifest.parts.some(({ name }) => name === 'events'))
    throw new BackupError(`${path} must name the part events if it states the end of a log, and only then`)
  return manifest
}
