import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import type { Test } from 'tap'
import { collections as names, type PointerDocument } from '../../src/read-models/documents.js'
import { ordinalText } from '../../src/read-models/fields.js'
import {
  type Collection,
  type Document,
  DuplicateKeyError,
  type Filter,
  type Index,
  type ReadModels,
  type Sort,
  type Update,
} from '../../src/read-models/read-models.js'
import { buildName, pointerMaxAgeMs } from '../../src/read-models/read-models-adapter.js'
import { compareDocuments, selects } from './reference-filter.js'
import { wordSearches } from './word-search.contract.js'

interface ReadModelsContract {
  readonly name: string
  /** Collection names are unique to a run, so the same database may be opened for every test. */
  readonly open: (t: Test) => Promise<ReadModels>
}

const FIELDS = ['n', 's', 'mixed', 'other']
const NO_COUNTS = { matchedCount: 0, upsertedCount: 0, deletedCount: 0 }

/** Tests the rules of every implementation of the read-model port, including MongoDB's driver. */
export function readModelsContract(t: Test, { name, open }: ReadModelsContract): void {
  const test = (title: string, body: (t: Test, use: Use) => Promise<void>): void => {
    t.test(`${name}: ${title}`, async (t) => {
      const readModels = await open(t)
      const names: string[] = []
      const collectionName = (): string => {
        names.push(`contract_${randomUUID().replaceAll('-', '')}`)
        return names.at(-1)!
      }
      try {
        await body(t, {
          readModels,
          collectionName,
          collection: async (indexes = []) => {
            const created = collectionName()
            await readModels.createIndexes(created, indexes)
            return readModels.collection(created)
          },
        })
      } finally {
        for (const created of names) await readModels.drop(created)
        await readModels.close()
      }
    })
  }
  queries(test)
  writes(test)
  updates(test)
  collections(test)
  fieldTypes(test)
  wordSearches(test)
}

interface Use {
  readonly readModels: ReadModels
  readonly collectionName: () => string
  readonly collection: (indexes?: readonly Index[]) => Promise<Collection>
}
type DefineTest = (title: string, body: (t: Test, use: Use) => Promise<void>) => void

const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 0, 1, -1, 1.5, 2 ** 40, '', 'a', 'b', 'B', 'é', '\u{1f600}', '\uffee', '1', '0'),
  fc.integer({ min: -3, max: 3 }),
)
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined, freq: 3 })
const generatedDocument = fc
  .record({
    n: optional(fc.integer({ min: -3, max: 3 })),
    s: optional(fc.constantFrom('', 'a', 'b', 'B', 'é', '\u{1f600}', '\uffee')),
    mixed: optional(scalar),
    other: optional(scalar),
  })
  .map((fields) => JSON.parse(JSON.stringify(fields)) as Record<string, unknown>)
const condition = fc.oneof(
  scalar,
  fc
    .tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), scalar)
    .map(([operator, operand]) => ({ [operator]: operand })),
  fc.array(scalar, { maxLength: 5 }).map((values) => ({ $in: values })),
  fc.boolean().map((exists) => ({ $exists: exists })),
  fc.tuple(scalar, scalar).map(([from, to]) => ({ $gte: from, $lt: to })),
)
const generatedFilter = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    fc.dictionary(fc.constantFrom(...FIELDS, '_id'), condition, { maxKeys: 2 }) as fc.Arbitrary<Filter>,
    fc.array(tie('filter'), { minLength: 1, maxLength: 3 }).map(($or) => ({ $or })),
    fc.array(tie('filter'), { minLength: 1, maxLength: 3 }).map(($and) => ({ $and })),
  ),
})).filter
const generatedSort = fc.uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), fc.constantFrom(1, -1)), {
  selector: ([field]) => field,
  maxLength: 3,
})

function queries(test: DefineTest): void {
  test('generated filters, sorts and limits return the same as MongoDB', async (t, { collection }) => {
    const subject = await collection(FIELDS.map((field) => ({ key: { [field]: 1 } })))
    const stored = new Map<string, Document>()
    const document = fc.tuple(fc.integer({ min: 0, max: 60 }), generatedDocument)
    const property = fc.asyncProperty(
      fc.array(document, { maxLength: 12 }),
      fc.array(generatedFilter, { minLength: 4, maxLength: 4 }),
      generatedSort,
      fc.constantFrom(1, -1),
      fc.integer({ min: 1, max: 30 }),
      async (documents, filters, sortFields, idDirection, limit) => {
        const replacements = documents.map(([n, fields]) => ({ ...fields, _id: `id-${n}` }))
        await subject.bulkWrite(
          replacements.map((replacement) => ({
            replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true },
          })),
        )
        for (const replacement of replacements) stored.set(replacement._id, replacement)
        const sort = Object.fromEntries([...sortFields, ['_id', idDirection] as const]) as Sort
        for (const filter of filters) {
          const expected = [...stored.values()].filter((one) => selects(filter, one)).sort(compareDocuments(sort))
          const found = await subject.find(filter, { sort, limit })
          if (!same(t, found, expected.slice(0, limit))) return false
          if ((await subject.countDocuments(filter)) !== expected.length) return false
          if ((await subject.countDocuments(filter, { limit })) !== Math.min(limit, expected.length)) return false
        }
        return true
      },
    )
    await fc.assert(property, { numRuns: 80 })
    t.ok(stored.size > 30, 'the queries cover more than 30 documents')
  })

  test('a collection without writes is empty', async (t, { readModels, collectionName }) => {
    const subject = readModels.collection(collectionName())
    t.same(await subject.find({ merchantId: 'm' }, { sort: { createdAt: -1 }, limit: 5 }), [])
    t.equal(await subject.findOne({ _id: 'a' }), null)
    t.equal(await subject.countDocuments({}), 0)
  })

  test('pages by a sort key and _id return every document once', async (t, { collection }) => {
    const subject = await collection([{ key: { merchantId: 1, createdAt: -1, _id: -1 } }])
    const documents = Array.from({ length: 57 }, (_, n) => ({
      _id: `t-${n}`,
      merchantId: `m-${n % 2}`,
      createdAt: n % 7,
    }))
    await subject.bulkWrite(documents.map((document) => ({ insertOne: { document } })))
    const seen: string[] = []
    let after: Document | undefined
    for (let page = 0; page < 10; page++) {
      const createdAt = after?.createdAt as number
      const rest: Filter = after
        ? { $or: [{ createdAt: { $lt: createdAt } }, { $and: [{ createdAt }, { _id: { $lt: after._id } }] }] }
        : {}
      const found = await subject.find(
        { $and: [{ merchantId: 'm-1' }, rest] },
        { sort: { createdAt: -1, _id: -1 }, limit: 5 },
      )
      seen.push(...found.map((document) => document._id))
      after = found.at(-1)
      if (found.length < 5) break
    }
    const expected = documents.filter((document) => document.merchantId === 'm-1')
    t.same(
      seen,
      expected.sort(compareDocuments({ createdAt: -1, _id: -1 })).map((document) => document._id),
    )
  })

  test('returns documents unchanged, including nested values', async (t, { collection }) => {
    const subject = await collection()
    const document = {
      _id: 'a',
      list: [1, 'two', null, { x: true }],
      nested: { deep: { er: 'ü"\\\u0001' } },
      big: 2 ** 52,
      no: null,
    }
    await subject.bulkWrite([{ insertOne: { document } }])
    t.strictSame(await subject.findOne({ _id: 'a' }), document)
  })
}

function writes(test: DefineTest): void {
  test('a guard decides whether a replacement happens, and a failed one inserts nothing', async (t, { collection }) => {
    const subject = await collection([{ key: { revision: 1 } }])
    const replace = (revision: number, value: string) =>
      subject.bulkWrite([
        {
          replaceOne: {
            filter: { _id: 'a', revision: { $lt: revision } },
            replacement: { _id: 'a', revision, value },
            upsert: true,
          },
        },
      ])
    t.match(await replace(3, 'first'), { ...NO_COUNTS, upsertedCount: 1 })
    t.match(await replace(3, 'again'), NO_COUNTS)
    t.match(await replace(2, 'late'), NO_COUNTS)
    t.same(await subject.find({}), [{ _id: 'a', revision: 3, value: 'first' }])
    t.match(await replace(4, 'next'), { ...NO_COUNTS, matchedCount: 1 })
    t.same(await subject.find({ revision: 4 }), [{ _id: 'a', revision: 4, value: 'next' }])
    t.same(await subject.find({ revision: 3 }), [])
  })

  test('guards on fields without an index work, because _id finds the document', async (t, { collection }) => {
    const subject = await collection()
    await subject.bulkWrite([{ insertOne: { document: { _id: 'a', owner: 'x', token: 1 } } }])
    const update = (owner: string | null) =>
      subject.bulkWrite([{ updateOne: { filter: { _id: 'a', owner }, update: { $inc: { token: 1 } } } }])
    t.match(await update('y'), NO_COUNTS)
    t.match(await update(null), NO_COUNTS)
    t.match(await update('x'), { ...NO_COUNTS, matchedCount: 1 })
    t.match(await subject.bulkWrite([{ deleteOne: { filter: { _id: 'a', token: 1 } } }]), NO_COUNTS)
    t.match(await subject.bulkWrite([{ deleteOne: { filter: { _id: 'a', token: 2 } } }]), {
      ...NO_COUNTS,
      deletedCount: 1,
    })
    t.equal(await subject.findOne({ _id: 'a' }), null)
  })

  test('generated guards accept exactly what the same filter selects', async (t, { collection }) => {
    const subject = await collection([{ key: { mixed: 1 } }])
    const guard = fc.dictionary(fc.constantFrom('mixed', 's', 'other'), condition, { maxKeys: 2 })
    await fc.assert(
      fc.asyncProperty(generatedDocument, guard, async (fields, conditions) => {
        await subject.bulkWrite([
          { replaceOne: { filter: { _id: 'a' }, replacement: { ...fields, _id: 'a' }, upsert: true } },
        ])
        const filter = { ...conditions, _id: 'a' }
        const { matchedCount } = await subject.bulkWrite([{ updateOne: { filter, update: { $set: { touched: 1 } } } }])
        return matchedCount === (selects(filter, { ...fields, _id: 'a' }) ? 1 : 0)
      }),
      { numRuns: 150 },
    )
    t.pass('every guard agrees with the filter')
  })

  test('one bulk can write the same document several times', async (t, { collection }) => {
    const subject = await collection([{ key: { status: 1 } }])
    const set = (revision: number, status: string) => ({
      updateOne: { filter: { _id: 'a', revision: { $lt: revision } }, update: { $set: { revision, status } } },
    })
    await subject.bulkWrite([{ insertOne: { document: { _id: 'a', revision: 0, status: 'new' } } }])
    const result = await subject.bulkWrite([
      set(1, 'open'),
      set(1, 'twice'),
      set(2, 'done'),
      { updateOne: { filter: { _id: 'count' }, update: { $inc: { n: 1 } }, upsert: true } },
      { updateOne: { filter: { _id: 'count' }, update: { $inc: { n: 1 } }, upsert: true } },
      { insertOne: { document: { _id: 'gone', status: 'done' } } },
      { deleteOne: { filter: { _id: 'gone' } } },
    ])
    t.match(result, { matchedCount: 3, upsertedCount: 1, deletedCount: 1 })
    t.same(await subject.find({ status: 'done' }), [{ _id: 'a', revision: 2, status: 'done' }])
    t.match(await subject.findOne({ _id: 'count' }), { n: 2 })
  })

  test('without upsert a write to a missing document does nothing', async (t, { collection }) => {
    const subject = await collection()
    const result = await subject.bulkWrite([
      { updateOne: { filter: { _id: 'a' }, update: { $set: { x: 1 } } } },
      { replaceOne: { filter: { _id: 'a' }, replacement: { _id: 'a' } } },
      { deleteOne: { filter: { _id: 'a' } } },
    ])
    t.match(result, NO_COUNTS)
    t.equal(await subject.countDocuments({}), 0)
  })

  test('a duplicate _id throws DuplicateKeyError, stops only its own operation and leaves the first document', async (t, {
    collection,
  }) => {
    const subject = await collection()
    await subject.bulkWrite([{ insertOne: { document: { _id: 'a', email: 1 } } }])
    const bulk = ['before', 'a', 'after'].map((_id) => ({ insertOne: { document: { _id, email: 2 } } }))
    await t.rejects(subject.bulkWrite(bulk), DuplicateKeyError)
    t.same(await subject.find({}, { sort: { _id: 1 } }), [
      { _id: 'a', email: 1 },
      { _id: 'after', email: 2 },
      { _id: 'before', email: 2 },
    ])
    await subject.bulkWrite([{ deleteOne: { filter: { _id: 'a' } } }])
    await subject.bulkWrite([{ insertOne: { document: { _id: 'a' } } }])
    t.same(await subject.findOne({ _id: 'a' }), { _id: 'a' })
  })
}

function updates(test: DefineTest): void {
  test('update operators change only the named fields', async (t, { collection }) => {
    const subject = await collection([{ key: { s: 1 } }, { key: { n: 1 } }])
    await subject.bulkWrite([{ insertOne: { document: { _id: 'a', n: 1, keep: [1, 2], s: 'x', sub: { deep: 1 } } } }])
    const update = {
      $set: { s: 'y', sub: { z: 2 } },
      $unset: { gone: '' as const },
      $inc: { n: 2, today: 5 },
    }
    await subject.bulkWrite([{ updateOne: { filter: { _id: 'a' }, update } }])
    t.same(await subject.find({ s: 'y', n: 3 }), [{ _id: 'a', n: 3, keep: [1, 2], s: 'y', sub: { z: 2 }, today: 5 }])
    await subject.bulkWrite([{ updateOne: { filter: { _id: 'a' }, update: { $unset: { s: '', n: '' } } } }])
    t.same(await subject.find({ s: { $exists: false }, n: null }), [
      { _id: 'a', keep: [1, 2], sub: { z: 2 }, today: 5 },
    ])
  })

  test('an upsert inserts the fields of the filter and of the update', async (t, { collection }) => {
    const subject = await collection([{ key: { kind: 1 } }])
    const operation = {
      updateOne: {
        filter: { _id: 'a', kind: 'x', revision: { $lt: 5 } },
        update: { $set: { revision: 5, created: 1 }, $inc: { n: -2 } },
        upsert: true,
      },
    }
    t.match(await subject.bulkWrite([operation]), { ...NO_COUNTS, upsertedCount: 1 })
    const expected = { _id: 'a', kind: 'x', revision: 5, created: 1, n: -2 }
    t.same(await subject.find({ kind: 'x' }), [expected])
    t.match(await subject.bulkWrite([operation]), NO_COUNTS, 'the guard rejects the repeat')
    t.same(await subject.find({}), [expected])
  })

  test('an update that changes nothing matches', async (t, { collection }) => {
    const subject = await collection()
    const document = { _id: 'a', x: { y: [1] }, n: 1 }
    await subject.bulkWrite([{ insertOne: { document } }])
    const result = await subject.bulkWrite([
      { updateOne: { filter: { _id: 'a' }, update: { $set: { x: { y: [1] } } } } },
      { updateOne: { filter: { _id: 'a' }, update: { $inc: { n: 0 }, $unset: { w: '' } } } },
      { replaceOne: { filter: { _id: 'a' }, replacement: document } },
    ])
    t.match(result, { ...NO_COUNTS, matchedCount: 3 })
    t.same(await subject.find({}), [document])
  })

  test('rejects invalid updates', async (t, { collection }) => {
    const subject = await collection()
    const document = { _id: 'a', text: 'x', nothing: null }
    await subject.bulkWrite([{ insertOne: { document } }])
    for (const update of [
      { $inc: { text: 1 } },
      { $inc: { nothing: 1 } },
      { $set: { 'text.deeper': 1 } },
      { $unset: { 'text.deeper': '' as const } },
      { $set: { _id: 'b' } },
      { $set: { n: 1 }, $inc: { n: 1 } },
      {},
    ])
      await t.rejects(subject.bulkWrite([{ updateOne: { filter: { _id: 'a' }, update } }]), JSON.stringify(update))
    t.same(await subject.find({}), [document])
  })
}

function collections(test: DefineTest): void {
  test('indexes can be created after the documents, and repeatedly', async (t, { readModels, collectionName }) => {
    const name = collectionName()
    const subject = readModels.collection(name)
    const values = [null, true, false, 1, 2.5, 'x']
    await subject.bulkWrite(values.map((value, n) => ({ insertOne: { document: { _id: `id-${n}`, value } } })))
    await subject.bulkWrite([{ insertOne: { document: { _id: 'id-9' } } }])
    for (let n = 0; n < 2; n++) await readModels.createIndexes(name, [{ key: { value: 1, _id: -1 } }])
    const sorted = await subject.find({}, { sort: { value: 1, _id: -1 } })
    t.same(
      sorted.map((document) => document._id),
      ['id-9', 'id-0', 'id-3', 'id-4', 'id-5', 'id-2', 'id-1'],
    )
    t.same(
      (await subject.find({ value: { $exists: false } })).map((document) => document._id),
      ['id-9'],
    )
  })

  test('renames a collection with its indexes, and never replaces an existing one', async (t, {
    readModels,
    collectionName,
  }) => {
    const [from, to, other] = [collectionName(), collectionName(), collectionName()]
    await readModels.createIndexes(from, [{ key: { fresh: 1 } }])
    await readModels.collection(from).bulkWrite([{ insertOne: { document: { _id: 'new', fresh: 1 } } }])
    await readModels.rename(from, to)
    t.same(await readModels.collection(to).find({ fresh: 1 }), [{ _id: 'new', fresh: 1 }])
    t.same(await readModels.collection(to).find({}, { sort: { fresh: 1 } }), [{ _id: 'new', fresh: 1 }])
    t.same(await readModels.collection(from).find({}), [])
    const listed = await readModels.listCollections()
    t.notOk(listed.includes(from))
    t.ok(listed.includes(to))
    await t.rejects(readModels.rename(from, other), TypeError, 'the old name is missing')
    await readModels.collection(other).bulkWrite([{ insertOne: { document: { _id: 'other' } } }])
    await t.rejects(readModels.rename(to, other), TypeError, 'the new name exists')
    t.same(await readModels.collection(other).find({}), [{ _id: 'other' }])
  })

  test('resolves the name of a projected collection to the build that its pointer names', async (t, { readModels }) => {
    const name = names.totals
    t.same(await readModels.collection(name).find({}), [], 'a projection without a build is empty')
    const point = (collection: string) => {
      const build = { collection, version: 1, progress: {}, at: '2026-11-22T10:00:00.000Z' }
      const replacement: PointerDocument = { _id: name, served: build, leaseToken: 1, updatedAt: build.at }
      const pointers = readModels.collection(names.pointers)
      return pointers.bulkWrite([{ replaceOne: { filter: { _id: name }, replacement, upsert: true } }])
    }
    const builds = ['a', 'b'].map((id) => buildName(name, 1, id))
    for (const build of builds) await readModels.collection(build).put([{ _id: build }])
    const reader = readModels.collection(name)
    const found = async () => (await reader.find({})).map(({ _id }) => _id)
    for (const build of builds) {
      await point(build)
      const deadlineMs = performance.now() + 2 * pointerMaxAgeMs
      while (!(await found()).includes(build) && performance.now() < deadlineMs) await setImmediate()
      t.same(await found(), [build], 'the reader follows the pointer within the time limit')
      t.same(await reader.findOne({ _id: build }), { _id: build })
      t.equal(await reader.countDocuments({}), 1)
    }
    await reader.put([{ _id: 'written' }])
    t.same((await readModels.collection(builds[1]!).findOne({ _id: 'written' }))?._id, 'written')
    for (const used of [...builds, names.pointers]) await readModels.drop(used)
  })

  test('finds the first build of a projection as soon as it is served', async (t, { readModels }) => {
    const { totals, pointers } = names
    t.same(await readModels.collection(totals).find({}), [])
    const build = buildName(totals, 1, 'first')
    await readModels.collection(build).put([{ _id: 'a' }])
    const served = { collection: build, version: 1, progress: {}, at: '' }
    const document: PointerDocument = { _id: totals, served, leaseToken: 1, updatedAt: '' }
    await readModels.collection(pointers).put([document])
    t.same(await readModels.collection(totals).find({}), [{ _id: 'a' }])
    for (const used of [build, pointers]) await readModels.drop(used)
  })

  test('indexes that are created after a collection is filled find its documents', async (t, {
    readModels,
    collectionName,
  }) => {
    const name = collectionName()
    const indexes = [{ key: { n: 1 } }, { key: { s: 1, n: -1 } }] as const
    for (let n = 0; n < 2; n++) await readModels.createUnfilled(name, indexes)
    const subject = readModels.collection(name)
    await subject.put([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2, s: 'x' },
    ])
    await subject.put([{ _id: 'a', n: 3 }])
    await readModels.createIndexes(name, indexes)
    t.same(await subject.find({}, { sort: { n: -1 } }), [
      { _id: 'a', n: 3 },
      { _id: 'b', n: 2, s: 'x' },
    ])
    t.same(await subject.find({ s: 'x' }), [{ _id: 'b', n: 2, s: 'x' }])
  })

  test('pages by a text id are in the byte order of the ids', async (t, { collection }) => {
    const subject = await collection()
    const ids = ['a', 'aa', 'b', 'é', '\uffee', '\u{1f600}']
    await subject.put(ids.toReversed().map((_id) => ({ _id, of: _id })))
    const first = await subject.texts(undefined, 4)
    t.same(
      first.map(({ _id }) => _id),
      ids.slice(0, 4),
    )
    t.same(first[0], { _id: 'a', text: '{"_id":"a","of":"a"}' })
    t.same(
      (await subject.texts(first.at(-1)!._id, 4)).map(({ _id }) => _id),
      ids.slice(4),
    )
    t.same(await subject.texts(ids.at(-1), 4), [])
  })

  test('drops a collection, and ignores a repeat', async (t, { readModels, collectionName }) => {
    const name = collectionName()
    await readModels.collection(name).bulkWrite([{ insertOne: { document: { _id: 'a' } } }])
    await readModels.drop(name)
    await readModels.drop(name)
    t.equal(await readModels.collection(name).countDocuments({}), 0)
    t.notOk((await readModels.listCollections()).includes(name))
  })
}

const uuids = [1, 2, 3].map((n) => `${n}abcdef0-0000-4000-8000-00000000000${n}`)
const complete = {
  _id: uuids[0]!,
  position: 7,
  merchantId: uuids[1]!,
  kind: 'deposit',
  status: 'Pending',
  referenceId: 'order-1',
  amountMinor: 2 ** 52,
  hasAmountMismatch: false,
  attention: 'deposit',
  createdAt: '2026-11-20T12:00:00.001Z',
  completedAt: '1969-12-31T23:59:59.999Z',
  revision: 0,
  notDeclared: { deep: [1, null] },
}

/** Tests a build of transfers and one of their events, whose fields have declared types. */
function fieldTypes(test: DefineTest): void {
  const declared = async ({ readModels }: Use, base: string, work: (collection: Collection) => Promise<void>) => {
    const name = buildName(base, 1)
    const fields = ['createdAt', 'amountMinor', 'hasAmountMismatch', 'merchantId', 'kind', 'completedAt']
    const indexes = fields.map(
      (field): Index => ({ key: { [field]: 1 }, ...(field === 'completedAt' && { having: field }) }),
    )
    await readModels.createIndexes(name, base === names.transfers ? indexes : [{ key: { merchantId: 1, _id: 1 } }])
    try {
      await work(readModels.collection(name))
    } finally {
      await readModels.drop(name)
    }
  }
  const idsOf = (documents: readonly Document[]) => documents.map(({ _id }) => _id)
  const texts = ['5', '1.5', '=5', 'a', '2026-11-20', '2026-11-20T12:00:00Z', uuids[0]!.toUpperCase(), 'null', 'é', '']
  const textFields = ['merchantId', 'kind', 'status', 'referenceId', 'attention', 'createdAt', 'completedAt']
  const misfits = texts.map((text, n) => {
    const values = Object.fromEntries(textFields.map((field) => [field, text]))
    return { ...complete, ...values, _id: text || ' ', position: 100 + n, amountMinor: n / 2 }
  })
  const nulls = Object.fromEntries(Object.keys(complete).map((field) => [field, null]))
  const empty = { ...nulls, _id: uuids[1]!, position: 8 }
  const missing = { _id: uuids[2]!, position: 9 }
  const written: readonly Document[] = [complete, empty, missing, ...misfits]

  test('returns the values of declared types unchanged, and texts that do not fit them', async (t, use) => {
    await declared(use, names.transfers, async (transfers) => {
      await transfers.put(written)
      for (const document of written) t.same(await transfers.findOne({ _id: document._id }), document)
      await transfers.put(written)
      await transfers.bulkWrite(written.map(({ _id }) => ({ deleteOne: { filter: { _id } } })))
      t.same(await transfers.find({}), [])
      await transfers.bulkWrite(written.map((document) => ({ insertOne: { document } })))
      for (const document of written) t.same(await transfers.findOne({ _id: document._id }), document)
      t.same((await transfers.texts(undefined, 100)).length, written.length)
      const [lowest, ...rest] = await transfers.texts(undefined, 100)
      t.same(await transfers.texts(lowest!._id, 100), rest)
    })
  })

  test('finds equal values, null and missing ones of declared types', async (t, use) => {
    await declared(use, names.transfers, async (transfers) => {
      await transfers.put(written)
      for (const text of texts) {
        const { _id } = misfits.find(({ referenceId }) => referenceId === text)!
        t.same(idsOf(await transfers.find({ createdAt: text, kind: text, merchantId: text })), [_id])
      }
      t.same(idsOf(await transfers.find({ createdAt: complete.createdAt })), [complete._id])
      t.same(await transfers.find({ merchantId: 'of no document' }), [])
      t.same(await transfers.countDocuments({ hasAmountMismatch: false }), 1 + misfits.length)
      const sort = { position: 1 } as const
      for (const field of ['createdAt', 'kind', 'merchantId', 'amountMinor', 'completedAt']) {
        t.same(idsOf(await transfers.find({ [field]: null }, { sort })), [empty._id, missing._id], field)
        t.same(idsOf(await transfers.find({ [field]: { $exists: false } })), [missing._id], field)
        const values = [complete[field as 'kind'], null]
        const found = await transfers.find({ [field]: { $in: values } }, { sort })
        t.same(idsOf(found), [complete._id, empty._id, missing._id], field)
      }
    })
  })

  test('sorts and selects ranges of declared types by their values', async (t, use) => {
    const times = fc.integer({ min: -2, max: 4 }).map((n) => new Date(n * 40_000_000_000).toISOString())
    const amounts = fc.constantFrom(-1, 0, 1.5, 2, 2 ** 31, 2 ** 52)
    const one = fc.record({ createdAt: times, amountMinor: amounts, hasAmountMismatch: fc.boolean(), id: fc.uuid() })
    await declared(use, names.transfers, async (transfers) => {
      const generated = fc.sample(
        fc.uniqueArray(one, { minLength: 40, maxLength: 40, selector: ({ id }) => id }),
        1,
      )[0]!
      const documents = generated.map(({ id, ...fields }, n): Document => ({ ...fields, _id: id, position: n }))
      await transfers.put([...documents, ...misfits.map(({ _id, position }) => ({ _id, position }))])
      for (const field of ['createdAt', 'amountMinor', '_id', 'position']) {
        const operand = documents[7]![field] as string
        for (const direction of [1, -1] as const) {
          for (const operators of [{ $gt: operand }, { $gte: operand }, { $lt: operand }, { $lte: operand }]) {
            const filter = { $and: [{ [field]: operators }, { position: { $lt: 100 } }] }
            const sort: Sort = { [field]: direction, position: direction }
            const expected = documents.filter((document) => selects(filter, document)).sort(compareDocuments(sort))
            t.same(idsOf(await transfers.find(filter, { sort })), idsOf(expected), JSON.stringify({ filter, sort }))
          }
        }
      }
      const complete = { _id: { $gt: documents[7]!._id } }
      t.notOk(
        idsOf(await transfers.find(complete)).some((id) => id.length !== 36),
        'a range excludes what does not fit',
      )
    })
    for (const filter of [{ kind: { $gt: 'a' } }, { merchantId: { $lte: 'a' } }])
      await t.rejects(use.readModels.collection(names.transfers).find(filter), /have no order/)
    await t.rejects(use.readModels.collection(names.transfers).find({}, { sort: { kind: 1 } }), /have no order/)
  })

  test('guards and updates fields of declared types', async (t, use) => {
    await declared(use, names.transfers, async (transfers) => {
      await transfers.put(written)
      const { _id, createdAt, kind, merchantId } = complete
      const update = async (guard: object, changes: Update) => {
        const filter = { ...guard, _id }
        return (await transfers.bulkWrite([{ updateOne: { filter, update: changes } }])).matchedCount
      }
      const $inc = { revision: 1 }
      const met = [{ createdAt }, { kind, merchantId }, { createdAt: { $lt: '2027-01-01T00:00:00.000Z' } }]
      const more = [{ message: null }, { message: { $exists: false } }, { kind: { $in: ['withdrawal', kind] } }]
      for (const guard of [...met, ...more, { revision: { $lt: 9 } }, { hasAmountMismatch: false }])
        t.equal(await update(guard, { $inc }), 1, JSON.stringify(guard))
      const failed = [
        { createdAt: 'x' },
        { createdAt: { $lt: createdAt } },
        { kind: 'withdrawal' },
        { merchantId: 'new' },
      ]
      for (const guard of [
        ...failed,
        { createdAt: { $exists: false } },
        { createdAt: null },
        { hasAmountMismatch: true },
      ])
        t.equal(await update(guard, { $inc }), 0, JSON.stringify(guard))
      const $set = { createdAt: '2027-01-01T00:00:00.000Z', kind: 'withdrawal', merchantId: 'new', message: 'set' }
      await update({}, { $set: { ...$set, attention: null }, $unset: { completedAt: '' } })
      const { completedAt, ...left } = complete
      const expected = { ...left, ...$set, attention: null, revision: 8 }
      t.same(await transfers.find({ merchantId: 'new', createdAt: $set.createdAt }), [expected])
      t.same(idsOf(await transfers.find({ completedAt })), [])
    })
  })

  test('a replacement that names the previous document results in the same, whichever document is stored', async (t, use) => {
    await declared(use, names.transfers, async (transfers) => {
      const _id = complete._id
      const states = written.map((fields, n): Document => ({ ...fields, _id, position: 7, revision: n }))
      for (const [n, stored] of states.entries()) {
        for (const [previous, replacement] of [
          [stored, { ...states.at(n - 1)!, revision: 50 }],
          [
            { ...states.at(n - 1)!, revision: 40 },
            { ...states.at(n - 2)!, revision: 50 },
          ],
          [
            { ...stored, revision: 60 },
            { ...states.at(n - 1)!, revision: 50 },
          ],
          [undefined, { ...states.at(n - 1)!, revision: 50 }],
        ] as const) {
          const replace = (newest: number) =>
            transfers.bulkWrite([
              {
                replaceOne: { filter: { _id, revision: { $lt: newest } }, replacement, ...(previous && { previous }) },
              },
            ])
          await transfers.put([stored])
          t.match(await replace(n), NO_COUNTS)
          t.same(await transfers.findOne({ _id }), stored, 'a failed guard changes nothing')
          t.match(await replace(50), { ...NO_COUNTS, matchedCount: 1 })
          t.same(await transfers.find({}), [replacement])
        }
      }
    })
  })

  test('rejects values that a declared type cannot return', async (t, use) => {
    await declared(use, names.transfers, async (transfers) => {
      for (const wrong of [
        { createdAt: 5 },
        { kind: true },
        { amountMinor: '5' },
        { hasAmountMismatch: 1 },
        { name: 5 },
      ])
        await t.rejects(transfers.put([{ ...complete, ...wrong }]), TypeError, JSON.stringify(wrong))
      t.same(await transfers.find({}), [])
    })
  })

  test('stores an ordinal as a number', async (t, use) => {
    await declared(use, names.transferEvents, async (events) => {
      const ids = [0, 9, 10, 2 ** 40].map(ordinalText)
      const documents = ids.map((_id, n) => ({ _id, merchantId: `m${n % 2}`, trackingId: uuids[n % 3]!, revision: n }))
      await events.put(documents.toReversed())
      t.same(await events.find({}, { sort: { _id: 1 } }), documents)
      t.same(await events.find({ merchantId: 'm1', _id: { $gt: ids[1]! } }), [documents[3]])
      for (const _id of ['9', 'x', `${ids[1]}0`]) await t.rejects(events.put([{ _id }]), TypeError)
    })
  })
}

/** Reports only differences, because thousands of passing comparisons would hide them. */
function same(t: Test, found: unknown, expected: unknown): boolean {
  const canonical = (value: unknown): string =>
    JSON.stringify(value, (_, part) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    )
  if (canonical(found) === canonical(expected)) return true
  t.comment(`found ${canonical(found)}\nexpected ${canonical(expected)}`)
  return false
}
