import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '@transferd/event-log/sqlite'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import { collections, indexes, wordsOf } from '../../src/read-models/documents.js'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { compactEmbeddedReadModels } from '../../src/read-models/embedded/maintenance.js'
import { searchWords } from '../../src/read-models/mongodb/mongodb-word-search.js'
import type { WordSearch, WordSearchPage } from '../../src/read-models/read-models.js'
import { queriedWords, transferWords } from '../../src/read-models/transfer-words.js'
import { transferOf } from '../queries/listed-rows.js'

const name = collections.transfers

t.test(
  'the words of a transfer begin at each part of its texts and go to their ends, with whatever between',
  async (t) => {
    const words = (fields: object) => transferWords({ referenceId: '', userId: '', name: '', ...fields })
    t.same(words({ name: 'IŞIK  Çağ-Öz' }), ['isikcagoz', 'cagoz', 'oz'])
    t.same(words({ referenceId: 'INV 2026-0042' }), ['inv20260042', '20260042', '0042'])
    t.same(words({ userId: 'ada@example.com' }), ['adaexamplecom', 'examplecom', 'com'])
    t.same(words({ referenceId: '9F1B2C3D-0000-4000-8000-000000000001' }), ['9f1b2c3d000040008000000000000001'])
    t.same(words({ accountNumber: 'tr33 0006' }), ['tr330006', '0006'])
    t.same(words({ name: '[erased]', userId: '[erased]', accountNumber: '[erased]' }), [])
    t.same(words({ name: 'x'.repeat(61) }), ['x'.repeat(60)])
    t.same(words({ referenceId: '¨' }), ['#000308'])
    t.same(words({ bankFiles: 'f7dc68d301fb5d0a84032df74377407d' }), ['f7dc68d301fb5d0a84032df74377407d'])
  },
)

t.test('a withdrawal is found by what the bank file and the statement of the bank contain', async (t) => {
  const fields = {
    referenceId: 'Straße Æ/7',
    name: 'Ѳёдор Щукин',
    accountNumber: 'nl91 abna 0417 1643 00',
    bankFiles: '0d7e3c1a5b2f4c6d8e9fa0b1c2d3e4f5 f7dc68d301fb5d0a84032df74377407d',
  }
  const words = transferWords(fields)
  const isFound = (query: string) =>
    queriedWords(query)[0]!.every((prefix) => words.some((word) => word.startsWith(prefix)))
  for (const query of [
    ...['STRASE A/7', 'Straße Æ/7', 'STRASSE', 'Strasse', 'SHTUKIN', 'Щукин', 'F7DC68D301FB5D0A84032DF74377407D'],
    ...['0d7e3c1a-5b2f-4c6d-8e9f-a0b1c2d3e4f5', 'NL91ABNA0417164300', 'NL91 ABNA 0417 1643 00', 'nl91-abna-0417'],
    ...[
      'IBAN NL91 ABNA 0417 1643 00',
      'F7DC 68D3 01FB 5D0A 8403 2DF7 4377 407D',
      'f7dc68d3–01fb–5d0a–8403–2df74377407d',
    ],
  ])
    t.ok(isFound(query), query)
  t.notOk(isFound('NL91ABNA0417164301'))
})

t.test(
  'a query consists of words without the marks around and in them, except an account number in groups',
  async (t) => {
    t.same(queriedWords(' Lovelace, (ADA) ada '), [['lovelace', 'ada']])
    t.same(queriedWords('Lovelace,Ada;Byron'), [['lovelace', 'ada', 'byron']])
    t.same(queriedWords("o'neil order-17"), [['oneil', 'order17']])
    t.same(queriedWords('TR33 0006 1005'), [['tr3300061005'], ['tr33', '0006', '1005']])
    t.same(queriedWords('0001 2345 ٦٧'), [['0001234567'], ['0001', '2345', '67']])
    t.same(queriedWords('TR33'), [['tr33']])
    t.same(queriedWords('#'), [['#000023']])
    t.same(queriedWords('# ada'), [['ada']])
    t.same(queriedWords('\u00ad '), [])
  },
)

/** Occurs in no other text, so that its bytes show even a part of an erased word. */
const letter = 'ჵ'
const isErased = (n: number) => n % 7 === 3
const personal = (n: number) => ({
  name: `${letter}${n} x${letter}${n * 13}`,
  userId: `user${letter}${n}`,
  accountNumber: `${letter.repeat(n % 5)}TR${n}`,
})

t.test('an erased word leaves no byte in the files', async (t) => {
  const directory = tempDirectory(t)
  const readModels = await openEmbeddedReadModels({ directory })
  t.teardown(() => readModels.close())
  await readModels.createIndexes(name, indexes.transfers)
  const collection = readModels.collection(name)
  const all = Array.from({ length: 3_000 }, (_, n) => ({ ...transferOf(n), ...(isErased(n) && personal(n)) }))
  for (let from = 0; from < all.length; from += 100) await collection.put(all.slice(from, from + 100))
  const search: WordSearch = { words: [letter], direction: -1, limit: 1_000 }
  t.equal((await collection.search(search)).documents.length, all.filter((_, n) => isErased(n)).length)
  for (let round = 0; round < 2; round++) {
    // The second round erases words of an index that has been rewritten already.
    if (round === 1) await collection.put(all.slice(0, 500))
    const erased = { name: '[erased]', userId: '[erased]', accountNumber: '[erased]' }
    const replaced = all.filter((_, n) => isErased(n)).map((transfer) => ({ ...transfer, ...erased }))
    await collection.bulkWrite(
      replaced.map((replacement) => ({ replaceOne: { filter: { _id: replacement._id }, replacement } })),
    )
    t.same((await collection.search(search)).documents, [])
    const words = (await collection.search({ ...search, words: ['order3'], limit: 1_000 })).documents.length
    t.equal(words, 111, 'the references remain')
    await compactEmbeddedReadModels({ directory })
    for (const suffix of ['', '-wal']) {
      const bytes = readFileSync(join(directory, `read-models.db${suffix}`))
      t.notOk(bytes.includes(letter), `read-models.db${suffix} after round ${round}`)
    }
  }
  const db = new Database(join(directory, 'read-models.db'))
  db.exec("INSERT INTO c1_words(c1_words) VALUES ('integrity-check')")
  db.close()
})

t.test('a value that its field cannot have is stored, and found again', async (t) => {
  const readModels = await openEmbeddedReadModels({ directory: tempDirectory(t) })
  t.teardown(() => readModels.close())
  await readModels.createIndexes(name, indexes.transfers)
  const collection = readModels.collection(name)
  const values = { merchantId: ['forged', ''], kind: ['forged', 'x'.repeat(50)], paymentMethod: [-7, 1.5, 2 ** 60] }
  const all = Object.entries(values).flatMap(([field, ofField]) => ofField.map((value) => ({ [field]: value })))
  for (const [n, forged] of all.entries()) {
    const replacement = { ...transferOf(n), ...forged }
    await collection.bulkWrite([{ replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } }])
    const equal = Object.fromEntries(Object.entries(forged).map(([field, value]) => [field, [value]]))
    const { documents } = await collection.search({ words: ['order'], equal, direction: 1, limit: 10 })
    t.same(documents, [replacement])
  }
})

t.test('an index over more documents than one write adds finds all of them', async (t) => {
  const readModels = await openEmbeddedReadModels({ directory: tempDirectory(t) })
  t.teardown(() => readModels.close())
  await readModels.createUnfilled(name, indexes.transfers)
  const collection = readModels.collection(name)
  await collection.put(Array.from({ length: 6_000 }, (_, n) => transferOf(n)))
  await t.rejects(collection.search({ words: ['ada'], direction: 1, limit: 1 }), TypeError, 'before it is filled')
  await readModels.createIndexes(name, indexes.transfers)
  const found = await collection.search({ words: ['ada', 'lovelace'], direction: 1, limit: 6_000 })
  t.equal(found.documents.length, 1_500)
})

t.test('a long prefix of more words than are merged finds the same, on pages that can be short', async (t) => {
  const readModels = await openEmbeddedReadModels({ directory: tempDirectory(t) })
  t.teardown(() => readModels.close())
  await readModels.createIndexes(name, indexes.transfers)
  const collection = readModels.collection(name)
  const userId = (n: number) => `customer-${n < 3 ? 'b' : 'a'}${n}`
  const all = Array.from({ length: 20_010 }, (_, n) => ({ ...transferOf(n), userId: userId(n) }))
  for (let from = 0; from < all.length; from += 5_000) await collection.put(all.slice(from, from + 5_000))
  const ofOther = { merchantId: ['none', transferOf(0).merchantId] }
  t.equal((await collection.search({ words: ['customera'], direction: -1, limit: 50 })).documents.length, 50)
  t.equal((await collection.search({ words: ['customerb'], direction: -1, limit: 50 })).documents.length, 3)
  const page = await collection.search({
    words: ['customer'],
    wholeWord: 'b1',
    equal: ofOther,
    direction: -1,
    limit: 50,
  })
  t.same(
    page.documents.map(({ position }) => position),
    [1],
  )
})

t.test('on MongoDB, a page reads a thousand documents at most, of a rare word or in their order', async (t) => {
  const documents = Array.from({ length: 2_500 }, (_, n) => transferOf(n))
  const words = wordsOf(name)!
  const reads: number[] = []
  const isRare = (filter: object) => JSON.stringify(filter).includes('user70')
  const source = {
    async count(filter: object, limit: number) {
      return Math.min(
        limit,
        isRare(filter) ? documents.filter(({ userId }) => userId.startsWith('user-70')).length : limit,
      )
    },
    async find(filter: object, { limit = 0 }) {
      const after = (filter as { position?: { $lt: number } }).position?.$lt ?? Number.POSITIVE_INFINITY
      const matching = documents.filter(
        (each) => each.position < after && (!isRare(filter) || each.userId.startsWith('user-70')),
      )
      const found = matching.reverse().slice(0, limit)
      reads.push(found.length)
      return found
    },
  }
  const searchAll = async (prefixes: readonly string[]) => {
    const positions: number[] = []
    let after: number | null | undefined
    while (after !== null) {
      const search: WordSearch = { words: prefixes, direction: -1, limit: 300, after }
      const page: WordSearchPage = await searchWords(source, 'position', words, search)
      positions.push(...page.documents.map(({ position }) => position as number))
      after = page.next
    }
    return positions
  }
  for (const [prefixes, isWanted] of [
    [['ada', 'lovelace'], ({ name }) => name === 'Ada Lovelace'],
    [['adam', 'user70'], ({ name, userId }) => name === 'Adam Smith' && userId.startsWith('user-70')],
    [['nothing'], () => false],
  ] as readonly [readonly string[], (each: (typeof documents)[number]) => boolean][]) {
    const expected = documents.filter(isWanted).map(({ position }) => position)
    t.same(await searchAll(prefixes), expected.reverse(), prefixes.join())
  }
  t.ok(Math.max(...reads) <= 1_000)
  t.ok(Math.min(...reads) < 100, 'a rare word is read on its own')
})
