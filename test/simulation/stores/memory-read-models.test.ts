import t from 'tap'
import { MemoryDocuments } from './memory-read-models.js'

t.test('connections share the documents, and a snapshot restores them with their indexes', async (t) => {
  const stored = new MemoryDocuments()
  const [one, two] = [stored.open(), stored.open()]
  await one.createIndexes('c', [{ key: { n: 1 } }])
  await one.collection('c').put([{ _id: 'a', n: 1 }])
  const snapshot = stored.snapshot()
  await two.collection('c').put([
    { _id: 'a', n: 2 },
    { _id: 'b', n: 2 },
  ])
  await two.collection('other').put([{ _id: 'x' }])
  t.equal(await one.collection('c').countDocuments({ n: 2 }), 2)
  for (let run = 0; run < 2; run++) {
    stored.restore(snapshot)
    t.same(await one.listCollections(), ['c'])
    t.same(await one.collection('c').find({ n: { $gt: 0 } }), [{ _id: 'a', n: 1 }])
    await one.collection('c').put([{ _id: 'a', n: 3 }])
  }
})

t.test('a caller cannot change a stored document', async (t) => {
  const collection = new MemoryDocuments().open().collection('c')
  const list = [1, { deep: 1 }]
  await collection.put([{ _id: 'a', list }])
  list.push(2)
  const found = (await collection.findOne({ _id: 'a' })) as { _id: string; list: unknown[] }
  t.same(found, { _id: 'a', list: [1, { deep: 1 }] })
  t.throws(() => found.list.push(2), TypeError)
})

t.test(
  'a query by a field without an index and an invalid bulk are refused, and nothing of the bulk is stored',
  async (t) => {
    const collection = new MemoryDocuments().open().collection('c')
    await collection.put([{ _id: 'a', text: 'x' }])
    await t.rejects(collection.find({ text: 'x' }), /not indexed/)
    await t.rejects(collection.find({}, { sort: { text: 1 } }), /not indexed/)
    const bulk = collection.bulkWrite([
      { insertOne: { document: { _id: 'b' } } },
      { updateOne: { filter: { _id: 'a' }, update: { $inc: { text: 1 } } } },
    ])
    await t.rejects(bulk, TypeError)
    t.same(await collection.find({}), [{ _id: 'a', text: 'x' }])
  },
)
