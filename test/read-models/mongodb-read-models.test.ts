import t from 'tap'
import { openMongodbReadModels } from '../../src/read-models/mongodb/mongodb-read-models.js'
import {
  DuplicateKeyError,
  type Filter,
  ReadModelsUnavailableError,
  type WriteOperation,
} from '../../src/read-models/read-models.js'
import { mongodbUrl, testDatabaseUrl, withoutMongodb } from '../support/mongodb.js'
import { startOldMongodb } from '../support/old-mongodb.js'
import { severableProxy } from '../support/severable-proxy.js'

/**
 * Nothing listens on port 1, so a request that reaches the network fails with a different error than a rejected call.
 */
const nowhere = 'mongodb://user:hunter2@127.0.0.1:1/transferd'

t.test('rejects values that are not scalars, and unknown operators, before it sends anything', async (t) => {
  const readModels = openMongodbReadModels({ url: nowhere })
  t.teardown(() => readModels.close())
  const things = readModels.collection('things')
  for (const [filter, message] of [
    [{ status: { $regex: 'a' } }, /\$regex on "status"/],
    [{ status: { $where: 'sleep(1000)' } }, /\$where on "status"/],
    [{ $where: 'sleep(1000)' }, /\$where/],
    [{ $expr: {} }, /\$expr/],
    [{ status: /a/ }, /"status".*RegExp/],
    [{ status: [1] }, /"status".*Array/],
    [{ status: { sub: 1 } }, /"status".*Object/],
    [{ status: { $gt: { $gt: '' } } }, /"status".*Object/],
    [{ status: { $in: [{ $gt: '' }] } }, /"status".*Object/],
    [{ status: { $gt: new Date() } }, /"status".*Date/],
    [{ status: Number.NaN }, /"status" holds NaN/],
    [{ status: undefined }, /"status".*undefined/],
    [{ $or: [] }, /\$or takes a non-empty array/],
    [{ $or: [{ status: { $gt: [] } }] }, /"status".*Array/],
    [{ 'a.$where': 1 }, /not a field name/],
  ] as [Filter, RegExp][]) {
    await t.rejects(things.find(filter), { name: 'TypeError', message })
    await t.rejects(things.countDocuments(filter), { name: 'TypeError', message })
    const deleteOne = { deleteOne: { filter: { ...filter, _id: 'a' } } } as WriteOperation
    await t.rejects(things.bulkWrite([deleteOne]), { name: 'TypeError' })
  }
  await t.rejects(things.find({}, { sort: { $natural: 1 } }), /not a field name/)
  for (const name of ['', 'a b', '$cmd', 'a\0b']) t.throws(() => readModels.collection(name), /not a collection name/)
})

t.test('rejects writes that would change when read back, before it sends anything', async (t) => {
  const readModels = openMongodbReadModels({ url: nowhere })
  t.teardown(() => readModels.close())
  const things: { bulkWrite(operations: readonly object[]): Promise<unknown> } = readModels.collection('things')
  for (const operation of [
    { insertOne: { document: { _id: 'a', x: new Date() } } },
    { insertOne: { document: { _id: 'a', $x: 1 } } },
    { insertOne: { document: { _id: 'a', 'x.y': 1 } } },
    { insertOne: { document: { _id: 'a', x: { y: undefined } } } },
    { insertOne: { document: { _id: { $gt: '' } } } },
    { replaceOne: { filter: { _id: { $gt: '' } }, replacement: { _id: 'a' } } },
    { replaceOne: { filter: { _id: 'a' }, replacement: { _id: 'b' } } },
    { updateOne: { filter: { _id: 'a' }, update: [{ $set: { x: 1 } }] } },
    { updateOne: { filter: { _id: 'a' }, update: { $rename: { x: 'y' } } } },
    { updateOne: { filter: { _id: 'a' }, update: { $set: { $x: 1 } } } },
    { updateOne: { filter: { _id: 'a' }, update: { $inc: { x: '1' } } } },
    { nonsense: {} },
  ])
    await t.rejects(things.bulkWrite([operation]), { name: 'TypeError' }, JSON.stringify(operation))
  t.match(await things.bulkWrite([]), { matchedCount: 0 }, 'an empty bulk needs no server')
})

t.test('reports a missing server as unavailable, without the password in the error', { timeout: 60_000 }, async (t) => {
  const readModels = openMongodbReadModels({ url: nowhere })
  const find = readModels.collection('things').find({})
  await t.rejects(find, ReadModelsUnavailableError)
  const error = await find.catch((error: Error) => error)
  t.match(String(error), /ECONNREFUSED/)
  t.notMatch(JSON.stringify([error, String(error), (error as Error).stack]), /hunter2/)
  await readModels.close()
  await t.rejects(readModels.collection('things').find({}), ReadModelsUnavailableError)
})

for (const [version, wireVersion] of [
  ['4.4.29', 9],
  ['5.0.31', 13],
] as const) {
  t.test(`rejects MongoDB ${version} and names the required version`, async (t) => {
    const port = await startOldMongodb(t, version, wireVersion)
    const readModels = openMongodbReadModels({ url: `mongodb://127.0.0.1:${port}/?directConnection=true` })
    t.teardown(() => readModels.close())
    const message = new RegExp(
      `MongoDB 6\\.0 \\(wire version 17\\) or later.*version ${version}, wire version ${wireVersion}$`,
    )
    await t.rejects(readModels.listCollections(), { name: 'ReadModelsUnavailableError', message })
    await t.rejects(readModels.drop('things'), { name: 'ReadModelsUnavailableError', message }, 'every call reports it')
  })
}

t.test('ignores a drop of a missing collection', { skip: withoutMongodb }, async (t) => {
  const readModels = openMongodbReadModels({ url: testDatabaseUrl('drop') })
  t.teardown(() => readModels.close())
  await readModels.drop('things')
  await readModels.createIndexes('things', [])
  await readModels.drop('things')
  await readModels.drop('things')
  t.strictSame(await readModels.listCollections(), [])
})

t.test(
  'connects to a server that starts late, and reconnects after an outage',
  { skip: withoutMongodb, timeout: 90_000 },
  async (t) => {
    const { hostname, port } = new URL(testDatabaseUrl('reconnect').replace(/^mongodb/, 'http'))
    const proxy = await severableProxy({ host: hostname, port: Number(port || 27_017) })
    const url = mongodbUrl(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`, 'transferd_test_reconnect')
    const readModels = openMongodbReadModels({ url })
    t.teardown(async () => {
      await readModels.drop('things')
      await readModels.close()
      await proxy.sever()
    })
    const things = readModels.collection('things')
    const increment = { updateOne: { filter: { _id: 'a' }, update: { $inc: { n: 1 } }, upsert: true } }
    await t.rejects(things.bulkWrite([increment]), ReadModelsUnavailableError, 'the first connection fails')
    await proxy.restore()
    await readModels.drop('things')
    t.match(await things.bulkWrite([increment]), { upsertedCount: 1 })
    await proxy.sever()
    await t.rejects(things.bulkWrite([increment]), ReadModelsUnavailableError)
    await t.rejects(things.find({}), ReadModelsUnavailableError)
    await proxy.restore()
    t.same(await things.find({}), [{ _id: 'a', n: 1 }])
    t.match(await things.bulkWrite([increment]), { matchedCount: 1 })
  },
)

t.test('loses no concurrent upsert of one document', { skip: withoutMongodb }, async (t) => {
  const readModels = openMongodbReadModels({ url: testDatabaseUrl('race') })
  t.teardown(async () => {
    await readModels.drop('things')
    await readModels.close()
  })
  await readModels.drop('things')
  const things = readModels.collection('things')
  for (let round = 0; round < 5; round++) {
    const upserts = Array.from({ length: 12 }, (_, n) => {
      const revision = ((n * 5) % 12) + 1
      const filter = { _id: `id-${round}`, revision: { $lt: revision } }
      return things.bulkWrite([{ updateOne: { filter, update: { $set: { revision }, $inc: { n: 1 } }, upsert: true } }])
    })
    const applied = (await Promise.all(upserts)).reduce((sum, r) => sum + r.matchedCount + r.upsertedCount, 0)
    t.same(await things.findOne({ _id: `id-${round}` }), { _id: `id-${round}`, revision: 12, n: applied })
  }
  const inserts = Array.from({ length: 5 }, () => things.bulkWrite([{ insertOne: { document: { _id: 'one' } } }]))
  const settled = await Promise.allSettled(inserts)
  const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  t.equal(refused.length, 4)
  for (const reason of refused) t.type(reason, DuplicateKeyError)
})
