import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { BrokenLogError, readLogEnd } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import { syncToDisk } from '../files/durable-file.js'
import { markRestored, type RestoredMark } from '../files/restored-mark.js'
import { type ChunkKey, type OpenWith, openChunkKey, readChunk } from './backup-chunks.js'
import {
  bytesOf,
  type Chunk,
  chunksOf,
  type Manifest,
  manifestsIn,
  readManifest,
  statedEnd,
} from './backup-manifest.js'
import { writePart } from './backup-parts.js'
import { BackupError } from './target-files.js'

/** `lostEvents` is the number of events that a newer checkpoint covers and the backup does not contain, or null without one. */
type Inspection = Pick<RestoredMark, 'lostEvents'>

export interface RestoreOptions<Inspected extends Inspection> {
  /** A manifest, or a target, of which the newest backup is restored. */
  readonly backup: string
  /** A directory that does not exist yet. */
  readonly to: string
  readonly openWith: OpenWith
  /** The time of the restore. */
  readonly at: string
  /** Reads the directory before it gets its name, and throws if it is invalid. */
  readonly inspect: (manifest: Manifest, directory: string) => Promise<Inspected>
}

/** Creates the directory `to` when all of the backup is written and inspected. @throws BackupError */
export async function restoreBackup<Inspected extends Inspection>(options: RestoreOptions<Inspected>) {
  const { backup, to, openWith, at, inspect } = options
  const place = resolve(to)
  requireFree(place)
  const { path, target } = locate(resolve(backup))
  const manifest = readManifest(path)
  mkdirSync(dirname(place), { recursive: true })
  const { bavail, bsize } = statfsSync(dirname(place))
  const needed = bytesOf(manifest)
  if (bavail * bsize < needed) throw new BackupError(`${dirname(place)} has no space for ${needed} bytes`)
  const keys = new Map<string, ChunkKey>()
  for (const name of new Set(chunksOf(manifest).flatMap(({ key }) => key ?? [])))
    keys.set(name, await openChunkKey(target, name, openWith))
  const draft = mkdtempSync(`${place}.restoring-`)
  try {
    for (const { name, chunks } of manifest.parts) await writePart[name](draft, contentsOf(chunks, target, keys))
    requireLog(manifest, draft)
    const inspected = await inspect(manifest, draft)
    requireIntactDatabases(draft)
    markRestored(draft, markOf(manifest, at, inspected))
    finishFiles(draft)
    requireFree(place)
    renameSync(draft, place)
    syncToDisk(dirname(place))
    return { manifest, inspected }
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    throw error instanceof BrokenLogError ? new BackupError(`the backup is damaged: ${error.message}`) : error
  }
}

function markOf({ createdAt, log }: Manifest, at: string, { lostEvents }: Inspection): RestoredMark {
  return {
    id: randomUUID(),
    backupCreatedAt: createdAt,
    restoredAt: at,
    events: log?.events ?? null,
    lastEventAt: log?.lastEventAt ?? null,
    lostEvents,
  }
}

function requireFree(place: string): void {
  if (existsSync(place)) throw new BackupError(`${place} already exists: a restore never overwrites anything`)
}

function locate(backup: string) {
  if (!existsSync(backup)) throw new BackupError(`backup not found: ${backup}`)
  if (!statSync(backup).isDirectory()) return { path: backup, target: dirname(dirname(backup)) }
  const path = manifestsIn(backup).at(-1)
  if (path === undefined) throw new BackupError(`${backup} contains no complete backup`)
  return { path, target: backup }
}

function* contentsOf(chunks: readonly Chunk[], target: string, keys: ReadonlyMap<string, ChunkKey>): Generator<Buffer> {
  for (const chunk of chunks) yield readChunk(target, chunk, keys)
}

function requireLog({ log }: Manifest, directory: string): void {
  if (log === null) return
  if (!existsSync(join(directory, 'events.db'))) throw new BackupError('the backup is incomplete: it has no log')
  const end = statedEnd(readLogEnd(directory))
  if (isDeepStrictEqual(end, log)) return
  throw new BackupError(
    `the restored log ends at position ${end.events} (${end.lastEventAt}), and the manifest states ${log.events} (${log.lastEventAt})`,
  )
}

function requireIntactDatabases(directory: string): void {
  for (const name of readdirSync(directory).filter((each) => each.endsWith('.db'))) {
    // Not read-only: the last connection then removes the write-ahead log.
    const database = new Database(join(directory, name), { fileMustExist: true })
    try {
      const found = database.pragma('quick_check', { simple: true })
      if (found !== 'ok') throw new BackupError(`${name} is damaged: ${found}`)
    } finally {
      database.close()
    }
  }
}

/** Makes each file readable for its owner only, and waits until all of them are on disk. */
function finishFiles(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) chmodSync(path, 0o600)
    syncToDisk(path)
  }
  syncToDisk(directory)
}
