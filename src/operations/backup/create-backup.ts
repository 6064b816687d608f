import { existsSync, mkdirSync, realpathSync, rmSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { BrokenLogError, type LogEnd, readLogEnd } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import { VerificationError } from '@transferd/transparency-log'
import { collections } from '../../read-models/documents.js'
import { writeFileDurably } from '../files/durable-file.js'
import { openReadModels } from '../stores/stores.js'
import { ChunkWriter, chunkKeyFor, cutIntoChunks, type EncryptTo, encryptedTo } from './backup-chunks.js'
import {
  type Chunk,
  chunksOf,
  format,
  type Manifest,
  manifestsIn,
  maxManifestBytes,
  readManifest,
  statedEnd,
} from './backup-manifest.js'
import { partsOf, type Snapshot, type Sources } from './backup-parts.js'
import { BackupError } from './target-files.js'
import { TreeSnapshot } from './tree-snapshot.js'

export interface CreateBackupOptions {
  readonly sources: Sources
  /** A directory. If it has earlier backups, only new content is stored. */
  readonly target: string
  readonly encryptTo: EncryptTo
  readonly withReadModels: boolean
  /** ISO 8601 */
  readonly at: string
  /** Compares the log with the tree, and returns the problems as sentences. */
  readonly verify: (tree: TreeSnapshot | undefined) => Promise<readonly string[]>
}

const spareBytes = 64 * 1024 * 1024

/** Returns the path of the manifest, which `restore` takes, and the bytes that the target has gained. @throws BackupError */
export async function createBackup(options: CreateBackupOptions) {
  const { sources, target, encryptTo, withReadModels, verify } = options
  requireSeparateTarget(sources, target)
  // An option that is forgotten once must not store a plaintext backup next to encrypted ones.
  if (!encryptTo && manifestsIn(target).some((earlier) => readManifest(earlier).encryptedTo.length > 0))
    throw new BackupError(
      `the backups in ${target} are encrypted: add --recipient or --passphrase-file, or choose another target`,
    )
  const release = lockBackups(sources.dataDirectory)
  const staging = join(sources.dataDirectory, 'backup.staging')
  try {
    // A killed backup may have left it.
    rmSync(staging, { recursive: true, force: true })
    // In this order: neither the read models nor the tree may be ahead of the log.
    const readModelsCopy = withReadModels ? await copyReadModels(sources, staging) : undefined
    const { tree, end } = await TreeSnapshot.withLogEnd(sources.auditDirectory, () =>
      sources.log === undefined ? undefined : readLogEnd(sources.log),
    )
    const problems = await verify(tree)
    return await store(options, end, { through: end?.position ?? 0, tree, readModelsCopy }, problems.slice(0, 100))
  } catch (error) {
    throw explained(error, target)
  } finally {
    rmSync(staging, { recursive: true, force: true })
    release()
  }
}

/** A backup within its source is lost together with it. @throws BackupError */
function requireSeparateTarget({ dataDirectory, auditDirectory, ...stores }: Sources, target: string): void {
  if (existsSync(target) && !statSync(target).isDirectory()) throw new BackupError(`${target} is not a directory`)
  for (const source of [dataDirectory, auditDirectory, ...Object.values(stores)]) {
    if (source !== undefined && isWithin(target, source))
      throw new BackupError(
        `${target} is in ${source} and would be lost with it: choose a directory elsewhere, preferably on another disk`,
      )
  }
}

function isWithin(path: string, directory: string): boolean {
  const way = relative(realPath(directory), realPath(path))
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Resolves links, also in the path of a directory that does not exist yet. */
function realPath(path: string): string {
  const absolute = resolve(path)
  return existsSync(absolute) ? realpathSync(absolute) : join(realPath(dirname(absolute)), basename(absolute))
}

/** Copies the lists as of one point in time, without the receipts, which are a separate part. @throws BackupError */
async function copyReadModels({ dataDirectory, readModels }: Sources, staging: string): Promise<string | undefined> {
  const source = readModels && join(readModels, 'read-models.db')
  if (source === undefined || !existsSync(source)) return undefined
  requireSpace(source, dataDirectory)
  mkdirSync(staging, { mode: 0o700 })
  const copy = join(staging, 'read-models.db')
  const live = new Database(source, { readonly: true, fileMustExist: true, timeout: 5_000 })
  runAndClose(live, () => live.prepare('VACUUM INTO ?').run(copy))
  const opened = await openReadModels({ engine: 'embedded', directory: staging })
  await opened.drop(collections.receipts).finally(() => opened.close())
  const compacted = new Database(copy)
  runAndClose(compacted, () => compacted.exec('VACUUM'))
  return copy
}

function runAndClose(database: Database, work: () => void): void {
  try {
    work()
  } finally {
    database.close()
  }
}

/** A backup must not fill the disk of the service. */
function requireSpace(source: string, dataDirectory: string): void {
  const needed = 2 * (statSync(source).size + (statSync(`${source}-wal`, { throwIfNoEntry: false })?.size ?? 0))
  const { bavail, bsize } = statfsSync(dataDirectory)
  if (bavail * bsize >= needed + spareBytes) return
  const mebibytes = (bytes: number) => `${Math.ceil(bytes / 1024 / 1024)} MiB`
  throw new BackupError(
    `copying the read models needs ${mebibytes(needed + spareBytes)} in ${dataDirectory}, where ${mebibytes(bavail * bsize)} are free`,
  )
}

async function store(
  { sources, target, encryptTo, at }: CreateBackupOptions,
  end: LogEnd | undefined,
  snapshot: Snapshot,
  problems: string[],
) {
  mkdirSync(target, { recursive: true, mode: 0o700 })
  const to = encryptedTo(encryptTo)
  const alike = manifestsIn(target)
    .map(readManifest)
    .filter((earlier) => String(earlier.encryptedTo) === String(to))
  const earlier = alike.flatMap(chunksOf)
  const key = await chunkKeyFor(target, encryptTo, earlier.at(-1)?.key ?? undefined)
  const writer = new ChunkWriter(target, key, earlier)
  const parts: Manifest['parts'] = []
  for (const { name, records } of partsOf(sources, snapshot)) {
    const chunks: Chunk[] = []
    for await (const content of cutIntoChunks(records)) chunks.push(writer.put(content))
    parts.push({ name, chunks })
  }
  if (parts.every(({ chunks }) => chunks.length === 0))
    throw new BackupError('there is nothing to back up on this machine: the log, read models and keys are on servers')
  const log = end ? statedEnd(end) : null
  const checkpoint = snapshot.tree?.checkpoint ?? null
  const common = { format, createdAt: at, log, checkpoint, problems } as const
  const manifest: Manifest = { ...common, encryptedTo: to, parts }
  const text = `${JSON.stringify(manifest)}\n`
  if (text.length > maxManifestBytes) throw new BackupError(`${target} cannot contain more: choose another target`)
  const backup = join(target, 'sets', `${at.replaceAll(':', '-')}.json`)
  // The manifest comes last. Without it the chunks are not a backup.
  writeFileDurably(backup, text)
  readManifest(backup)
  return { backup, manifest, newBytes: writer.newBytes + text.length }
}

/** The operating system releases the lock with the process, even if the process is killed. */
function lockBackups(dataDirectory: string): () => void {
  const database = new Database(join(dataDirectory, 'backup.lock'), { timeout: 0 })
  try {
    database.pragma('locking_mode = EXCLUSIVE')
    database.exec('BEGIN EXCLUSIVE')
    return () => database.close()
  } catch (error) {
    database.close()
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY'))
      throw new BackupError(`another backup of ${dataDirectory} is in progress`)
    throw error
  }
}

function explained(error: unknown, target: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new BackupError(`no backup was created: ${message} (earlier backups in ${target} are unchanged)`)
  if (error instanceof BrokenLogError) return new BackupError(`no backup was created: the log is damaged: ${message}`)
  if (error instanceof VerificationError)
    return new BackupError(`no backup was created: the tree is damaged: ${message}`)
  return error
}
