import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import fc from 'fast-check'
import t from 'tap'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import type { RecordedEvent } from '../../src/event-store/event-store.js'
import { totalsProjection } from '../../src/projections/transfer-totals.js'
import { bucketsOf, withTexts } from '../../src/queries/overview.js'
import { statementOf } from '../../src/queries/statement.js'
import { startOfDay } from '../../src/queries/zone-days.js'
import { depositCreated } from '../domain/transfer-samples.js'
import { applyTo } from '../support/projected-documents.js'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'

const directory = tempDirectory(t)
const readModels = await openTestReadModels(directory)
t.teardown(async () => {
  await readModels.close()
  await removeTestReadModels(directory)
})

const merchantId = '0f0e3cf9-2f6c-4c8e-9d3b-1f6f7a2a9b10'
const minuteMs = 60_000
const firstMs = Date.parse('2026-11-20T00:00:00.000Z')
const isoOf = (ms: number) => new Date(ms).toISOString()

interface Created {
  readonly amountMinor: bigint
  readonly atMs: number
}

function deposit({ amountMinor, atMs }: Created, n: number): TransferEvent {
  const ids = { trackingId: `t${n}`, merchantId, referenceId: `r${n}` }
  const at = isoOf(atMs)
  return { ...depositCreated, data: { ...depositCreated.data, ...ids, amountMinor, at, expiresAt: at } }
}

/** Applies the deposits in batches, as a running projection does. */
async function project(created: readonly Created[], batchSize: number): Promise<void> {
  await readModels.drop(totalsProjection.collection)
  await readModels.createIndexes(totalsProjection.collection, totalsProjection.indexes)
  const collection = readModels.collection(totalsProjection.collection)
  const metadata = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
  const log = created.map((each, n): RecordedEvent => {
    const position = { commit: BigInt(n), prepare: BigInt(n) }
    const place = { stream: `transfer-t${n}`, revision: 0, position, recordedAtMs: each.atMs }
    return { ...encodeEvent(deposit(each, n), metadata), ...place }
  })
  for (let from = 0; from < log.length; from += batchSize)
    await applyTo(collection, totalsProjection, log.slice(from, from + batchSize))
}

const anyCreated = fc.record({
  amountMinor: fc.bigInt({ min: 1n, max: 999_999_999_999_999n }),
  atMs: fc.nat(3 * 24 * 60).map((minutes) => firstMs + minutes * minuteMs),
})

t.test('sums are exact beyond 2^53', async (t) => {
  const largest = { amountMinor: 999_999_999_999_999n, atMs: firstMs }
  await project(
    Array.from({ length: 101 }, () => largest),
    10,
  )
  const range = { from: isoOf(firstMs), to: isoOf(firstMs + minuteMs) }
  const { buckets } = await bucketsOf(readModels, { merchantIds: undefined, ...range })
  t.match(buckets, [{ count: 101, amountMinor: 100_999_999_999_999_899n }])
  t.match(withTexts(buckets[0]!), { amountMinor: '100999999999999899' })
  const lines = await statementOf({ readModels }, { ...range, timeZone: 'UTC', now: range.from })
  t.match(lines, [{ requestedMinor: 100_999_999_999_999_899n, openMinor: 100_999_999_999_999_899n }])
})

t.test('the sums of adjacent ranges equal a bigint reference and count nothing twice, at any quarter', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyCreated, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 7 }),
      fc.nat(3 * 96),
      async (created, batchSize, quarters) => {
        await project(created, batchSize)
        const middle = isoOf(firstMs + quarters * 15 * minuteMs)
        const sumOf = async (from: string, to: string) => {
          const { buckets } = await bucketsOf(readModels, { merchantIds: [merchantId], from, to })
          return buckets.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
        }
        const before = await sumOf('2026-11-18T18:30:00.000Z', middle)
        const after = await sumOf(middle, '2026-11-26T18:15:00.000Z')
        const expected = (isBefore: boolean) =>
          created
            .filter(({ atMs }) => isoOf(atMs) < middle === isBefore)
            .reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
        if (before !== expected(true) || after !== expected(false)) throw new Error(`wrong at ${middle}`)
      },
    ),
    { numRuns: 40 },
  )
})

t.test('a day starts at a quarter of an hour in every zone, and days follow each other without gaps', async (t) => {
  t.equal(startOfDay('UTC', '2026-11-20'), '2026-11-20T00:00:00.000Z')
  t.equal(startOfDay('Asia/Kolkata', '2026-11-20'), '2026-11-19T18:30:00.000Z')
  t.equal(startOfDay('Asia/Kathmandu', '2026-11-20'), '2026-11-19T18:15:00.000Z')
  t.equal(startOfDay('America/New_York', '2026-11-01'), '2026-11-01T04:00:00.000Z')
  t.equal(startOfDay('America/New_York', '2026-11-02'), '2026-11-02T05:00:00.000Z', 'after a change of the clocks')
  t.equal(startOfDay('Africa/Cairo', '2026-04-24'), '2026-04-23T22:00:00.000Z', 'a day that starts at one')
  t.equal(startOfDay('Pacific/Kiritimati', '2026-11-20'), '2026-11-19T10:00:00.000Z')
})

t.test('a statement has no days that have not come', async (t) => {
  await project([{ amountMinor: 1n, atMs: firstMs }], 1)
  const range = { from: isoOf(firstMs), to: '2027-01-01T00:00:00.000Z' }
  const days = async (timeZone: string, now: string) =>
    (await statementOf({ readModels }, { merchantIds: [merchantId], ...range, timeZone, now })).map(({ day }) => day)
  t.strictSame(await days('UTC', '2026-11-21T23:59:59.999Z'), ['2026-11-20', '2026-11-21'])
  const inKolkata = await days('Asia/Kolkata', '2026-11-21T18:30:00.000Z')
  t.strictSame(inKolkata, ['2026-11-20', '2026-11-21', '2026-11-22'])
})
