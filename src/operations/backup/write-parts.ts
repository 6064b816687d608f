import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type LogRow, writeLogRows } from '@transferd/event-log'
import type { KeptKey } from '../../privacy/customer-keys.js'
import { openEmbeddedKeyStore } from '../../privacy/embedded/embedded-key-store.js'
import { storeReceipt } from '../../read-models/receipts.js'
import { openReadModels } from '../stores/stores.js'
import { BackupError, type PartName } from './backup-manifest.js'
import { readRecords } from './part-records.js'
import type { EventRecord } from './read-parts.js'

const keysPerWrite = 1_000

/** Writes the files of a part into a new data directory. @throws BackupError */
export const writePart: {
  readonly [name in PartName]: (directory: string, chunks: Iterable<Buffer>) => Promise<unknown>
} = {
  events: (directory, chunks) => writeLogRows(directory, logRows(chunks)),

  async files(directory, chunks) {
    for (const { value, content } of readRecords(chunks)) {
      const place = join(directory, pathIn(value))
      mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
      writeFileSync(place, content, { flag: 'wx', mode: 0o600 })
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
        const [storedAt, base64] = strings(value)
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
        const [id, merchantId, owner, sealed] = strings(value)
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
    const [position, stream, revision, recordedAtMs, name, body] = value as EventRecord
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

function strings(value: unknown): string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
  throw new BackupError('the backup is damaged: a record has the wrong type')
}
