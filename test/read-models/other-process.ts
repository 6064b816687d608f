import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'

/** Started by tests: increments one counter `times` times, each in a bulk of its own, beside other processes that do the same. */
const [directory, times] = process.argv.slice(2)
const readModels = await openEmbeddedReadModels({ directory: directory! })
const counters = readModels.collection('counters')
for (let n = 0; n < Number(times); n++)
  await counters.bulkWrite([{ updateOne: { filter: { _id: 'shared' }, update: { $inc: { n: 1 } }, upsert: true } }])
await readModels.close()
