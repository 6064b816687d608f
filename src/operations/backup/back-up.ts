import { existsSync, mkdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import Database from 'better-sqlite3'
import { ChunkWriter } from './chunk-store.js'
import { type CutFile, cut } from './cut.js'
import { writeDurably } from './durably.js'
import { chunkKeyFor, type EncryptTo, encryptedTo } from './encryption.js'
import { BackupError, format, type Manifest, manifestsIn, readManifest, setsIn } from './manifest.js'
import type { Chunk } from './manifest-schema.js'
import { type Sources, type Staged, stage } from './stage.js'

export interface BackUpOptions {
  readonly sources: Sources
  /** A directory; where there are backups in it, only what has changed is stored. */
  readonly target: string
  readonly encryptTo: EncryptTo
  /** ISO 8601 */
  readonly at: string
  /** Looks at the copies before they are stored, and throws where they do not hold. */
  readonly verify: (staged: Staged, directory: string) => Promise<void>
}

export interface BackedUp {
  /** Its manifest: what `restore` takes. */
  readonly backup: string
  readonly manifest: Manifest
  /** What this backup has added to the target, in bytes. */
  readonly newBytes: number
}

/** @throws BackupError, BackupFailedError */
export async function backUp({ sources, target, encryptTo, at, verify }: BackUpOptions): Promise<BackedUp> {
  requireElsewhere(sources, target)
  if (!encryptTo) requireClear(target)
  const release = lock(sources.dataDirectory)
  const directory = join(sources.dataDirectory, 'backup.staging')
  try {
    // What a backup that was killed has left.
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory, { mode: 0o700 })
    const staged = await stage(sources, directory)
    await verify(staged, directory)
    return await store(staged, { target, encryptTo, at })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error
    throw new BackupError(`no backup was made: ${message} (earlier ones in ${target} are as they were)`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
    release()
  }
}

/** What is lost with its source is no backup. @throws BackupError */
function requireElsewhere({ dataDirectory, auditDirectory, log, readModels }: Sources, target: string): void {
  if (existsSync(target) && !statSync(target).isDirectory()) throw new BackupError(`${target} is no directory`)
  for (const source of [dataDirectory, auditDirectory, log, readModels]) {
    if (source !== undefined && isWithin(target, source))
      throw new BackupError(
        `${target} is in ${source} and would be lost with it: name a place outside, best on another disk`,
      )
  }
}

/** An option that is forgotten once must not put what is encrypted every other day there in clear. @throws BackupError */
function requireClear(target: string): void {
  if (manifestsIn(target).some((earlier) => readManifest(earlier).encryptedTo.length > 0))
    throw new BackupError(
      `the backups in ${target} are encrypted: give --recipient or --passphrase-file, or name another target`,
    )
}

function isWithin(path: string, directory: string): boolean {
  const way = relative(real(directory), real(path))
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Where it is, or will be once it is made. */
function real(path: string): string {
  const whole = resolve(path)
  return existsSync(whole) ? realpathSync(whole) : join(real(dirname(whole)), basename(whole))
}

async function store(
  { files: sources, log, checkpoint }: Staged,
  { target, encryptTo, at }: Pick<BackUpOptions, 'target' | 'encryptTo' | 'at'>,
): Promise<BackedUp> {
  mkdirSync(target, { recursive: true, mode: 0o700 })
  const to = encryptedTo(encryptTo)
  const alike = manifestsIn(target)
    .map(readManifest)
    .filter((earlier) => String(earlier.encryptedTo) === String(to))
  const earlier = alike.flatMap(({ chunks }) => chunks)
  const key = await chunkKeyFor(target, encryptTo, earlier.at(-1)?.key ?? undefined)
  const writer = new ChunkWriter(target, key, earlier)
  const files: CutFile[] = []
  const chunks: Chunk[] = []
  for (const piece of cut(sources, (file) => files.push(file))) chunks.push(writer.put(piece))
  const manifest: Manifest = { format, createdAt: at, log, checkpoint, encryptedTo: to, files, chunks }
  const backup = join(setsIn(target), `${at.replaceAll(':', '-')}.json`)
  // Last: before it there is no backup, whatever happens.
  writeDurably(backup, `${JSON.stringify(manifest, null, 1)}\n`)
  readManifest(backup)
  return { backup, manifest, newBytes: writer.newBytes }
}

/** The operating system releases it with the process, however that ends. */
function lock(dataDirectory: string): () => void {
  const database = new Database(join(dataDirectory, 'backup.lock'), { timeout: 0 })
  try {
    database.pragma('locking_mode = EXCLUSIVE')
    database.exec('BEGIN EXCLUSIVE')
    return () => database.close()
  } catch (error) {
    database.close()
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY'))
      throw new BackupError(`another backup of ${dataDirectory} is under way`)
    throw error
  }
}
