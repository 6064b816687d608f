import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { readChunk } from './chunk-store.js'
import { syncDirectory } from './durably.js'
import { type ChunkKey, type OpenWith, openChunkKey } from './encryption.js'
import { BackupError, type Manifest, manifestsIn, readManifest } from './manifest.js'
import { logOf } from './stage.js'

export interface RestoreOptions {
  /** The manifest of a backup, or a target: its newest one. */
  readonly backup: string
  /** Must not be there yet. */
  readonly to: string
  readonly openWith: OpenWith
  /** Looks at the directory before it gets its name, and throws where it does not hold. */
  readonly verify: (manifest: Manifest, directory: string) => Promise<void>
}

/** Nothing is in `to` before all of it is there and verified. @throws BackupError */
export async function restore({ backup, to, openWith, verify }: RestoreOptions): Promise<Manifest> {
  const place = resolve(to)
  requireFree(place)
  const { path, target } = locate(resolve(backup))
  const manifest = readManifest(path)
  mkdirSync(dirname(place), { recursive: true })
  requireRoom(manifest, dirname(place))
  const keys = await keysOf(manifest, target, openWith)
  const draft = mkdtempSync(`${place}.restoring-`)
  try {
    for (const file of assembled(manifest, target, keys, draft)) requireSound(join(draft, file), file)
    requireLog(manifest, draft)
    await verify(manifest, draft)
    requireFree(place)
    renameSync(draft, place)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    throw error
  }
  syncDirectory(dirname(place))
  return manifest
}

function requireFree(place: string): void {
  if (existsSync(place)) throw new BackupError(`${place} is there already: nothing is ever restored over something`)
}

function locate(backup: string): { readonly path: string; readonly target: string } {
  if (!existsSync(backup)) throw new BackupError(`there is no backup: ${backup}`)
  if (statSync(backup).isFile()) return { path: backup, target: dirname(dirname(backup)) }
  const path = manifestsIn(backup).at(-1)
  if (path === undefined) throw new BackupError(`there is no complete backup in ${backup}`)
  return { path, target: backup }
}

function requireRoom({ files }: Manifest, directory: string): void {
  const needed = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const { bavail, bsize } = statfsSync(directory)
  if (bavail * bsize < needed) throw new BackupError(`${directory} has no room for ${needed} bytes`)
}

async function keysOf(
  { chunks }: Manifest,
  target: string,
  openWith: OpenWith,
): Promise<ReadonlyMap<string, ChunkKey>> {
  const names = new Set(chunks.flatMap(({ key }) => key ?? []))
  const keys = new Map<string, ChunkKey>()
  for (const name of names) keys.set(name, await openChunkKey(target, name, openWith))
  return keys
}

/** Writes the files of the parts, and names each that is complete, on disk and what the manifest says. @throws BackupError */
function* assembled(
  manifest: Manifest,
  target: string,
  keys: ReadonlyMap<string, ChunkKey>,
  directory: string,
): Iterable<string> {
  const parts = manifest.chunks[Symbol.iterator]()
  let rest: Buffer = Buffer.alloc(0)
  for (const { path, bytes, sha256 } of manifest.files) {
    const place = join(directory, path)
    mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
    const hash = createHash('sha256')
    const file = openSync(place, 'wx', 0o600)
    try {
      for (let missing = bytes; missing > 0; ) {
        if (rest.length === 0) rest = readChunk(target, parts.next().value!, keys)
        const taken = rest.subarray(0, missing)
        writeAll(file, taken)
        hash.update(taken)
        missing -= taken.length
        rest = rest.subarray(taken.length)
      }
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    if (hash.digest('hex') !== sha256) throw new BackupError(`the backup is damaged: ${path} is not what was backed up`)
    yield path
  }
  for (const folder of readdirSync(directory, { recursive: true, withFileTypes: true }))
    if (folder.isDirectory()) syncDirectory(join(folder.parentPath, folder.name))
  syncDirectory(directory)
}

function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}

function requireSound(place: string, path: string): void {
  if (!path.endsWith('.db')) return
  const database = new Database(place, { fileMustExist: true })
  try {
    const found = database.pragma('quick_check', { simple: true })
    if (found !== 'ok') throw new BackupError(`${path} is damaged: ${found}`)
  } finally {
    database.close()
  }
}

function requireLog({ log }: Manifest, directory: string): void {
  if (log === null) return
  if (!existsSync(join(directory, 'events.db'))) throw new BackupError('the backup is incomplete: it has no log')
  const found = logOf(directory)
  if (found.events !== log.events || found.position !== log.position)
    throw new BackupError(
      `the log ends at ${found.position} with ${found.events} events, and should at ${log.position} with ${log.events}`,
    )
}
