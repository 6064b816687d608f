import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import fc from 'fast-check'
import t from 'tap'
import { BufferedDocuments } from '../../src/projections/rebuild/build-documents.js'
import type { Document, ReadModels } from '../../src/read-models/read-models.js'
import { Staging, stagedName } from '../../src/read-models/staging.js'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'
import { aroundWrites } from './stores.js'

const directory = tempDirectory(t)
const readModels = await openTestReadModels(directory)
t.teardown(async () => {
  await readModels.close()
  await removeTestReadModels(directory)
})
const keepLease = async () => undefined

/** Unordered ids with many repetitions, and documents of which several fit in a chunk. */
const batches = fc.array(
  fc
    .uniqueArray(fc.nat(3_000), { minLength: 1, maxLength: 900, size: 'max' })
    .map((ids) => [...ids].sort((a, b) => a - b)),
  { minLength: 1, maxLength: 12 },
)

function documentsOf(ids: readonly number[], batch: number): Document[] {
  return ids.map((id) => ({ _id: String(id).padStart(5, '0'), batch }))
}

async function stored(from: ReadModels): Promise<readonly Document[]> {
  return from.collection('sorted').find({}, { sort: { _id: 1 } })
}

class Killed extends Error {}

t.test('keeps the last version of each document for any batches and any kill', async (t) => {
  await fc.assert(
    fc.asyncProperty(batches, fc.nat(20), fc.nat(12), async (all, failsAt, settlesAt) => {
      for (const name of await readModels.listCollections()) await readModels.drop(name)
      const expected = new Map(all.flatMap((ids, batch) => documentsOf(ids, batch)).map((each) => [each._id, each]))
      let writes = 0
      const failing = aroundWrites(readModels, async (_, write) => {
        if (++writes === failsAt) throw new Killed()
        return write()
      })
      let staging = new Staging(failing, 'sorted', keepLease)
      const untilDone = async (work: () => Promise<void>): Promise<void> => {
        await work().catch(async (error) => {
          if (!(error instanceof Killed)) throw error
          staging = new Staging(failing, 'sorted', keepLease)
          await work()
        })
      }
      for (const [batch, ids] of all.entries()) {
        await untilDone(() => staging.add(documentsOf(ids, batch)))
        if (batch === settlesAt) await untilDone(() => staging.merge())
      }
      await untilDone(() => staging.merge())
      t.strictSame(
        await stored(readModels),
        [...expected.values()].sort((a, b) => (a._id < b._id ? -1 : 1)),
      )
      t.notOk((await readModels.listCollections()).includes(stagedName('sorted')), 'the staged documents are removed')
    }),
    { numRuns: 8 },
  )
})

t.test('merges adjacent runs whose step exceeds the size of a bulk', async (t) => {
  for (const name of await readModels.listCollections()) await readModels.drop(name)
  const [runs, each] = [120, 200]
  const staging = new Staging(readModels, 'sorted', keepLease)
  for (let run = 0; run < runs; run++)
    await staging.add(
      documentsOf(
        Array.from({ length: each }, (_, n) => n * runs + run),
        run,
      ),
    )
  await staging.merge()
  t.strictSame(
    (await stored(readModels)).map(({ _id }) => Number(_id)),
    Array.from({ length: runs * each }, (_, n) => n),
  )
})

t.test('merges runs in stages if there are too many for one merge', async (t) => {
  for (const name of await readModels.listCollections()) await readModels.drop(name)
  const staging = new Staging(readModels, 'sorted', keepLease)
  for (let n = 0; n < 260; n++) await staging.add([{ _id: `${(n * 7) % 260}`.padStart(3, '0') }])
  t.equal((await stored(readModels)).length, 250)
  await staging.merge()
  t.strictSame(
    (await stored(readModels)).map(({ _id }) => Number(_id)),
    Array.from({ length: 260 }, (_, n) => n),
  )
})

t.test('stops when it loses its lease, and the next holder completes the same result', async (t) => {
  for (const name of await readModels.listCollections()) await readModels.drop(name)
  const documents = Array.from({ length: 6_000 }, (_, n) => ({ _id: String(n).padStart(5, '0') }))
  const cancelled = new Staging(readModels, 'sorted', () => Promise.reject(new Error('cancelled')))
  await cancelled.add(documents)
  await t.rejects(cancelled.merge(), /cancelled/)
  t.ok((await stored(readModels)).length < documents.length)
  await new Staging(readModels, 'sorted', keepLease).merge()
  t.strictSame(await stored(readModels), documents)
})

t.test('unstages documents that a later event reads or deletes, and stages their later writes again', async (t) => {
  for (const name of await readModels.listCollections()) await readModels.drop(name)
  const staging = new Staging(readModels, 'sorted', keepLease)
  const documents = new BufferedDocuments(readModels.collection('sorted'), false, staging)
  const put = (_id: string) => ({ replaceOne: { filter: { _id }, replacement: { _id }, upsert: true } })
  await documents.write([put('b'), put('a')])
  await documents.flush()
  t.strictSame(await stored(readModels), [], 'the documents are staged')
  t.ok((await documents.byIds(['a'])).has('a'))
  await documents.write([put('c')])
  await documents.write([{ deleteOne: { filter: { _id: 'b' } } }, { deleteOne: { filter: { _id: 'c' } } }, put('d')])
  await documents.flush()
  t.ok((await readModels.listCollections()).includes(stagedName('sorted')))
  await documents.finish()
  t.strictSame(await stored(readModels), [{ _id: 'a' }, { _id: 'd' }])
  await documents.write([put('e')])
  await documents.flush()
  t.strictSame(await stored(readModels), [{ _id: 'a' }, { _id: 'd' }, { _id: 'e' }], 'writes directly after the end')
})
