import fc from 'fast-check'
import type { Test } from 'tap'
import type { RecordedEvent } from '../../src/event-store/event-store.js'
import { allProjections } from '../../src/projections/all-projections.js'
import type { Collection, ReadModels } from '../../src/read-models/read-models.js'
import { expectedDocuments, storedDocuments } from '../support/expected-documents.js'
import { applyTo } from '../support/projected-documents.js'
import { logOf, steps } from '../support/random-log.js'

/** How the log is split into batches, how far they overlap, and where a write is interrupted. */
const deliveries = fc.array(
  fc.record({
    size: fc.integer({ min: 1, max: 12 }),
    back: fc.nat(8),
    written: fc.option(fc.nat(10), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 30, size: 'max' },
)

/**
 * The rules of every read-model store for any batches and repetitions of the log. Tests `runs` histories with some
 * hundred writes each.
 */
export function repetitionContract(t: Test, readModels: ReadModels, runs: number): void {
  t.test('any batches, repetitions and crashes give the result of one pass, which equals the fold', async (t) => {
    await fc.assert(
      fc.asyncProperty(steps, deliveries, async (history, pieces) => {
        const log = logOf(history)
        await empty(readModels)
        for (const projection of allProjections) {
          const events = log.filter(({ stream }) =>
            projection.streamPrefixes.some((prefix) => stream.startsWith(prefix)),
          )
          const collection = readModels.collection(projection.collection)
          for (const { part, written } of cut(events, pieces)) {
            const target = written === undefined ? collection : halfWritten(collection, written)
            await applyTo(target, projection, part).catch((error) => {
              if (!(error instanceof Crash)) throw error
            })
          }
        }
        t.strictSame(await storedDocuments(readModels), expectedDocuments(log))
      }),
      { numRuns: runs },
    )
  })

  t.test('a late write of an old batch by a former lease holder changes nothing', async (t) => {
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(30), fc.nat(30), async (history, from, size) => {
        const log = logOf(history)
        await empty(readModels)
        for (const projection of allProjections) {
          const events = log.filter(({ stream }) =>
            projection.streamPrefixes.some((prefix) => stream.startsWith(prefix)),
          )
          const collection = readModels.collection(projection.collection)
          const late: (() => Promise<unknown>)[] = []
          const start = from % (events.length + 1)
          await applyTo(collection, projection, events.slice(0, start))
          await applyTo(delayed(collection, late), projection, events.slice(start, start + size))
          await applyTo(collection, projection, events.slice(start))
          for (const write of late) await write()
        }
        t.strictSame(await storedDocuments(readModels), expectedDocuments(log))
      }),
      { numRuns: runs },
    )
  })
}

async function empty(readModels: ReadModels): Promise<void> {
  for (const { collection, indexes } of allProjections) {
    await readModels.drop(collection)
    await readModels.createIndexes(collection, indexes)
  }
}

class Crash extends Error {}

/** Applies only some operations of a bulk, as if the process was killed during an unordered bulk. */
function halfWritten(collection: Collection, written: number): Collection {
  return {
    findOne: (filter, options) => collection.findOne(filter, options),
    find: (filter, options) => collection.find(filter, options),
    countDocuments: (filter, options) => collection.countDocuments(filter, options),
    put: (documents) => collection.put(documents),
    search: (search) => collection.search(search),
    texts: (after, limit) => collection.texts(after, limit),
    async bulkWrite(operations) {
      await collection.bulkWrite([...operations].reverse().slice(0, written))
      throw new Crash('in the middle of a bulk')
    },
  }
}

/** Records the writes for later. */
function delayed(collection: Collection, late: (() => Promise<unknown>)[]): Collection {
  return {
    ...halfWritten(collection, 0),
    async bulkWrite(operations) {
      late.push(() => collection.bulkWrite(operations))
      return { matchedCount: 0, upsertedCount: 0, deletedCount: 0 }
    },
  }
}

/** Returns overlapping batches. A checkpoint is never ahead of the writes, so a batch starts at or before their end. */
function cut(
  events: readonly RecordedEvent[],
  pieces: readonly { size: number; back: number; written?: number | undefined }[],
) {
  const parts: { part: readonly RecordedEvent[]; written: number | undefined }[] = []
  let reached = 0
  for (const { size, back, written } of pieces) {
    const from = Math.max(0, reached - back)
    parts.push({ part: events.slice(from, from + size), written })
    // An interrupted batch saves no checkpoint.
    if (written === undefined) reached = Math.max(reached, Math.min(from + size, events.length))
  }
  parts.push({ part: events.slice(reached), written: undefined })
  return parts
}
