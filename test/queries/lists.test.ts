import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import fc from 'fast-check'
import t from 'tap'
import type { RuleValues } from '../../src/domain/rule-values.js'
import type { RuleName } from '../../src/domain/rules.js'
import type { Status } from '../../src/domain/transfer/status.js'
import { folded } from '../../src/kernel/text.js'
import { parseTime } from '../../src/kernel/time.js'
import { listCallbacks } from '../../src/queries/callback-queries.js'
import { formatCursor, parseCursor, type SortKey } from '../../src/queries/list-page.js'
import { listTransfers } from '../../src/queries/transfer-queries.js'
import { listByMetadata, searchTransfers, type TransferSearch } from '../../src/queries/transfer-search.js'
import { indexes, type TransferDocument } from '../../src/read-models/documents.js'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { queriedWords, transferWords } from '../../src/read-models/transfer-words.js'
import { long } from '../support/long.js'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'
import { runEveryQuery, transferFilters, transferSearches } from './every-question.js'
import {
  busyMerchant,
  callbackOf,
  fillReadModels,
  openWatchedReadModels,
  quietMerchant,
  timeOf,
  transferOf,
} from './listed-rows.js'

t.setTimeout(120_000)

/** Returns every fifth combination in the short form of the tests. Five divides no number of values of a filter. */
function some<Combination>(combinations: readonly Combination[]): readonly Combination[] {
  return long ? combinations : combinations.filter((_, n) => n % 5 === 0)
}

const count = 4_000
const readModels = openWatchedReadModels(tempDirectory(t))
t.teardown(() => readModels.close())
await fillReadModels(readModels, count)
const all = Array.from({ length: count }, (_, n) => transferOf(n))
function keyOf(at: string | number, position: number): string {
  return `${at}|${String(position).padStart(9, '0')}`
}

const newestFirst = all
  .map((transfer) => ({ transfer, key: keyOf(transfer.createdAt, transfer.position) }))
  .sort((a, b) => (a.key < b.key ? 1 : -1))

t.test('an index serves every combination of filters and reads one page of rows per range', async (t) => {
  await runEveryQuery(t, readModels, count)
})

t.test('every combination of filters returns the same as a full scan', async (t) => {
  for (const question of some(transferFilters(count, 25))) {
    const { merchantId, status, kind, from, to, cursor, limit } = question
    const after = cursor && keyOf(cursor.at, cursor.position)
    const expected: string[] = []
    for (const { transfer, key } of newestFirst) {
      if (expected.length === limit + 1) break
      if ((merchantId ?? transfer.merchantId) !== transfer.merchantId) continue
      if ((status ?? transfer.status) !== transfer.status || (kind ?? transfer.kind) !== transfer.kind) continue
      if (transfer.createdAt < (from ?? '') || transfer.createdAt >= (to ?? '~')) continue
      if (after === undefined || key < after) expected.push(transfer._id)
    }
    const { items, nextCursor } = await listTransfers({ readModels }, question)
    const found = items.map(({ _id }) => _id)
    if (found.join() !== expected.slice(0, limit).join() || (nextCursor !== null) !== expected.length > limit)
      t.fail(JSON.stringify(question))
  }
  t.pass('no combination differs')
})

const wordsOf = new Map(all.map((transfer) => [transfer, transferWords(transfer)]))

function isExactly({ referenceId, userId, name, accountNumber }: TransferDocument, text: string): boolean {
  const plain = (each = '') => folded(each).replaceAll(/[^\p{L}\p{N}]/gu, '')
  return [referenceId, userId, name, accountNumber].some((each) => plain(each) === plain(text))
}

/** Returns the ordered result of a full scan. */
function searched(search: TransferSearch): readonly string[] {
  const { merchantIds, kind, status, from = '', to = '~', attention, method, text, sort } = search
  const { minAmountMinor = 0, maxAmountMinor = Number.POSITIVE_INFINITY } = search
  const hasId = ({ _id }: TransferDocument) => text !== undefined && text.length >= 6 && _id.startsWith(text)
  const [prefixes = []] = queriedWords(text ?? '')
  const hasText = (transfer: TransferDocument) =>
    hasId(transfer) || prefixes.every((prefix) => wordsOf.get(transfer)!.some((word) => word.startsWith(prefix)))
  const matching = all.flatMap((transfer) => {
    const { merchantId, createdAt, amountMinor } = transfer
    const isWanted =
      (merchantIds ?? [merchantId]).includes(merchantId) &&
      (kind ?? transfer.kind) === transfer.kind &&
      (status ?? transfer.status) === transfer.status &&
      (attention === undefined || transfer.attention !== undefined) &&
      (method ?? transfer.paymentMethod) === transfer.paymentMethod &&
      createdAt >= from &&
      createdAt < to &&
      amountMinor >= minAmountMinor &&
      amountMinor <= maxAmountMinor
    return isWanted && hasText(transfer) ? [transfer] : []
  })
  const byPosition = (a: TransferDocument, b: TransferDocument) => a.position - b.position
  const byAmount = (a: TransferDocument, b: TransferDocument) => a.amountMinor - b.amountMinor || byPosition(a, b)
  const isByAmount = sort === 'largest' || sort === 'smallest'
  matching.sort(isByAmount ? byAmount : byPosition)
  if (sort !== 'oldest' && sort !== 'smallest') matching.reverse()
  if (text !== undefined) {
    const exact = matching.filter((each) => isExactly(each, text)).slice(0, Math.min(search.limit, 20))
    const rank = (each: TransferDocument) => (hasId(each) ? 2 : exact.includes(each) ? 1 : 0)
    matching.sort((a, b) => rank(b) - rank(a))
  }
  return matching.map(({ _id }) => _id)
}

t.test('the pages of every search together equal a full scan', async (t) => {
  for (const search of some(transferSearches(count))) {
    const expected = searched(search)
    const seen: string[] = []
    let cursor: string | null = null
    for (let page = 0; page < 4 && (page === 0 || cursor !== null); page++) {
      const question: TransferSearch = { ...search, cursor: cursor ?? undefined }
      const answer = await searchTransfers({ readModels }, question)
      seen.push(...answer.items.map(({ _id }) => _id))
      cursor = answer.nextCursor
    }
    if (seen.join() !== expected.slice(0, seen.length).join() || (cursor === null && seen.length !== expected.length))
      t.fail(`${JSON.stringify(search)}: ${seen.length} of ${expected.length}`)
  }
  t.pass('no combination differs')
})

const anything: TransferSearch = {
  ...{
    merchantIds: undefined,
    kind: undefined,
    status: undefined,
    from: undefined,
    to: undefined,
    attention: undefined,
  },
  ...{ method: undefined, minAmountMinor: undefined, maxAmountMinor: undefined, text: undefined, sort: undefined },
  ...{ limit: 10, cursor: undefined },
}

t.test('finds names by any word and references by their beginning, across all merchants or in some', async (t) => {
  const own = openWatchedReadModels(tempDirectory(t))
  t.teardown(() => own.close())
  await own.createIndexes('transfers', indexes.transfers)
  const [ada, grace] = [
    { ...transferOf(1), merchantId: quietMerchant, name: 'Augusta ADA Lovelace', referenceId: 'invoice-2026-17' },
    { ...transferOf(2), merchantId: busyMerchant, name: 'Grace Hopper', referenceId: 'invoice-2026-18' },
  ]
  await own.collection('transfers').put([ada, grace])
  const find = async (text: string, merchantIds?: readonly string[]) =>
    (await searchTransfers({ readModels: own }, { ...anything, text, merchantIds })).items.map(({ _id }) => _id)
  t.same(await find('lovel'), [ada._id])
  t.same(await find('love AUG'), [ada._id])
  t.same(await find('love hopper'), [], 'a transfer has all of the words')
  t.same(await find('invoice-20'), [grace._id, ada._id], 'the newest is first')
  t.same(await find('2026 17'), [ada._id])
  t.same(await find('voice'), [])
  t.same(await find('invoice', [busyMerchant]), [grace._id])
  t.same(await find('invoice', []), [])
  t.same(await find(ada._id.slice(0, 6).toUpperCase()), [ada._id])
  t.same(await find(ada._id.slice(0, 5)), [])
  t.same(await find('TR12 Ada'), [], 'the beginning of an account')
  const several = { ...transferOf(50), name: 'Ada', referenceId: 'TR12', userId: '42' }
  await own.collection('transfers').put([several])
  t.same(await find('TR12 Ada'), [several._id], 'a reference and a name')
  t.same(await find('42 12'), [])
  await own.collection('transfers').put([{ ...several, referenceId: '1207' }])
  t.same(await find('42 12'), [several._id], 'a userId and a reference')
  t.same(await find('\u00ad'), [], 'a text without visible characters finds nothing')
  const newer = Array.from({ length: 30 }, (_, n) => ({ ...transferOf(n + 3), referenceId: `invoice-2026-17${n}` }))
  await own.collection('transfers').put(newer)
  t.same((await find('invoice-2026-17'))[0], ada._id, 'the exact text is first')
  t.same((await find('INVOICE/2026/17'))[0], ada._id)
  const endings = Array.from({ length: 60 }, (_, n) => ({ ...transferOf(n + 51), referenceId: `shop-${n}-hopper-1` }))
  await own.collection('transfers').put([...endings, { ...grace, referenceId: 'Hopper 1' }])
  t.same((await find('hopper 1'))[0], grace._id, 'newer texts that only end with it are behind')
})

t.test('rejects a query without an index and names its filters', async (t) => {
  const refused: readonly (readonly [Partial<TransferSearch>, string, RuleName, RuleValues?])[] = [
    [{ minAmountMinor: 1 }, 'minAmountMinor', 'needs-field', { other: 'merchantId' }],
    [{ maxAmountMinor: 1 }, 'maxAmountMinor', 'needs-field', { other: 'merchantId' }],
    [{ sort: 'largest' }, 'sort', 'needs-field', { other: 'merchantId' }],
    [{ merchantIds: [], minAmountMinor: 1, from: timeOf(1) }, 'from', 'excludes-field', { other: 'amount' }],
    [
      { merchantIds: [], minAmountMinor: 1, sort: 'newest' },
      'sort',
      'order-unavailable',
      { allowed: 'largest, smallest', other: 'amount' },
    ],
    [{ merchantIds: [], method: 1, status: 'Pending' }, 'status', 'excludes-field', { other: 'method' }],
    [
      { merchantIds: [], method: 1, sort: 'largest' },
      'sort',
      'order-unavailable',
      { allowed: 'newest, oldest', other: 'method' },
    ],
    [{ attention: 'open', status: 'Failed' }, 'status', 'excludes-field', { other: 'attention' }],
    [{ text: 'a', status: 'Failed' }, 'status', 'excludes-field', { other: 'text' }],
    [{ text: 'a', sort: 'newest' }, 'sort', 'excludes-field', { other: 'text' }],
    [{ merchantIds: [], text: 'a', method: 1 }, 'method', 'excludes-field', { other: 'text' }],
    ...['', 'x', formatCursor({ at: 5, position: 1 })].map(
      (cursor) => [{ cursor }, 'cursor', 'cursor-invalid'] as const,
    ),
  ]
  for (const [search, field, rule, values = {}] of refused) {
    await t.rejects(
      async () => searchTransfers({ readModels }, { ...anything, ...search }),
      { name: 'SearchError', field, violation: { rule, values } },
      `${field} ${rule}`,
    )
  }
})

t.test('paging neither skips nor repeats existing rows while new ones arrive', async (t) => {
  const directory = tempDirectory(t)
  const own = await openTestReadModels(directory)
  t.teardown(async () => {
    await own.close()
    await removeTestReadModels(directory)
  })
  const sorts = ['newest', 'oldest', 'largest', 'smallest'] as const
  const arriving = fc.array(fc.array(fc.integer({ min: 0, max: 399 }), { maxLength: 30 }), { maxLength: 40 })
  const searches = fc.oneof(
    fc.constantFrom(...sorts).map((sort) => ({ sort })),
    fc.constantFrom('newest', 'oldest').map((sort) => ({ sort, method: 1 }) as const),
    fc.constantFrom('ada', 'user-7', 'order-1').map((text) => ({ text })),
  )
  await fc.assert(
    fc.asyncProperty(searches, arriving, fc.integer({ min: 1, max: 40 }), async (search, arrivals, limit) => {
      await own.drop('transfers')
      await own.createIndexes('transfers', indexes.transfers)
      const existing = new Set<number>()
      const arrive = async (numbers: readonly number[]) => {
        const added = [...new Set(numbers)].filter((n) => !existing.has(n))
        for (const n of added) existing.add(n)
        await own.collection('transfers').put(added.map(transferOf))
      }
      await arrive(Array.from({ length: 200 }, (_, n) => 2 * n))
      const question = { ...anything, ...search, merchantIds: [busyMerchant, quietMerchant], limit }
      const allTransfers = await searchTransfers({ readModels: own }, { ...question, limit: 1_000 })
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const page = await searchTransfers({ readModels: own }, { ...question, cursor: cursor ?? undefined })
        seen.push(...page.items.map(({ _id }) => _id))
        cursor = page.nextCursor
        await arrive(arrivals.shift() ?? [])
      } while (cursor !== null)
      const first = allTransfers.items.map(({ _id }) => _id)
      const seenBefore = seen.filter((id) => first.includes(id))
      return new Set(seen).size === seen.length && seenBefore.join() === first.join()
    }),
    { numRuns: long ? 25 : 8 },
  )
})

t.test('pages by metadata show each transfer with the status once, and read many transfers per query', async (t) => {
  const directory = tempDirectory(t)
  const own = await openTestReadModels(directory)
  t.teardown(async () => {
    await own.close()
    await removeTestReadModels(directory)
  })
  await own.createIndexes('transfers', indexes.transfers)
  const isWanted = (n: number) => n % 7 === 3 || n > 390
  const transfers = Array.from({ length: 400 }, (_, n) => ({
    ...transferOf(n),
    merchantId: busyMerchant,
    status: isWanted(n) ? ('Cancelled' as const) : ('Pending' as const),
    metadata: JSON.stringify({ shop: n % 2 === 0 ? 'even' : 'odd' }),
  }))
  await own.collection('transfers').put(transfers)
  let queries = 0
  const counted: ReadModels = Object.create(own, {
    collection: {
      value: (name: string) => {
        queries++
        return own.collection(name)
      },
    },
  })
  const base = { merchantId: busyMerchant, metadata: { shop: 'odd' } }
  for (const limit of [1, 2, 9, 10, 100]) {
    const seen: string[] = []
    for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
      const page = await listByMetadata({ readModels: counted }, { ...base, status: 'Cancelled', limit, cursor })
      t.ok(page.items.length <= limit)
      seen.push(...page.items.map(({ _id }) => _id))
      cursor = page.nextCursor ?? undefined
    }
    const wanted = transfers.filter((_, n) => n % 2 === 1 && isWanted(n)).sort((a, b) => b.position - a.position)
    t.strictSame(
      seen,
      wanted.map(({ _id }) => _id),
      `pages of ${limit}`,
    )
  }
  queries = 0
  const none = await listByMetadata({ readModels: counted }, { ...base, status: 'Failed', limit: 1 })
  t.strictSame(none, { items: [], nextCursor: null })
  t.ok(queries <= 5, `${queries} queries for 200 transfers`)
})

t.test('pages of any size show each transfer once', async () => {
  const statuses: readonly Status[] = ['Pending', 'ManualControl', 'Cancelled', 'Failed']
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...statuses), fc.integer({ min: 1, max: 60 }), async (status, limit) => {
      const seen: string[] = []
      let cursor: SortKey | undefined
      do {
        const page = await listTransfers({ readModels }, { status, limit, cursor })
        seen.push(...page.items.map(({ _id }) => _id))
        cursor = page.nextCursor === null ? undefined : parseCursor(page.nextCursor)
      } while (cursor)
      const expected = newestFirst.filter(({ transfer }) => transfer.status === status)
      return seen.join() === expected.map(({ transfer }) => transfer._id).join()
    }),
    { numRuns: long ? 20 : 8 },
  )
})

/** Returns read models in which a document advances to its next state each time it is found. */
function withAdvancingTransfer(own: ReadModels, id: string, states: string[]): ReadModels {
  return {
    createIndexes: (name, indexes) => own.createIndexes(name, indexes),
    createUnfilled: (name, indexes) => own.createUnfilled(name, indexes),
    rename: (from, to) => own.rename(from, to),
    drop: (name) => own.drop(name),
    listCollections: () => own.listCollections(),
    close: () => own.close(),
    collection(name) {
      const collection = own.collection(name)
      return {
        findOne: (filter, options) => collection.findOne(filter, options),
        async find(filter, options) {
          const found = await collection.find(filter, options)
          const status = found.some(({ _id }) => _id === id) && states.shift()
          if (status) await collection.bulkWrite([{ updateOne: { filter: { _id: id }, update: { $set: { status } } } }])
          return found
        },
        countDocuments: (filter, options) => collection.countDocuments(filter, options),
        bulkWrite: (operations) => collection.bulkWrite(operations),
        put: (documents) => collection.put(documents),
        search: (search) => collection.search(search),
        texts: (after, limit) => collection.texts(after, limit),
      }
    },
  }
}

t.test('a list contains a transfer that changes during the read once, in its current state', async (t) => {
  const own = openWatchedReadModels(tempDirectory(t))
  t.teardown(() => own.close())
  await fillReadModels(own, 30)
  const filter = { limit: 100 }
  const check = (
    items: readonly (readonly [id: string, status: string])[],
    id: string,
    status: string,
    count: number,
  ) => {
    t.equal(items.length, count)
    t.equal(new Map(items).size, count, 'no transfer is listed twice')
    t.equal(new Map(items).get(id), status)
  }
  const { _id: transfer, status } = transferOf(0)
  t.equal(status, 'Pending')
  const transfers = withAdvancingTransfer(own, transfer, ['ManualControl', 'Completed'])
  const listedTransfers = (await listTransfers({ readModels: transfers }, filter)).items
  check(
    listedTransfers.map(({ _id, status }) => [_id, status]),
    transfer,
    'Completed',
    30,
  )
  const { _id: callback } = callbackOf(0)
  const update = { $set: { status: 'waiting' } }
  await own.collection('callbacks').bulkWrite([{ updateOne: { filter: { _id: callback }, update } }])
  const callbacks = withAdvancingTransfer(own, callback, ['parked'])
  const listedCallbacks = (await listCallbacks({ readModels: callbacks }, filter)).items
  check(
    listedCallbacks.map(({ webhookId, status }) => [webhookId, status]),
    callback,
    'parked',
    3,
  )
})

t.test('lists callbacks of all states together, newest first', async (t) => {
  const { items } = await listCallbacks({ readModels }, { limit: 1100 })
  const expected = Array.from({ length: count / 10 }, (_, n) => callbackOf(n))
    .map(({ recordedAt, _id, status }) => ({ key: `${recordedAt}|${_id}`, status }))
    .reverse()
    .slice(0, 1100)
  t.same(
    items.map(({ recordedAt, webhookId, status }) => ({ key: `${recordedAt}|${webhookId}`, status })),
    expected,
  )
  t.same([...new Set(items.map(({ status }) => status))].sort(), ['delivered', 'parked', 'waiting'])
})

t.test('accepts a valid date, or a time with its zone', async (t) => {
  t.equal(parseTime('2026-11-21'), '2026-11-21T00:00:00.000Z')
  t.equal(parseTime('2028-02-29'), '2028-02-29T00:00:00.000Z')
  t.equal(parseTime('2026-11-21T10:00:00.5+02:00'), '2026-11-21T08:00:00.500Z')
  t.equal(parseTime('2026-11-21T10:00Z'), '2026-11-21T10:00:00.000Z')
  const none = [
    '2026-02-30',
    '2026-02-29',
    '2026-04-31T10:00:00Z',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '2026-1-1',
  ]
  none.push(
    '2026-11-21T24:00:00Z',
    '2026-11-21T10:60:00Z',
    '2026-11-21T10:00:60Z',
    '2026-11-21T10:00:00',
    '2026-11-21 10:00Z',
  )
  none.push('2026-11-21T10:00:00+24:00', '0000-01-01T00:00:00+01:00', '9999-12-31T23:59:59-00:01', 'yesterday', '')
  for (const text of none) t.equal(parseTime(text), undefined, text)
  fc.assert(
    fc.property(fc.date({ min: new Date(0), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true }), (date) => {
      return parseTime(date.toISOString()) === date.toISOString()
    }),
  )
})

t.test('the rows of the test are close in time, so that pages end within a millisecond', async (t) => {
  t.equal(timeOf(0), timeOf(59))
})
