import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Static } from '@sinclair/typebox'
import { Type, Value } from '../../kernel/typebox.js'

/** A backup that is damaged, incomplete or foreign, or a target that cannot be used. The message states the file and the reason. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

export const format = 'transferd backup 1'

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Bytes = Type.Integer({ minimum: 0 })
const Nullable = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Union([schema, Type.Null()])
const closed = { additionalProperties: false }

const Chunk = Type.Object(
  {
    /** The SHA-256 of its content. */
    id: Sha256,
    bytes: Bytes,
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

export function chunksOf({ parts }: Manifest): Chunk[] {
  return parts.flatMap(({ chunks }) => chunks)
}

export function bytesOf(manifest: Manifest): number {
  return chunksOf(manifest).reduce((sum, { bytes }) => sum + bytes, 0)
}

const manifestName = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z\.json$/

/** Returns the paths of all manifests in the target, oldest first. Each stands for a complete backup, because the manifest is written last. */
export function manifestsIn(target: string): string[] {
  const directory = join(target, 'sets')
  try {
    const names = readdirSync(directory).filter((name) => manifestName.test(name))
    return names.sort().map((name) => join(directory, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** @throws BackupError */
export function readManifest(path: string): Manifest {
  let manifest: unknown
  try {
    manifest = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new BackupError(`${path} cannot be read: ${(error as Error).message}`)
  }
  if (!Value.Check(Manifest, manifest)) {
    const at = Value.Errors(Manifest, manifest).First()?.path
    throw new BackupError(`${path} is not a manifest that this version of transferd can read (at ${at || '/'})`)
  }
  if (new Set(manifest.parts.map(({ name }) => name)).size < manifest.parts.length)
    throw new BackupError(`${path} names a part twice`)
  return manifest
}
