import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import fc from 'fast-check'
import t from 'tap'
import type { Status } from '../../src/domain/transfer/transfer.js'
import { listCallbacks } from '../../src/queries/callbacks.js'
import { type Place, parseCursor } from '../../src/queries/list-page.js'
import { parseMoment } from '../../src/queries/moment.js'
import { listTransfers } from '../../src/queries/transfers.js'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { askEverything, transferQuestions } from './every-question.js'
import { callbackOf, fillReadModels, openWatchedReadModels, timeOf, transferOf } from './listed-rows.js'

const count = 20_000
const readModels = openWatchedReadModels(tempDirectory(t))
t.teardown(() => readModels.close())
await fillReadModels(readModels, count)
const all = Array.from({ length: count }, (_, n) => transferOf(n))
const newestFirst = all
  .map((transfer) => ({ transfer, key: `${transfer.createdAt}|${transfer._id}` }))
  .sort((a, b) => (a.key < b.key ? 1 : -1))

t.test('every combination of filters is served by an index, within a page of rows for each range', async (t) => {
  await askEverything(t, readModels, count)
})

t.test('every combination of filters answers what a search through everything finds', async (t) => {
  for (const question of transferQuestions(count, 25)) {
    const { merchantId, status, kind, from, to, cursor, limit } = question
    const after = cursor && `${cursor.time}|${cursor.id}`
    const expected: string[] = []
    for (const { transfer, key } of newestFirst) {
      if (expected.length === limit + 1) break
      if ((merchantId ?? transfer.merchantId) !== transfer.merchantId) continue
      if ((status ?? transfer.status) !== transfer.status || (kind ?? transfer.kind) !== transfer.kind) continue
      if (transfer.createdAt < (from ?? '') || transfer.createdAt >= (to ?? '~')) continue
      if (after === undefined || key < after) expected.push(transfer._id)
    }
    const { items, nextCursor } = await listTransfers(readModels, merchantId, question)
    const found = items.map(({ _id }) => _id)
    if (found.join() !== expected.slice(0, limit).join() || (nextCursor !== null) !== expected.length > limit)
      t.fail(JSON.stringify(question))
  }
  t.pass('none differs')
})

t.test('page after page shows each transfer once, whatever the size of the page', async () => {
  const statuses: readonly Status[] = ['Pending', 'ManualControl', 'Cancelled', 'Failed']
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...statuses), fc.integer({ min: 1, max: 60 }), async (status, limit) => {
      const seen: string[] = []
      let cursor: Place | undefined
      do {
        const filter = { status, kind: undefined, from: undefined, to: undefined, limit, cursor }
        const page = await listTransfers(readModels, undefined, filter)
        seen.push(...page.items.map(({ _id }) => _id))
        cursor = page.nextCursor === null ? undefined : parseCursor(page.nextCursor)
      } while (cursor)
      const expected = newestFirst.filter(({ transfer }) => transfer.status === status)
      return seen.join() === expected.map(({ transfer }) => transfer._id).join()
    }),
    { numRuns: 20 },
  )
})

/** The read models, in which a document goes on to its next state each time it is found. */
function goingOn(own: ReadModels, id: string, states: string[]): ReadModels {
  return {
    createIndexes: (name, indexes) => own.createIndexes(name, indexes),
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
        countDocuments: (filter) => collection.countDocuments(filter),
        bulkWrite: (operations) => collection.bulkWrite(operations),
      }
    },
  }
}

t.test('what goes on while a list is read is in it once, as it is then', async (t) => {
  const own = openWatchedReadModels(tempDirectory(t))
  t.teardown(() => own.close())
  await fillReadModels(own, 30)
  const everything = { status: undefined, limit: 100, cursor: undefined }
  const check = (
    items: readonly (readonly [id: string, status: string])[],
    id: string,
    status: string,
    count: number,
  ) => {
    t.equal(items.length, count)
    t.equal(new Map(items).size, count, 'none is there twice')
    t.equal(new Map(items).get(id), status)
  }
  const { _id: transfer, status } = transferOf(0)
  t.equal(status, 'Pending')
  const transfers = goingOn(own, transfer, ['ManualControl', 'Completed'])
  const filter = { ...everything, kind: undefined, from: undefined, to: undefined }
  const listedTransfers = (await listTransfers(transfers, undefined, filter)).items
  check(
    listedTransfers.map(({ _id, status }) => [_id, status]),
    transfer,
    'Completed',
    30,
  )
  const { _id: callback } = callbackOf(0)
  const update = { $set: { status: 'waiting' } }
  await own.collection('callbacks').bulkWrite([{ updateOne: { filter: { _id: callback }, update } }])
  const callbacks = goingOn(own, callback, ['parked'])
  const listedCallbacks = (await listCallbacks(callbacks, { ...everything, merchantId: undefined })).items
  check(
    listedCallbacks.map(({ webhookId, status }) => [webhookId, status]),
    callback,
    'parked',
    3,
  )
})

t.test('callbacks of every state come in one list, newest first', async (t) => {
  const { items } = await listCallbacks(readModels, {
    merchantId: undefined,
    status: undefined,
    limit: 1100,
    cursor: undefined,
  })
  const expected = Array.from({ length: count / 10 }, (_, n) => callbackOf(n))
    .map(({ recordedAt, _id, status }) => ({ key: `${recordedAt}|${_id}`, status }))
    .sort((a, b) => (a.key < b.key ? 1 : -1))
    .slice(0, 1100)
  t.same(
    items.map(({ recordedAt, webhookId, status }) => ({ key: `${recordedAt}|${webhookId}`, status })),
    expected,
  )
  t.same([...new Set(items.map(({ status }) => status))].sort(), ['delivered', 'parked', 'waiting'])
})

t.test('a moment is a date there is, or a time of one with its zone', async (t) => {
  t.equal(parseMoment('2026-11-21'), '2026-11-21T00:00:00.000Z')
  t.equal(parseMoment('2028-02-29'), '2028-02-29T00:00:00.000Z')
  t.equal(parseMoment('2026-11-21T10:00:00.5+02:00'), '2026-11-21T08:00:00.500Z')
  t.equal(parseMoment('2026-11-21T10:00Z'), '2026-11-21T10:00:00.000Z')
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
  for (const text of none) t.equal(parseMoment(text), undefined, text)
  fc.assert(
    fc.property(fc.date({ min: new Date(0), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true }), (date) => {
      return parseMoment(date.toISOString()) === date.toISOString()
    }),
  )
})

t.test('the rows stand close together in time, so that pages end within a millisecond', async (t) => {
  t.equal(timeOf(0), timeOf(59))
})
