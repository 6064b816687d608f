import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'

/** Increments a counter `times` times in separate bulks, concurrently with other processes. */
const [directory, times] = process.argv.slice(2)
const readModels = await openEmbeddedReadModels({ directory: directory! })
const counters = readModels.collection('counters')
for (let n = 0; n < Number(times); n++)
  await counters.bulkWrite([{ updateOne: { filter: { _id: 'shared' }, update: { $inc: { n: 1 } }, upsert: true } }])
await readModels.close()
