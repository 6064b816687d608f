import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { openEventLog } from '../src/event-log.js'
import { type EventLog, WrongExpectedRevisionError } from '../src/event-log-types.js'
import { streamHash } from '../src/file/stream-hash.js'
import { Database } from '../src/sqlite/sqlite.js'
import { tempDirectory } from './support/temp-directory.js'

t.test('never changes the hash of a name, which is stored in logs', async (t) => {
  t.equal(streamHash('a'), 5854749488514)
  t.equal(streamHash('transfer-6f9619ff-8b86-5011-b42d-00cf4fc964ff'), 2682882079535)
  t.equal(streamHash('häuschen-日本-😀'), 34049831746670)
})

t.test('distributes hashes over 48 bits', async (t) => {
  const hashes = Array.from({ length: 100_000 }, () => streamHash(`transfer-${randomUUID()}`))
  t.ok(hashes.every((hash) => Number.isSafeInteger(hash) && hash >= 0 && hash < 2 ** 48))
  t.ok(new Set(hashes).size > 99_990)
  const buckets = new Array<number>(64).fill(0)
  for (const hash of hashes) buckets[Math.floor(hash / 2 ** 42)]! += 1
  t.ok(Math.min(...buckets) > 1_300 && Math.max(...buckets) < 1_850, 'the buckets of a merge are about equal')
})

async function create(store: EventLog, names: readonly string[]): Promise<void> {
  for (let i = 0; i < names.length; i += 250) {
    await Promise.all(
      names.slice(i, i + 250).map((name) => {
        return store.append(name, 'no_stream', [{ id: randomUUID(), type: 'T', data: { name }, metadata: {} }])
      }),
    )
  }
}

t.test('finds every stream before, during and after the merge of its name into the index', async (t) => {
  const directory = tempDirectory(t)
  const names = Array.from({ length: 12_000 }, () => `transfer-${randomUUID()}`)
  const store = await openEventLog({ directory, writerThread: false })
  // This instance reads the log once, early, and not again.
  const idle = await openEventLog({ directory, writerThread: false })
  await create(store, names.slice(0, 100))
  t.equal((await idle.readStream(names[50]!)).length, 1)
  await create(store, names.slice(100))
  const db = new Database(join(directory, 'events.db'), { readonly: true })
  t.ok(Number(db.prepare('SELECT count(*) FROM stream_names').pluck().get()) > 8_192, 'names were merged')
  db.close()
  const sample = names.filter((_, i) => i % 37 === 0)
  const reopened = await openEventLog({ directory, writerThread: false })
  for (const one of [store, idle, reopened]) {
    for (const name of sample) t.equal((await one.readStream(name)).length, 1)
    t.same(await one.readStream(`transfer-${randomUUID()}`), [])
    for (const name of sample.slice(0, 50)) {
      const second = one.append(name, 'no_stream', [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }])
      await t.rejects(second, new WrongExpectedRevisionError(name, 'no_stream', 0))
    }
  }
  await Promise.all([store, idle, reopened].map((one) => one.close()))
})

t.test('distinguishes names with the same hash', async (t) => {
  const directory = tempDirectory(t)
  const store = await openEventLog({ directory, writerThread: false })
  await create(store, ['x-1', 'x-2'])
  await store.close()
  // Simulate that both names are merged and also have the hash of a third name.
  const db = new Database(join(directory, 'events.db'))
  const insert = db.prepare('INSERT INTO stream_names VALUES (?, ?)')
  for (const name of ['x-1', 'x-2', 'x-3']) for (const number of [1, 2]) insert.run(streamHash(name), number)
  db.exec('UPDATE log_state SET indexed_through = 2')
  db.close()
  const reopened = await openEventLog({ directory, writerThread: false })
  t.teardown(() => reopened.close())
  t.equal((await reopened.readStream('x-1'))[0]?.data.name, 'x-1')
  t.equal((await reopened.readStream('x-2'))[0]?.data.name, 'x-2')
  t.same(await reopened.readStream('x-3'), [])
  await create(reopened, ['x-3'])
  t.equal((await reopened.readStream('x-3'))[0]?.data.name, 'x-3')
})
