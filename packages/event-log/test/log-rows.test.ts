import { randomUUID } from 'node:crypto'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  checkLogFile,
  KeyReservedError,
  openEventLog,
  readLogEnd,
  readLogRows,
  WrongExpectedRevisionError,
  writeLogRows,
} from '../src/event-log.js'
import { Database } from '../src/sqlite/sqlite.js'
import { StreamStore } from '../src/stream-store.js'
import { tempDirectory } from './support/temp-directory.js'

const event = (text: string, isJson = true) => ({
  id: randomUUID(),
  type: 'Type "quoted"',
  isJson,
  data: Buffer.from(text),
  metadata: Buffer.from('{ "spaced": 1.00 }'),
})

t.test('a log written from its rows has the same events at the same positions, and accepts appends', async (t) => {
  const directory = tempDirectory(t)
  const store = StreamStore.open(directory)
  await store.append('binary', 'no_stream', [event('\u0000\xff', false), event('{"a": "ü", "a": 1.50}')])
  await store.append('$$binary', 'no_stream', [event('{"$maxCount":1}')])
  await store.tombstone('ended', 'no_stream')
  for (let n = 0; n < 30; n++)
    await store.append(
      `stream-${n}`,
      'no_stream',
      Array.from({ length: 100 }, () => event('{}')),
    )
  await store.close()
  const end = readLogEnd(directory)
  t.equal(end.position, 3_004)
  const copy = join(directory, 'copy')
  t.equal(await writeLogRows(copy, readLogRows(directory, end.position)), end.position)
  t.same([...readLogRows(copy, end.position)], [...readLogRows(directory, end.position)])
  t.same(readLogEnd(copy), end)

  const [before, after] = [
    await openEventLog({ directory, writerThread: false }),
    await openEventLog({ directory: copy, writerThread: false }),
  ]
  const all = (log: typeof before) => log.readUnparsed({ maxCount: 10_000 }).then(({ events }) => events)
  t.same(await all(after), await all(before))
  t.equal((await after.readStream('stream-7')).length, 100)
  const again = after.append('stream-7', 'no_stream', [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }])
  await t.rejects(again, new WrongExpectedRevisionError('stream-7', 'no_stream', 99))
  await after.append('stream-new', 'no_stream', [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }])
  t.equal(readLogEnd(copy).position, end.position + 1)
  await Promise.all([before.close(), after.close()])
})

t.test('a log written from its rows has the same reserved keys, and a lost index is detected', async (t) => {
  const directory = tempDirectory(t)
  const log = await openEventLog({ directory, writerThread: false })
  const reserve = (to: typeof log, stream: string, keys: readonly string[], reservedFor?: string) => {
    const append = { stream, expectedRevision: 'no_stream', events: [{ type: 'T', data: {} }] } as const
    return to.appendInOrder([{ ...append, reserves: keys, reservedFor }])
  }
  for (let n = 0; n < 30; n++) await reserve(log, `order-${n}`, [`invoice ${n}`, `ü ${n}`])
  await reserve(log, 'late', ['invoice 30'], 'order-0')
  await log.append('other', 'no_stream', [{ type: 'T', data: { $reserves: ['invoice 31'] } }])
  await log.close()
  const copy = join(directory, 'copy')
  await writeLogRows(copy, readLogRows(directory, readLogEnd(directory).position))
  for (const each of [directory, copy]) t.strictSame(checkLogFile(each, 'full'), [])

  const copied = await openEventLog({ directory: copy, writerThread: false })
  for (const key of ['invoice 0', 'ü 29', 'invoice 30'])
    await t.rejects(reserve(copied, 'new', ['free', key]), new KeyReservedError('new'), key)
  await reserve(copied, 'renewed', ['invoice 0', 'invoice 30'], 'order-0')
  await reserve(copied, 'new', ['free', 'invoice 31'])
  await copied.close()

  const db = new Database(join(copy, 'events.db'))
  db.exec('DELETE FROM stream_names WHERE stream = 7')
  db.close()
  t.strictSame(checkLogFile(copy, 'full'), ['A key that order-6 reserves has a different owner, or none.'])
  t.strictSame(checkLogFile(copy, 'quick'), [])
})

t.test('an empty log ends at position 0 and is written as an empty log', async (t) => {
  const directory = tempDirectory(t)
  await (await openEventLog({ directory, writerThread: false })).close()
  t.same(readLogEnd(directory), { position: 0, recordedAtMs: undefined })
  t.equal(await writeLogRows(join(directory, 'copy'), readLogRows(directory, 0)), 0)
})

t.test('an event with an impossible time is a damaged event in its place', async (t) => {
  for (const time of [9_000_000_000_000_000, -9_000_000_000_000_000, 'never', 1.5]) {
    const directory = tempDirectory(t)
    const id = randomUUID()
    const log = await openEventLog({ directory, writerThread: false })
    const added = { type: 'T', data: {}, metadata: {} }
    await log.append('s', 'no_stream', [
      { id: randomUUID(), ...added },
      { id, ...added },
    ])
    const db = new Database(join(directory, 'events.db'))
    db.prepare('UPDATE events SET recorded_at = ? WHERE revision = 1').run(time)
    db.close()
    t.same(readLogEnd(directory), { position: 2, recordedAtMs: undefined })
    const damaged = { id, stream: 's', revision: 1, type: '$damaged', recordedAtMs: 0 }
    t.match((await log.readStream('s'))[1], damaged)
    t.match((await log.readAll({ maxCount: 10 })).events[1], damaged)
    const unparsed = (await log.readUnparsed({ maxCount: 10 })).events[1]!
    t.match(unparsed, { stream: 's', revision: 1, recordedAtMs: 0 })
    t.equal(Buffer.from(unparsed.bytes![0]!).toString(), id)
    await log.append('s', 1, [{ id: randomUUID(), ...added }])
    await log.close()
  }
})

t.test('reading stops at a missing event, and rows with a gap are not written as a log', async (t) => {
  const directory = tempDirectory(t)
  const log = await openEventLog({ directory, writerThread: false })
  for (let n = 0; n < 5; n++)
    await log.append(`s-${n}`, 'no_stream', [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }])
  await log.close()
  const damaged = join(directory, 'damaged')
  mkdirSync(damaged)
  copyFileSync(join(directory, 'events.db'), join(damaged, 'events.db'))
  const db = new Database(join(damaged, 'events.db'))
  db.exec('DELETE FROM events WHERE position = 3')
  db.close()
  t.throws(() => [...readLogRows(damaged, 5)], { name: 'BrokenLogError', message: 'position 4 follows position 2' })
  t.throws(() => [...readLogRows(directory, 6)], { name: 'BrokenLogError', message: /position 6 is missing/ })
  const rows = [...readLogRows(directory, 5)].filter(({ position }) => position !== 3)
  await t.rejects(writeLogRows(join(directory, 'copy'), rows), { name: 'BrokenLogError' })
})
