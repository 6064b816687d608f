import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '@transferd/event-log/sqlite'
import t from 'tap'
import { checkOtherFiles } from '../../src/operations/files/file-checks.js'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { temporaryDirectory } from '../support/processes.js'

const page = 4_096
const { signal } = new AbortController()

/** Moves the write-ahead log into the database and damages a page in its middle. */
function damage(path: string): void {
  const db = new Database(path)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  const file = openSync(path, 'r+')
  const middle = Math.floor(statSync(path).size / page / 2) * page
  writeSync(file, Buffer.alloc(page, 0xa5), 0, page, middle)
  closeSync(file)
}

t.test('finds a damaged page in a file other than the log, names the file, and reports no intact file', async (t) => {
  const dataDirectory = temporaryDirectory(t)
  const location = { engine: 'embedded', directory: dataDirectory } as const
  const place = { readModels: location, receipts: location, keyStore: location }
  t.same(await checkOtherFiles(place, signal), [], 'a file that does not exist yet is not damaged')
  const readModels = await openEmbeddedReadModels({ directory: dataDirectory })
  const documents = Array.from({ length: 400 }, (_, n) => ({ _id: `${n}`, text: 'x'.repeat(400) }))
  await readModels.collection('some').bulkWrite(documents.map((document) => ({ insertOne: { document } })))
  t.same(await checkOtherFiles(place, signal), [])
  await readModels.close()
  damage(join(dataDirectory, 'read-models.db'))
  t.match(await checkOtherFiles(place, signal), [/read-models\.db: (SQLite reports|The database cannot be read): /])
  t.same(await checkOtherFiles(place, AbortSignal.abort()), [], 'returns nothing after an abort')
  const server = { engine: 'mongodb', url: 'mongodb://none' } as const
  t.same(await checkOtherFiles({ readModels: server, receipts: server, keyStore: server }, signal), [])
})
