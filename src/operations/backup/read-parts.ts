import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { type LogRow, readLogRows } from '@transferd/event-log'
import { keyFileIn, openEmbeddedKeyStore } from '../../privacy/embedded/embedded-key-store.js'
import { receiptsByAge } from '../../read-models/receipts.js'
import { auditKeyPath } from '../audit/audit-key.js'
import { openReadModels } from '../stores/stores.js'
import type { PartName } from './backup-manifest.js'
import { fileRecord, jsonRecord } from './part-records.js'
import type { TreeSnapshot } from './tree-snapshot.js'

/** Where the service has files on this machine. Stores on servers have their own backups. */
export interface Sources {
  readonly dataDirectory: string
  readonly auditDirectory: string
  /** The directory of the embedded log. */
  readonly log: string | undefined
  /** The directory of the embedded read models. */
  readonly readModels: string | undefined
}

export interface Snapshot {
  /** The events to copy. */
  readonly through: number
  readonly tree: TreeSnapshot | undefined
  /** A copy of `read-models.db` without receipts. */
  readonly readModelsCopy: string | undefined
}

export type Records = Iterable<Buffer> | AsyncIterable<Buffer>

const pageBytes = 4_096
const pagesPerRead = 256
const keysPerRead = 500

/**
 * Returns the parts of a backup. They must be read in this order: the receipts and keys that an event names are stored before the event, so
 * that copies made after the log contain them. @throws BackupError
 */
export function partsOf(sources: Sources, { through, tree, readModelsCopy }: Snapshot): [PartName, Records][] {
  const { dataDirectory, log, readModels } = sources
  return [
    ...(log === undefined ? [] : [['events', eventRecords(log, through)] as [PartName, Records]]),
    ['files', fileRecords(dataDirectory, tree)],
    ...(readModelsCopy === undefined ? [] : [['read-models', pagesOf(readModelsCopy)] as [PartName, Records]]),
    ...(readModels !== undefined && existsSync(join(readModels, 'read-models.db'))
      ? [['receipts', receiptRecords(readModels)] as [PartName, Records]]
      : []),
    ...(existsSync(keyFileIn(dataDirectory))
      ? [['customer-keys', keyRecords(dataDirectory)] as [PartName, Records]]
      : []),
  ]
}

/** `[position, stream, revision, recordedAtMs, name, body]`; a body of bytes is `{"base64": …}`. */
function* eventRecords(directory: string, through: number): Generator<Buffer> {
  for (const { position, stream, revision, recordedAtMs, name, body } of readLogRows(directory, through)) {
    const text = typeof body === 'string' ? body : { base64: Buffer.from(body).toString('base64') }
    yield jsonRecord([position, stream, revision, recordedAtMs, name, text] satisfies EventRecord)
  }
}

export type EventRecord = [
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
