import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { watch } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { checkLogFile, openEventLog } from '../src/event-log.js'
import { walBytesMax, walPath } from '../src/file/log-file.js'
import { logPath } from '../src/file/log-location.js'
import { Database } from '../src/sqlite/sqlite.js'
import { tempDirectory } from './support/temp-directory.js'

const megabyte = 1_000_000
const grownBytes = walBytesMax + 24 * megabyte

function event(bytes: number) {
  return { id: randomUUID(), type: 'Happened', data: { text: 'x'.repeat(bytes) }, metadata: {} }
}

/** A log whose WAL has grown beyond the limit while another program reads. */
async function world(t: Test, writerThread: boolean) {
  const directory = tempDirectory(t)
  const store = await openEventLog({ directory, writerThread })
  let stored = 0
  const append = async (bytes: number) => {
    await store.append(`some-${stored++}`, 'no_stream', [event(bytes)])
  }
  await append(1)
  const reader = new Database(logPath(directory), { readonly: true })
  t.teardown(() => reader.close())
  reader.exec('BEGIN')
  const read = () => reader.prepare('SELECT count(*) FROM events').pluck().get()
  t.equal(read(), 1)
  const walBytes = () => statSync(walPath(directory)).size
  while (walBytes() < grownBytes) await append(megabyte)
  t.equal(read(), 1)
  const endReading = () => reader.exec('COMMIT')
  const isIntact = async () => {
    t.equal(read(), stored)
    await store.close()
    t.same(await checkLogFile(directory, 'full'), [])
  }
  return { directory, append, walBytes, endReading, isIntact }
}

t.test('the WAL is cut after a long read, also if nothing is appended any longer', async (t) => {
  const { directory, walBytes, endReading, isIntact } = await world(t, true)
  const changes = watch(directory, { signal: AbortSignal.timeout(30_000) })
  endReading()
  for await (const _ of changes) if (walBytes() <= walBytesMax) break
  t.ok(walBytes() <= walBytesMax)
  await isIntact()
})

for (const [load, bytes] of [
  ['small', 100],
  ['large', megabyte],
] as const)
  t.test(`the WAL is cut after a long read under a continuous load of ${load} events`, async (t) => {
    const { append, walBytes, endReading, isIntact } = await world(t, true)
    endReading()
    const callers = Array.from({ length: 8 }, async () => {
      while (walBytes() > walBytesMax) await append(bytes)
    })
    await Promise.all(callers)
    await isIntact()
  })

t.test('a log without a writer thread cuts the WAL with the first append after a checkpoint', async (t) => {
  const { append, walBytes, endReading, isIntact } = await world(t, false)
  endReading()
  // Checkpoints are due after 8 MiB.
  for (let appended = 0; appended <= 9; appended++) await append(megabyte)
  t.ok(walBytes() <= walBytesMax, `${walBytes()} bytes`)
  await isIntact()
})
