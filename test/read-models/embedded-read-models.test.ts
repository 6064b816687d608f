import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Database } from '@transferd/event-log/sqlite'
import t from 'tap'
import { EmbeddedReadModels, openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { Connection } from '../../src/read-models/embedded/sqlite-connection.js'
import { type Filter, ReadModelsUnavailableError, type WriteOperation } from '../../src/read-models/read-models.js'

const OTHER_PROCESS = fileURLToPath(new URL('./other-process.js', import.meta.url))

t.test('throws for an invalid filter or update and names it', async (t) => {
  const readModels = await openEmbeddedReadModels({ directory: t.testdir() })
  t.teardown(() => readModels.close())
  await readModels.createIndexes('things', [{ key: { status: 1 } }])
  const things = readModels.collection('things')
  for (const [filter, message] of [
    [{ amount: 1 }, /"amount" of "things" is not indexed/],
    [{ status: { $regex: 'a' } }, /\$regex on "status"/],
    [{ status: /a/ }, /"status".*RegExp/],
    [{ status: [1] }, /"status".*Array/],
    [{ status: { sub: 1 } }, /"status".*Object/],
    [{ status: {} }, /"status" has no operator/],
    [{ status: { $in: 'ab' } }, /\$in on "status" takes an array/],
    [{ status: { $in: [[1]] } }, /"status".*Array/],
    [{ status: { $gt: new Date() } }, /"status".*Date/],
    [{ status: Number.NaN }, /"status" holds NaN/],
    [{ status: undefined }, /"status".*undefined/],
    [{ status: { $gt: undefined } }, /\$gt on "status" has no operand/],
    [{ status: { $exists: 1 } }, /\$exists on "status" takes a boolean/],
    [{ $nor: [{}] }, /\$nor/],
    [{ $or: [] }, /\$or takes a non-empty array/],
    [{ 'x" OR 1 --': 1 }, /not a field name/],
    [{ 'status.sub': 1 }, /not a field name/],
  ] as [Filter, RegExp][]) {
    await t.rejects(things.find(filter), { name: 'TypeError', message })
    await t.rejects(things.countDocuments(filter), { name: 'TypeError', message })
  }
  await t.rejects(things.find({}, { sort: { amount: 1 } }), /"amount" of "things" is not indexed/)
  await t.rejects(things.find({}, { sort: { status: 2 as 1 } }), /sort direction of "status"/)
  for (const limit of [0, -1, 1.5]) await t.rejects(things.find({}, { limit }), /limit/)
  for (const field of ['x"; --', '', 'a..b', '$a', '__proto__.a', 'a b'])
    await t.rejects(readModels.createIndexes('things', [{ key: { [field]: 1 } }]), /not a field name/)
  for (const name of ['', 'a"b', 'a b', '$cmd', '1a'])
    t.throws(() => readModels.collection(name), /not a collection name/)
})

t.test('rejects writes that would change when read back, and stores nothing', async (t) => {
  const readModels = await openEmbeddedReadModels({ directory: t.testdir() })
  t.teardown(() => readModels.close())
  await readModels.createIndexes('things', [{ key: { a: 1 } }])
  const things = readModels.collection('things')
  const insert = (fields: object): WriteOperation => ({ insertOne: { document: { ...fields, _id: 'bad' } } })
  for (const [fields, message] of [
    [{ x: undefined }, /"x" holds undefined/],
    [{ x: new Date() }, /"x" holds Date/],
    [{ x: 1n }, /"x" holds 1/],
    [{ x: { y: Number.POSITIVE_INFINITY } }, /"y" holds Infinity/],
    [{ $x: 1 }, /"\$x".*not a field name/],
    [{ 'x.y': 1 }, /"x.y".*not a field name/],
    [JSON.parse('{"__proto__": {"x": 1}}'), /./],
    [{ a: [1] }, /"a".*Array/],
    [{ a: { b: 1 } }, /"a".*Object/],
  ] as [object, RegExp][]) {
    const bulk = [{ insertOne: { document: { _id: 'good' } } }, insert(fields)]
    if (Object.keys(fields).includes('__proto__'))
      bulk[1] = { insertOne: { document: Object.assign(fields, { _id: 'bad' }) } }
    await t.rejects(things.bulkWrite(bulk), { name: 'TypeError', message })
    t.equal(await things.countDocuments({}), 0, 'the whole bulk is rolled back')
  }
  await t.rejects(things.bulkWrite([{ insertOne: { document: { _id: '' } } }]), /_id/)
  await t.rejects(things.bulkWrite(Array.from({ length: 10_001 }, () => insert({}))), /bulk of 10001/)
  const untyped: { bulkWrite(operations: readonly object[]): Promise<unknown> } = things
  await t.rejects(untyped.bulkWrite([{ nonsense: {} }]), /unknown write operation nonsense/)
})

t.test('distinguishes collections and fields that differ only in case', async (t) => {
  const readModels = await openEmbeddedReadModels({ directory: t.testdir() })
  t.teardown(() => readModels.close())
  for (const name of ['things', 'Things'])
    await readModels.createIndexes(name, [{ key: { ref: 1 } }, { key: { Ref: 1 } }])
  await readModels.collection('things').bulkWrite([{ insertOne: { document: { _id: 'a', ref: 1, Ref: 2 } } }])
  t.equal(await readModels.collection('Things').countDocuments({}), 0)
  t.equal(await readModels.collection('things').countDocuments({ ref: 1, Ref: 2 }), 1)
})

t.test('another connection notices new collections, fields, renames and drops', async (t) => {
  const directory = t.testdir()
  const [one, other] = [await openEmbeddedReadModels({ directory }), await openEmbeddedReadModels({ directory })]
  t.teardown(() => Promise.all([one.close(), other.close()]))
  const seen = other.collection('live')
  t.same(await seen.find({}), [])
  await one.collection('live').bulkWrite([{ insertOne: { document: { _id: 'a', n: 1 } } }])
  t.same(await seen.find({}), [{ _id: 'a', n: 1 }])
  await t.rejects(seen.find({ n: 1 }), /not indexed/)
  await one.createIndexes('live', [{ key: { n: 1 } }])
  t.same(await seen.find({ n: 1 }), [{ _id: 'a', n: 1 }])
  await seen.bulkWrite([{ updateOne: { filter: { _id: 'a' }, update: { $set: { n: 2 } } } }])
  t.same(
    await one.collection('live').find({ n: 2 }),
    [{ _id: 'a', n: 2 }],
    'a column that another connection added is kept up to date',
  )
  await one.collection('next').bulkWrite([{ insertOne: { document: { _id: 'b' } } }])
  await one.drop('live')
  await one.rename('next', 'live')
  t.same(await seen.find({}), [{ _id: 'b' }])
  await other.collection('next').bulkWrite([{ insertOne: { document: { _id: 'late' } } }])
  t.same(
    await one.collection('live').find({}),
    [{ _id: 'b' }],
    'a writer with the old name does not write to the new table',
  )
  await one.drop('live')
  t.same(await seen.find({}), [])
})

t.test('loses no increment of three concurrent processes', async (t) => {
  const directory = t.testdir()
  const readModels = await openEmbeddedReadModels({ directory })
  t.teardown(() => readModels.close())
  const others = [0, 1].map(() => spawn(process.execPath, [OTHER_PROCESS, directory, '300'], { stdio: 'inherit' }))
  const ended = others.map((other) => once(other, 'exit'))
  const counters = readModels.collection('counters')
  for (let n = 0; n < 300; n++)
    await counters.bulkWrite([{ updateOne: { filter: { _id: 'shared' }, update: { $inc: { n: 1 } }, upsert: true } }])
  t.same(await Promise.all(ended), [
    [0, null],
    [0, null],
  ])
  t.same(await counters.findOne({ _id: 'shared' }), { _id: 'shared', n: 900 })
})

t.test('a full disk fails writes but not reads, and writes succeed again when there is space', async (t) => {
  const connection = new Connection(join(t.testdir(), 'read-models.db'))
  const readModels = new EmbeddedReadModels(connection)
  t.teardown(() => readModels.close())
  const things = readModels.collection('things')
  await things.bulkWrite([{ insertOne: { document: { _id: 'a' } } }])
  const pages = connection.database.pragma('page_count', { simple: true })
  connection.database.pragma(`max_page_count = ${pages}`)
  const large = { insertOne: { document: { _id: 'large', text: 'x'.repeat(100_000) } } }
  await t.rejects(things.bulkWrite([large]), ReadModelsUnavailableError)
  await t.rejects(readModels.createIndexes('others', [{ key: { n: 1 } }]), ReadModelsUnavailableError)
  t.same(await things.find({}), [{ _id: 'a' }])
  t.same(await readModels.listCollections(), ['things'], 'the collection without space is not created')
  connection.database.pragma('max_page_count = 100000')
  await things.bulkWrite([large])
  t.equal(await things.countDocuments({}), 2)
})

t.test('the write-ahead log is cut after a long read', async (t) => {
  const path = join(t.testdir(), 'read-models.db')
  const connection = new Connection(path)
  const readModels = new EmbeddedReadModels(connection)
  t.teardown(() => readModels.close())
  const walBytes = () => statSync(`${path}-wal`).size
  // The limit of the service would take seconds to write.
  const limit = Number(connection.database.pragma('journal_size_limit', { simple: true }))
  t.equal(limit, 128 * 1024 * 1024)
  const small = 1024 * 1024
  for (const pragma of [`journal_size_limit = ${small}`, 'wal_autocheckpoint = 100']) connection.database.pragma(pragma)
  const things = readModels.collection('things')
  const add = (_id: string) => things.bulkWrite([{ insertOne: { document: { _id, text: 'x'.repeat(100_000) } } }])
  await add('first')
  const reader = new Database(path, { readonly: true })
  t.teardown(() => reader.close())
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM collections').pluck().get()
  for (let n = 0; walBytes() <= 2 * small; n++) await add(`thing ${n}`)
  reader.exec('COMMIT')
  // The first commit copies the log, and the second one starts it again.
  for (const id of ['copies', 'cuts']) await add(id)
  t.ok(walBytes() <= small, `${walBytes()} bytes`)
})

t.test('a writer waits for another one without blocking the event loop, and stops after a time limit', async (t) => {
  const directory = t.testdir()
  const holder = new Connection(join(directory, 'read-models.db'))
  const readModels = await openEmbeddedReadModels({ directory })
  t.teardown(async () => {
    await readModels.close()
    holder.close()
  })
  const things = readModels.collection('things')
  holder.database.exec('BEGIN IMMEDIATE')
  const write = things.bulkWrite([{ insertOne: { document: { _id: 'a' } } }])
  t.same(await things.find({}), [], 'reads do not wait')
  setTimeout(() => holder.database.exec('COMMIT'), 50)
  await write
  holder.database.exec('BEGIN IMMEDIATE')
  await t.rejects(things.bulkWrite([{ deleteOne: { filter: { _id: 'a' } } }]), ReadModelsUnavailableError)
  holder.database.exec('COMMIT')
  t.match(await things.bulkWrite([{ deleteOne: { filter: { _id: 'a' } } }]), { deletedCount: 1 })
})

t.test('writes and indexes persist after reopening', async (t) => {
  const directory = t.testdir()
  const first = await openEmbeddedReadModels({ directory })
  await first.createIndexes('things', [{ key: { n: 1 } }])
  await first.collection('things').bulkWrite([{ insertOne: { document: { _id: 'a', n: 1 } } }])
  await first.close()
  await t.rejects(first.collection('things').find({}), ReadModelsUnavailableError)
  const second = await openEmbeddedReadModels({ directory })
  t.teardown(() => second.close())
  t.same(await second.collection('things').find({ n: 1 }), [{ _id: 'a', n: 1 }])
})

t.test('the next call retries a file that could not be opened', async (t) => {
  const directory = join(t.testdir(), 'later')
  const readModels = new EmbeddedReadModels(new Connection(join(directory, 'read-models.db')))
  t.teardown(() => readModels.close())
  const things = readModels.collection('things')
  const insert = { insertOne: { document: { _id: 'a' } } }
  await mkdir(join(directory, 'read-models.db'), { recursive: true })
  await t.rejects(things.bulkWrite([insert]), ReadModelsUnavailableError)
  await t.rejects(things.find({}), ReadModelsUnavailableError)
  await rm(directory, { recursive: true })
  await mkdir(directory)
  await things.bulkWrite([insert])
  t.equal(await things.countDocuments({}), 1)
})

t.test('reports a directory that cannot be created as unavailable', async (t) => {
  const directory = join(t.testdir({ file: '' }), 'file', 'below')
  await t.rejects(openEmbeddedReadModels({ directory }), ReadModelsUnavailableError)
})

t.test('an index on a field of some documents serves its queries and changes no other result', async (t) => {
  const connection = new Connection(join(t.testdir(), 'read-models.db'))
  const readModels = new EmbeddedReadModels(connection)
  t.teardown(() => readModels.close())
  const key = { of: 1, due: 1, _id: 1 } as const
  await readModels.createIndexes('some', [{ key, having: 'due' }])
  await readModels.createIndexes('all', [{ key }])
  await t.rejects(readModels.createIndexes('some', [{ key, having: 'other' }]), /"other" is not a field of the index/)
  const dues = [undefined, null, 3, 5, '2026', true, '']
  const documents = dues.map((due, n) => ({ _id: `${n}`, of: 'a', ...(due !== undefined && { due }) }))
  for (const name of ['some', 'all']) await readModels.collection(name).put(documents)
  const conditions = [3, null, '', true, { $lte: 5 }, { $gte: '' }, { $lte: '2026' }, { $lt: null }, { $lte: null }]
  const others = [{ $in: [3, null] }, { $in: ['2026', 5] }, { $exists: true }, { $exists: false }]
  for (const due of [...conditions, ...others]) {
    const [some, all] = ['some', 'all'].map((name) => readModels.collection(name))
    const sort = { due: 1, _id: 1 } as const
    t.strictSame(
      await some!.find({ of: 'a', due }, { sort }),
      await all!.find({ of: 'a', due }, { sort }),
      JSON.stringify(due),
    )
    t.equal(await some!.countDocuments({ of: 'a', due }), await all!.countDocuments({ of: 'a', due }))
  }
  t.equal((await readModels.collection('some').find({}, { sort: { due: 1 } })).length, dues.length)
  const where = 'f0 = ? AND f1 <= ? AND f1 > -9e999'
  const plan = connection.database.prepare(`EXPLAIN QUERY PLAN SELECT id, doc FROM c1 WHERE ${where}`).all('a', 5)
  t.match(plan, [{ detail: /USING INDEX c1_i1 \(f0=\? AND f1/ }])
})
