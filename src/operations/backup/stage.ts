import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { backUpLog, logPath } from '@transferd/event-log'
import Database from 'better-sqlite3'
import type { ReadModels } from '../../read-models/read-models.js'
import type { SourceFile } from './cut.js'
import { BackupError, type Manifest } from './manifest.js'
import { addMissingReceipts } from './receipts.js'

/** Where the parts of a service are that have files here; what is on a server is backed up by that server's own means. */
export interface Sources {
  readonly dataDirectory: string
  readonly auditDirectory: string
  /** The directories of the embedded engines. */
  readonly log: string | undefined
  readonly readModels: string | undefined
  readonly openReadModels: (directory: string) => Promise<ReadModels>
}

export interface Staged {
  readonly files: readonly SourceFile[]
  readonly log: Manifest['log']
  readonly checkpoint: string | null
}

const roomToSpareBytes = 64 * 1024 * 1024
export const customerKeysFile = 'customer-keys.db'
const readModelsFile = 'read-models.db'

/**
 * Copies what belongs together into `directory`. The order makes it fit: read models first, as they must never be ahead of the log; the tree
 * next, as its checkpoint must not be; then the log; and after it what the log's events name, receipts and customers' keys, which are
 * stored before the events are. Each copy is one moment of its source and is checked. @throws BackupError, BackupFailedError
 */
export async function stage(sources: Sources, directory: string): Promise<Staged> {
  requireRoom(sources)
  const files: SourceFile[] = []
  const copy = (path: string, source: string) => {
    if (!existsSync(source)) return false
    copyDatabase(source, join(directory, path))
    files.push({ path, source: join(directory, path) })
    return true
  }
  const { readModels } = sources
  const hasReadModels = readModels !== undefined && copy(readModelsFile, join(readModels, readModelsFile))
  const audit = stageTree(sources.auditDirectory, directory)
  files.push(...audit.files)
  const log = sources.log === undefined ? null : stageLog(sources.log, directory)
  if (log) files.push({ path: 'events.db', source: logPath(directory) })
  if (hasReadModels) await addMissingReceipts(readModels, directory, sources.openReadModels)
  copy(customerKeysFile, join(sources.dataDirectory, customerKeysFile))
  const auditKey = join(sources.dataDirectory, 'audit.key')
  if (existsSync(auditKey)) files.push({ path: 'audit.key', source: auditKey })
  if (files.length === 0)
    throw new BackupError('there is nothing to back up here: log, read models and keys are on servers')
  return { files, log, checkpoint: audit.checkpoint }
}

/** A disk that is full of a backup would stop the service. */
function requireRoom({ dataDirectory, log, readModels }: Sources): void {
  const databases = [
    ...(log === undefined ? [] : [logPath(log)]),
    ...(readModels === undefined ? [] : [join(readModels, readModelsFile)]),
    join(dataDirectory, customerKeysFile),
  ]
  const sizes = databases
    .flatMap((path) => [path, `${path}-wal`])
    .map((path) => (existsSync(path) ? statSync(path).size : 0))
  const needed = sizes.reduce((sum, size) => sum + size, roomToSpareBytes)
  const { bavail, bsize } = statfsSync(dataDirectory)
  if (bavail * bsize >= needed) return
  const mib = (bytes: number) => `${Math.ceil(bytes / 1024 / 1024)} MiB`
  throw new BackupError(
    `the copies that a backup is made of need ${mib(needed)} in ${dataDirectory}, and ${mib(bavail * bsize)} are free`,
  )
}

/** As it is at one moment, beside whoever writes to it. @throws BackupError where it is damaged */
function copyDatabase(source: string, target: string): void {
  const database = new Database(source, { readonly: true, fileMustExist: true, timeout: 5_000 })
  try {
    database.prepare('VACUUM INTO ?').run(target)
  } finally {
    database.close()
  }
  const copy = new Database(target)
  try {
    const found = copy.pragma('integrity_check(1)', { simple: true })
    if (found !== 'ok') throw new BackupError(`${source} is damaged: ${found}`)
    // The journal mode is kept in the file, and VACUUM INTO does not copy it.
    copy.pragma('journal_mode = WAL')
  } finally {
    copy.close()
  }
}

function stageLog(source: string, directory: string): NonNullable<Manifest['log']> {
  backUpLog(source, logPath(directory))
  return logOf(directory)
}

/** What the log in the directory holds, system streams included. */
export function logOf(directory: string): NonNullable<Manifest['log']> {
  const database = new Database(logPath(directory), { fileMustExist: true })
  try {
    const events = database.prepare('SELECT count(*) FROM events').pluck().get() as number
    const last = database
      .prepare('SELECT position, recorded_at AS atMs FROM events ORDER BY position DESC LIMIT 1')
      .get()
    const { position, atMs } = (last ?? {}) as { position?: number; atMs?: number }
    return {
      events,
      position: position === undefined ? null : String(position),
      lastEventAt: atMs === undefined ? null : new Date(atMs).toISOString(),
    }
  } finally {
    database.close()
  }
}

/** The tree as its checkpoint has it. A partial tile goes when its whole one has come: then all is looked at again. */
function stageTree(auditDirectory: string, directory: string): { files: SourceFile[]; checkpoint: string | null } {
  const path = join(auditDirectory, 'checkpoint')
  if (!existsSync(path)) return { files: [], checkpoint: null }
  const checkpoint = readFileSync(path, 'utf8')
  for (;;) {
    const staged = join(directory, 'audit')
    rmSync(staged, { recursive: true, force: true })
    try {
      const files = treeFiles(auditDirectory, staged)
      // What has come since is of a later tree.
      writeFileSync(join(staged, 'checkpoint'), checkpoint)
      return { files, checkpoint }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

function treeFiles(auditDirectory: string, staged: string): SourceFile[] {
  const names = readdirSync(auditDirectory, { recursive: true, encoding: 'utf8', withFileTypes: true })
  const files = names.filter((entry) => entry.isFile() && !entry.name.endsWith('.draft') && !entry.name.startsWith('.'))
  return files
    .map((entry) => join(entry.parentPath, entry.name).slice(auditDirectory.length + 1))
    .sort()
    .map((name) => {
      const copy = join(staged, name)
      mkdirSync(dirname(copy), { recursive: true })
      stageFile(join(auditDirectory, name), copy, name.startsWith('tile/') && !name.includes('.p/'))
      return { path: `audit/${name}`, source: copy }
    })
}

/** A whole tile never changes, so another name for it is a copy, where it is on the same disk. */
function stageFile(source: string, copy: string, isWholeTile: boolean): void {
  if (isWholeTile) {
    try {
      linkSync(source, copy)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error
    }
  }
  copyFileSync(source, copy)
}
