import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { type Reconciled, reconcile } from '../../../src/audit/history/reconcile.js'
import type { RecordedEvent } from '../../../src/event-store/event-store.js'
import { allProjections } from '../../../src/projections/all-projections.js'
import { progressAfter } from '../../../src/projections/projection-pointer.js'
import { openEmbeddedReadModels } from '../../../src/read-models/embedded/embedded-read-models.js'
import type { Document, ReadModels, WriteOperation } from '../../../src/read-models/read-models.js'
import { long } from '../../support/long.js'
import { applyServed, applyTo, point, servedCollection } from '../../support/projected-documents.js'
import { logOf, longLog, steps } from '../../support/random-log.js'
import { openTestReadModels, removeTestReadModels } from '../../support/read-models.js'
import { givenLog } from './given-log.js'

async function withStores<Result>(run: (live: ReadModels, fresh: ReadModels) => Promise<Result>): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-reconcile-'))
  const live = await openTestReadModels(directory)
  const fresh = await openEmbeddedReadModels({ directory: join(directory, 'fresh') })
  try {
    return await run(live, fresh)
  } finally {
    await live.close()
    await fresh.close()
    await removeTestReadModels(directory)
    rmSync(directory, { recursive: true })
  }
}

/** Projects the first events and some after the checkpoint, like a process that was killed in between. */
async function project(live: ReadModels, log: readonly RecordedEvent[], upTo: number, ahead: number): Promise<void> {
  for (const projection of allProjections) {
    const own = (events: readonly RecordedEvent[]) =>
      events.filter(({ stream }) => projection.streamPrefixes.some((prefix) => stream.startsWith(prefix)))
    await applyServed(live, projection, own(log.slice(0, upTo)), log[upTo - 1])
    const more = own(log.slice(upTo, upTo + ahead))
    if (more.length > 0) await applyTo(servedCollection(live, projection), projection, more)
  }
}

function reconciled(log: readonly RecordedEvent[], live: ReadModels, fresh: ReadModels) {
  const quiet = { signal: new AbortController().signal, onProgress: () => undefined }
  return reconcile({ store: givenLog(log, 7), live, fresh, projections: allProjections, ...quiet })
}

const found = (results: readonly Reconciled[] | undefined) =>
  results?.flatMap(({ projection, differences, problem }) => [
    ...(problem === null ? [] : [{ projection, problem }]),
    ...differences.map((each) => ({ projection, ...each })),
  ])

/** A feed's ids are positions, which a store keeps as numbers. */
function otherId(id: string): string {
  return /^\d{16}$/.test(id) ? String(Number(id) + 1_000_000).padStart(16, '0') : `${id}~`
}

/** Returns a write that no projection would make. */
function damage(document: Document, damageKind: 'change' | 'remove' | 'add', field: string): WriteOperation {
  const { _id } = document
  if (damageKind === 'remove') return { deleteOne: { filter: { _id } } }
  if (damageKind === 'add') {
    const position = typeof document.position === 'number' && { position: document.position + 1_000_000 }
    return { insertOne: { document: { ...document, _id: otherId(_id), ...position } } }
  }
  const stored = document[field]
  const value = typeof stored === 'boolean' ? !stored : typeof stored === 'number' ? stored + 1_000_000 : 'forged'
  return { updateOne: { filter: { _id }, update: { $set: { [field]: value } } } }
}

t.test('finds no difference in healthy read models at any checkpoint, with any later writes', async (t) => {
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(), fc.nat(30), async (history, place, ahead) => {
      const log = logOf(history)
      const upTo = place % (log.length + 1)
      await withStores(async (live, fresh) => {
        await project(live, log, upTo, ahead)
        t.strictSame(found(await reconciled(log, live, fresh)), [])
      })
    }),
    { numRuns: long ? 12 : 5 },
  )
})

t.test('finds exactly the one document that was changed, removed or added, with its id and field', async (t) => {
  const kindsOfDamage = fc.constantFrom('change', 'remove', 'add')
  const projections = fc.constantFrom(...allProjections.filter(({ name }) => name !== 'problems'))
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.nat(),
      projections,
      kindsOfDamage,
      fc.nat(),
      async (history, ahead, projection, damageKind, seed) => {
        const log = logOf(history)
        await withStores(async (live, fresh) => {
          const upTo = log.length - (ahead % (log.length + 1))
          await project(live, log, upTo, 0)
          // Documents that only events after the checkpoint create do not count as missing, because they are written again.
          const committed = await live.collection(projection.collection).find({})
          await project(live, log, upTo, ahead % 40)
          if (committed.length === 0) return
          const { _id } = committed[seed % committed.length]!
          const document = await live.collection(projection.collection).findOne({ _id })
          if (!document) return
          const fields = Object.keys(document).filter((name) => typeof document[name] !== 'object' && name !== '_id')
          // A term consists of its id, so nothing in it can change.
          const field = fields[seed % Math.max(1, fields.length)] ?? 'added'
          await live.collection(projection.collection).bulkWrite([damage(document, damageKind, field)])
          const kind = damageKind === 'change' ? 'changed' : damageKind === 'remove' ? 'missing' : 'added'
          const id = damageKind === 'add' ? otherId(document._id) : document._id
          const [only, ...others] = found(await reconciled(log, live, fresh)) ?? []
          t.match(only, { projection: projection.name, id, kind, ...(damageKind === 'change' && { fields: [field] }) })
          t.strictSame(others, [])
        })
      },
    ),
    { numRuns: long ? 20 : 10 },
  )
})

t.test('reports read models of another version and of another log, but not a missing build', async (t) => {
  const log = longLog(5)
  await withStores(async (live, fresh) => {
    t.strictSame(found(await reconciled(log, live, fresh)), [], 'a projection without a build has no differences')
    await project(live, log, log.length, 0)
    const { position } = log.at(-1)!
    await point(live, { ...allProjections[0]!, version: 99 }, progressAfter(position, log.at(-1), {}))
    const fromAnotherLog = { ...log.at(-1)!, position: { commit: 9_999n, prepare: 9_999n } }
    await point(live, allProjections[2]!, progressAfter(fromAnotherLog.position, fromAnotherLog, {}))
    t.match(found(await reconciled(log, live, fresh)), [
      { projection: allProjections[0]!.name, problem: /version 99/ },
      { projection: allProjections[2]!.name, problem: /another log/ },
    ])
  })
})

t.test('finds no difference in live read models that advance during the comparison', async (t) => {
  const log = longLog(3)
  await withStores(async (live, fresh) => {
    let projected = Math.floor(log.length / 2)
    await project(live, log, projected, 0)
    const advance = async () => {
      for (let n = 0; n < 5 && projected < log.length; n++) await project(live, log, ++projected, 0)
    }
    /** Advances the live documents by some events at each read. */
    const moving: ReadModels = {
      ...live,
      collection: (name) => ({
        findOne: (filter, options) => live.collection(name).findOne(filter, options),
        countDocuments: (filter, options) => live.collection(name).countDocuments(filter, options),
        bulkWrite: (operations) => live.collection(name).bulkWrite(operations),
        put: (documents) => live.collection(name).put(documents),
        search: (search) => live.collection(name).search(search),
        async texts(after, limit) {
          await advance()
          return live.collection(name).texts(after, limit)
        },
        async find(filter, options) {
          await advance()
          return live.collection(name).find(filter, options)
        },
      }),
    }
    t.strictSame(found(await reconciled(log, moving, fresh)), [])
    t.ok(projected > Math.floor(log.length / 2) + 10, 'the read models advance during the comparison')
  })
})
