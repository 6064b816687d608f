import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type LogRow, readLogRows, writeLogRows } from '@transferd/event-log'
import type { KeptKey } from '../../privacy/customer-keys.js'
import { keyFileIn, openEmbeddedKeyStore } from '../../privacy/embedded/embedded-key-store.js'
import { receiptsByAge, storeReceipt } from '../../read-models/receipts.js'
import { auditKeyPath } from '../audit/audit-files.js'
import { openReadModels } from '../stores/stores.js'
import type { PartName } from './backup-manifest.js'
import { BackupError } from './target-files.js'
import type { TreeSnapshot } from './tree-snapshot.js'

// A part of a backup is a sequence of records. A record is a line of JSON; if that has a field `bytes`, as many bytes follow it.

function jsonRecord(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}

function fileRecord(path: string, content: Uint8Array): Buffer {
  return Buffer.concat([jsonRecord({ path, bytes: content.length }), content])
}

/** Yields the records of chunks, each of which ends with a record. @throws BackupError */
function* readRecords(chunks: Iterable<Buffer>) {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      const lineEnd = chunk.indexOf('\n', at)
      const value = parseLine(chunk.toString('utf8', at, lineEnd))
      const bytes = Number((value as { readonly bytes?: unknown } | null)?.bytes)
      const end = lineEnd + 1 + (Number.isSafeInteger(bytes) && bytes > 0 ? bytes : 0)
      if (lineEnd < 0 || end > chunk.length) throw new BackupError('the backup is damaged: a record is incomplete')
      yield { value, content: chunk.subarray(lineEnd + 1, end) }
      at = end
    }
  }
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new BackupError('the backup is damaged: a record is not JSON')
  }
}

/** Where the service has files on this machine. Stores on servers have their own backups. */
export interface Sources {
  readonly dataDirectory: string
  readonly auditDirectory: string
  /** The directory of the embedded log. */
  readonly log: string | undefined
  /** The directory of the embedded read models. */
  readonly readModels: string | undefined
  /** The directory of embedded read models that contain the receipts. */
  readonly receipts: string | undefined
  /** The directory of `customer-keys.db`. */
  readonly keys: string | undefined
}

export interface Snapshot {
  /** The events to copy. */
  readonly through: number
  readonly tree: TreeSnapshot | undefined
  /** A copy of `read-models.db` without receipts. */
  readonly readModelsCopy: string | undefined
}

type Records = Iterable<Buffer> | AsyncIterable<Buffer>

const pageBytes = 4_096
const pagesPerRead = 256
const keysPerRead = 500

/**
 * Returns the parts of a backup. They must be read in this order: the receipts and keys that an event names are stored before the event, so
 * that copies made after the log contain them. @throws BackupError
 */
export function partsOf(sources: Sources, { through, tree, readModelsCopy }: Snapshot) {
  const { dataDirectory, log, receipts, keys } = sources
  const hasReceipts = receipts !== undefined && existsSync(join(receipts, 'read-models.db'))
  const parts: { readonly [name in PartName]: Records | undefined } = {
    events: log === undefined ? undefined : eventRecords(log, through),
    files: fileRecords(dataDirectory, tree),
    'read-models': readModelsCopy === undefined ? undefined : pagesOf(readModelsCopy),
    receipts: hasReceipts ? receiptRecords(receipts) : undefined,
    'customer-keys': keys !== undefined && existsSync(keyFileIn(keys)) ? keyRecords(keys) : undefined,
  }
  return Object.entries(parts).flatMap(([name, records]) => (records ? [{ name: name as PartName, records }] : []))
}

/** `[position, stream, revision, recordedAtMs, name, body]`; a body of bytes is `{"base64": …}`. */
function* eventRecords(directory: string, through: number): Generator<Buffer> {
  for (const { position, stream, revision, recordedAtMs, name, body } of readLogRows(directory, through)) {
    const text = typeof body === 'string' ? body : { base64: Buffer.from(body).toString('base64') }
    yield jsonRecord([position, stream, revision, recordedAtMs, name, text] satisfies EventRecord)
  }
}

type EventRecord = [
  position: LogRow['position'],
  stream: number,
  revision: number,
  recordedAtMs: number,
  name: string,
  body: string | { readonly base64: string },
]

async function* fileRecords(dataDirectory: string, tree: TreeSnapshot | undefined): AsyncGenerator<Buffer> {
  if (tree) for await (const { path, bytes } of tree.files()) yield fileRecord(`audit/${path}`, bytes)
  const auditKey = auditKeyPath(dataDirectory)
  if (existsSync(auditKey)) yield fileRecord('audit.key', readFileSync(auditKey))
}

/** The pages of a SQLite file, without a line of JSON. A page that is inserted moves the following ones by whole pages. */
function* pagesOf(path: string): Generator<Buffer> {
  const file = openSync(path, 'r')
  try {
    for (;;) {
      const block = Buffer.allocUnsafe(pagesPerRead * pageBytes)
      const bytes = readSync(file, block)
      if (bytes === 0) return
      for (let at = 0; at < bytes; at += pageBytes) yield block.subarray(at, Math.min(at + pageBytes, bytes))
    }
  } finally {
    closeSync(file)
  }
}

/** `[storedAt, base64]`, oldest first, so that a part that has grown starts with the same records. */
async function* receiptRecords(directory: string): AsyncGenerator<Buffer> {
  const readModels = await openReadModels({ engine: 'embedded', directory })
  try {
    for await (const { storedAt, base64 } of receiptsByAge(readModels)) yield jsonRecord([storedAt, base64])
  } finally {
    await readModels.close()
  }
}

/** `[id, merchantId, owner, sealed]` in the order of the ids, which is that of their creation. */
async function* keyRecords(directory: string): AsyncGenerator<Buffer> {
  const keys = openEmbeddedKeyStore({ directory })
  try {
    for (let last = ''; ; ) {
      const page = await keys.after(last, keysPerRead)
      for (const { id, merchantId, owner, sealed } of page) yield jsonRecord([id, merchantId, owner, sealed])
      if (page.length < keysPerRead) return
      last = page.at(-1)!.id
    }
  } finally {
    await keys.close()
  }
}

const keysPerWrite = 1_000

/** Writes the files of a part into a new data directory. @throws BackupError */
export const writePart: {
  readonly [name in PartName]: (directory: string, chunks: Iterable<Buffer>) => Promise<unknown>
} = {
  events: (directory, chunks) => writeLogRows(directory, logRows(chunks)),

  async files(directory, chunks) {
    for (const { value, content } of readRecords(chunks)) {
      const path = pathIn(value)
      const place = join(directory, path)
      if (existsSync(place)) throw new BackupError(`the backup is damaged: it contains ${path} twice`)
      try {
        mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
        writeFileSync(place, content, { flag: 'wx', mode: 0o600 })
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code !== 'EEXIST' && code !== 'ENOTDIR') throw error
        throw new BackupError(`the backup is damaged: a directory of ${path} is a file`)
      }
    }
  },

  async 'read-models'(directory, chunks) {
    const file = openSync(join(directory, 'read-models.db'), 'wx', 0o600)
    try {
      for (const chunk of chunks) for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at)
    } finally {
      closeSync(file)
    }
  },

  async receipts(directory, chunks) {
    const readModels = await openReadModels({ engine: 'embedded', directory })
    try {
      for (const { value } of readRecords(chunks)) {
        const [storedAt, base64] = strings(value, 2)
        await storeReceipt(readModels, Buffer.from(base64!, 'base64'), storedAt!)
      }
    } finally {
      await readModels.close()
    }
  },

  async 'customer-keys'(directory, chunks) {
    const store = openEmbeddedKeyStore({ directory })
    let keys: KeptKey[] = []
    try {
      for (const { value } of readRecords(chunks)) {
        const [id, merchantId, owner, sealed] = strings(value, 4)
        keys.push({ id: id!, merchantId: merchantId!, owner: owner!, sealed: sealed! })
        if (keys.length < keysPerWrite) continue
        await store.ensure(keys)
        keys = []
      }
      await store.ensure(keys)
    } finally {
      await store.close()
    }
  },
}

function* logRows(chunks: Iterable<Buffer>): Generator<LogRow> {
  for (const { value } of readRecords(chunks)) {
    const [position, stream, revision, recordedAtMs, name, body] = eventRecord(value)
    const stored = typeof body === 'string' ? body : Buffer.from(body.base64, 'base64')
    yield { position, stream, revision, recordedAtMs, name, body: stored }
  }
}

/** Paths never lead out of the directory. */
const pathPattern = /^(audit\.key|audit(\/(?!\.)[A-Za-z0-9._-]+)+)$/

function pathIn(value: unknown): string {
  const path = (value as { readonly path?: unknown } | null)?.path
  if (typeof path === 'string' && pathPattern.test(path)) return path
  throw new BackupError('the backup is damaged: it contains a file that does not belong in a data directory')
}

function strings(value: unknown, count: number): string[] {
  if (Array.isArray(value) && value.length === count && value.every((each) => typeof each === 'string')) return value
  throw wrongType()
}

/** A damaged row can have a text or null in a column of numbers. The restored row is damaged in the same way. */
function eventRecord(value: unknown): EventRecord {
  const columns: readonly unknown[] = Array.isArray(value) ? value : []
  const body = columns[5] as { readonly base64?: unknown } | string | null | undefined
  const isBody = typeof (typeof body === 'string' ? body : body?.base64) === 'string'
  const isColumn = (each: unknown) => each === null || ['number', 'string'].includes(typeof each)
  if (isBody && columns.length === 6 && columns.slice(0, 5).every(isColumn)) return value as EventRecord
  throw wrongType()
}

function wrongType(): BackupError {
  return new BackupError('the backup is damaged: a record has the wrong type')
}
