import fc from 'fast-check'
import type { Test } from 'tap'
import { transferKinds } from '../../src/queries/transfer-queries.js'
import { collections, indexes, type TransferDocument } from '../../src/read-models/documents.js'
import type {
  Collection,
  ReadModels,
  WordSearch,
  WordSearchPage,
  WriteOperation,
} from '../../src/read-models/read-models.js'
import { buildName } from '../../src/read-models/read-models-adapter.js'
import { queriedWords, transferWords } from '../../src/read-models/transfer-words.js'

type DefineTest = (title: string, body: (t: Test, use: { readonly readModels: ReadModels }) => Promise<void>) => void

const merchants = ['6a1f0a52-3c1d-4f6e-8a90-1b2c3d4e5f60', '7b2f0a52-3c1d-4f6e-8a90-1b2c3d4e5f61', 'other']
/** With gaps, so that a few transfers are in several windows of row numbers. */
const gap = 300_007
const at = '2026-11-01T10:00:00.000Z'

const word = fc.constantFrom(
  'Ada',
  'Adam',
  'IŞIK',
  'ışık',
  'Çağ',
  "O'Neil",
  'Éa',
  'x',
  'Lovelace-Byron',
  '李',
  '"q*"',
  '00012345678901234',
)
const text = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '))
const reference = fc.oneof(
  fc.nat(30).map((n) => `order-2026-0000000${n}`),
  fc.nat(9).map((n) => `O${n}`),
)
/** Texts of words with every separator between and around them, among them none. */
const separators = [...`!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~ §¨€·×–—…№、・’`, '\u00a0', ' - ', '\u2800', '']
const separated = fc
  .array(
    fc.tuple(
      fc.constantFrom('', 'INV', '2026', '0042', 'ß', 'İş', 'Ὀδυσσεύς', '٤٢', '李', 'x'),
      fc.constantFrom(...separators),
    ),
    {
      minLength: 1,
      maxLength: 6,
    },
  )
  .map((parts) => parts.flat().join('').trim())
  .filter((text) => text !== '')

const searched = fc.record({
  name: text,
  referenceId: reference,
  userId: fc.oneof(
    fc.nat(5).map((n) => `user.${n}@example.com`),
    word,
  ),
  accountNumber: fc.constantFrom('', 'TR33 0006 1005', 'TR330007'),
  merchantId: fc.constantFrom(...merchants),
  kind: fc.constantFrom(...transferKinds),
  paymentMethod: fc.constantFrom(1, 2, 20_000),
})

function transfer(n: number, fields: Partial<TransferDocument>): TransferDocument {
  return {
    _id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    position: n * gap,
    ...{ merchantId: merchants[0]!, kind: 'deposit', status: 'Pending', referenceId: 'r', userId: 'u', name: 'n' },
    ...{ username: 'u', paymentMethod: 1, amountMinor: 1, transactionAmountMinor: 0, hasAmountMismatch: false },
    ...{ createdAt: at, updatedAt: at, revision: 0 },
    ...fields,
  }
}

const erased = { name: '[erased]', userId: '[erased]', accountNumber: '[erased]' }
const change = fc.oneof(
  { weight: 5, arbitrary: fc.record({ n: fc.nat(60), fields: searched }) },
  fc.record({ n: fc.nat(60), fields: fc.constant('erased' as const) }),
  fc.record({ n: fc.nat(60), fields: fc.constant('deleted' as const) }),
)
const query = fc.record({
  text: fc.oneof(
    fc.constantFrom(
      'a',
      'ad',
      'ada',
      'ADA x',
      'isik',
      'çağ lov',
      'neil',
      'byron',
      'order-20',
      'order-2026-0000000',
      '2026',
      'o',
      '"q',
      '李',
    ),
    fc.constantFrom('TR33 0006', 'tr33', 'user.1', 'example', '0001234567890123', 'order-2026-00000003', 'zz'),
    text,
    fc.constant(''),
  ),
  wholeWord: fc.constantFrom('', '', '', 'ada', 'user1examplecom', 'o1'),
  merchantId: fc.option(fc.subarray(merchants), { nil: undefined, freq: 2 }),
  kind: fc.option(fc.constantFrom(...transferKinds), { nil: undefined, freq: 1 }),
  paymentMethod: fc.option(fc.constantFrom(1, 2, 20_000, 3), { nil: undefined, freq: 1 }),
  direction: fc.constantFrom(1, -1),
  limit: fc.integer({ min: 1, max: 20 }),
})

/** Returns the ids on all pages, after checking that no page exceeds the limit. */
async function searchAll(collection: Collection, search: WordSearch): Promise<readonly string[]> {
  const found: string[] = []
  let after: number | null | undefined
  while (after !== null) {
    const page: WordSearchPage = await collection.search({ ...search, after })
    if (page.documents.length > search.limit) throw new Error('the page exceeds the limit')
    found.push(...page.documents.map(({ _id }) => _id))
    after = page.next
  }
  return found
}

/** Returns the ids that a scan of all documents finds. */
function scan(
  all: Iterable<TransferDocument>,
  { words, wholeWord, equal = {}, direction }: WordSearch,
): readonly string[] {
  return [...all]
    .sort((a, b) => direction * (a.position - b.position))
    .filter((document) => {
      const own = transferWords(document)
      return (
        words.every((prefix) => own.some((each) => each.startsWith(prefix))) &&
        (wholeWord === undefined || own.includes(wholeWord)) &&
        Object.entries(equal).every(([field, values]) => values.includes(document[field] as string))
      )
    })
    .map(({ _id }) => _id)
}

export function wordSearches(test: DefineTest): void {
  const transfers = async (readModels: ReadModels, isIndexed = true) => {
    const name = buildName(collections.transfers, 1)
    await readModels.createUnfilled(name, indexes.transfers)
    if (isIndexed) await readModels.createIndexes(name, indexes.transfers)
    return { name, collection: readModels.collection(name) }
  }

  test('a search by words finds the same as a scan, after any writes and on pages of any size', async (t, {
    readModels,
  }) => {
    const { name, collection } = await transfers(readModels)
    const stored = new Map<string, TransferDocument>()
    let found = 0
    const property = fc.asyncProperty(
      fc.array(change, { minLength: 10, maxLength: 30 }),
      fc.array(query, { minLength: 8, maxLength: 8 }),
      async (changes, queries) => {
        const operations = changes.flatMap(({ n, fields }): WriteOperation[] => {
          const { _id } = transfer(n, {})
          const before = stored.get(_id)
          if (fields === 'deleted') {
            stored.delete(_id)
            return [{ deleteOne: { filter: { _id } } }]
          }
          if (fields === 'erased' && !before) return []
          const next = fields === 'erased' ? { ...before!, ...erased } : transfer(n, fields)
          stored.set(_id, next)
          return [
            {
              replaceOne: { filter: { _id }, replacement: next, ...(before ? { previous: before } : { upsert: true }) },
            },
          ]
        })
        // One at a time, because MongoDB applies a bulk in any order.
        for (const operation of operations) await collection.bulkWrite([operation])
        for (const { text, wholeWord, merchantId, kind, paymentMethod, ...rest } of queries) {
          const equal = {
            ...(merchantId && { merchantId }),
            ...(kind && { kind: [kind] }),
            ...(paymentMethod !== undefined && { paymentMethod: [paymentMethod] }),
          }
          const [words = []] = queriedWords(text)
          const search: WordSearch = { words, equal, ...(wholeWord && { wholeWord }), ...rest }
          if (words.length + Object.keys(equal).length + wholeWord.length === 0) continue
          const expected = scan(stored.values(), search)
          const ids = await searchAll(collection, search)
          found += ids.length
          if (ids.join() !== expected.join()) {
            t.same(ids, expected, JSON.stringify(search))
            return false
          }
        }
        return true
      },
    )
    await fc.assert(property, { numRuns: 25 })
    t.ok(found > 100, `the searches found ${found} transfers`)
    await readModels.drop(name)
  })

  test('the exact text, every word and every beginning of a text finds its transfer', async (t, { readModels }) => {
    const { name, collection } = await transfers(readModels)
    let n = 0
    const property = fc.asyncProperty(
      fc.constantFrom('referenceId', 'userId', 'name', 'accountNumber'),
      separated,
      fc.nat(),
      async (field, text, at) => {
        const document = transfer(n++, { kind: 'withdrawal', accountNumber: 'none', [field]: text })
        await collection.put([document])
        const queries = [text, ...text.split(/[^\p{L}\p{N}]+/u), text.slice(0, 1 + (at % text.length))]
        for (const query of queries) {
          const [words] = queriedWords(query)
          if (!words) continue
          const { documents } = await collection.search({ words, direction: -1, limit: 1 })
          if (documents[0]?._id !== document._id) {
            t.fail(`${JSON.stringify(query)} does not find ${field} ${JSON.stringify(text)}`)
            return false
          }
        }
        return queriedWords(text).length > 0
      },
    )
    await fc.assert(property, { numRuns: 300 })
    await readModels.drop(name)
  })

  test('an index of words over existing documents finds the same as one that was there before them', async (t, {
    readModels,
  }) => {
    const documents = Array.from({ length: 300 }, (_, n) =>
      transfer(n, { name: `Ada ${n % 7}`, referenceId: `order-${n}` }),
    )
    const searches = ['ada', 'ada 3', 'order-29', 'order-299'].map(
      (text): WordSearch => ({
        words: queriedWords(text)[0]!,
        equal: { merchantId: [merchants[0]!] },
        direction: -1,
        limit: 70,
      }),
    )
    const filled = await transfers(readModels, false)
    await filled.collection.put(documents)
    await readModels.createIndexes(filled.name, indexes.transfers)
    for (const search of searches)
      t.same(await searchAll(filled.collection, search), scan(documents, search), search.words.join())
    // A projection that repeats its last events puts the same documents, and another name keeps the words.
    await filled.collection.put(documents.slice(-10).map((document) => ({ ...document, name: 'Grace' })))
    const renamed = buildName(collections.transfers, 2)
    await readModels.rename(filled.name, renamed)
    const byName = (text: string): WordSearch => ({ words: [text], direction: 1, limit: 50 })
    const collection = readModels.collection(renamed)
    t.same(
      await searchAll(collection, byName('grace')),
      documents.slice(-10).map(({ _id }) => _id),
    )
    t.equal((await searchAll(collection, byName('ada'))).length, 290)
    await readModels.drop(renamed)
    await readModels.createIndexes(renamed, indexes.transfers)
    t.same(await searchAll(collection, byName('grace')), [], 'a dropped collection leaves no words')
    await readModels.drop(renamed)
  })

  test('rejects a search without words, by another field, or without an index of words', async (t, { readModels }) => {
    const { name, collection } = await transfers(readModels)
    const some: WordSearch = { words: ['a'], direction: 1, limit: 1 }
    t.same(await collection.search(some), { documents: [], next: null })
    const refused: readonly WordSearch[] = [
      { ...some, words: [] },
      { ...some, words: [''] },
      { ...some, words: ['a b'] },
      { ...some, equal: { status: ['Pending'] } },
      { ...some, limit: 0 },
    ]
    for (const search of refused) await t.rejects(collection.search(search), TypeError, JSON.stringify(search))
    await t.rejects(readModels.collection(collections.receipts).search(some), TypeError)
    t.same(await collection.search({ ...some, equal: { merchantId: [] } }), { documents: [], next: null })
    await readModels.drop(name)
  })
}
