import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import fc from 'fast-check'
import t from 'tap'
import { evolve, initialState, isTerminal, type TransferState } from '../../src/domain/transfer/transfer.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { decodeEvent } from '../../src/event-store/event-codec.js'
import type { RecordedEvent } from '../../src/event-store/event-store.js'
import { totalsProjection } from '../../src/projections/transfer-totals.js'
import { transfersProjection } from '../../src/projections/transfers-projection.js'
import { bucketsOf, countOpen, oldestPending, timeToCompletion } from '../../src/queries/overview.js'
import { type StatementLine, statementOf } from '../../src/queries/statement.js'
import { applyTo } from '../support/projected-documents.js'
import { logOf, type Step, steps } from '../support/random-log.js'
import { openTestReadModels, removeTestReadModels, withSlowReadModels } from '../support/read-models.js'

const directory = tempDirectory(t)
const readModels = await openTestReadModels(directory)
t.teardown(async () => {
  await readModels.close()
  await removeTestReadModels(directory)
})
const numRuns = withSlowReadModels ? 5 : 40

/** A deposit that is paid twice and partly returned, which random logs rarely contain. */
const paidTwice: readonly Step[] = [
  { transfer: 1, what: 0, minutes: 1, amount: 30_000 },
  { transfer: 1, what: 2, minutes: 1, amount: 30_003 },
  { transfer: 1, what: 2, minutes: 1, amount: 30_003 },
  { transfer: 1, what: 4, minutes: 1, amount: 30_001 },
]

/** A log of transfers over weeks, so that it includes the ends of months and years. */
function transferLog(history: readonly Step[]) {
  const slow = [...paidTwice, ...history].map((step) => ({ ...step, minutes: step.minutes * 40 }))
  return logOf(slow).filter(({ stream }) => stream.startsWith('transfer-'))
}

async function project(log: readonly RecordedEvent[]): Promise<readonly TransferEvent[]> {
  for (const projection of [totalsProjection, transfersProjection]) {
    await readModels.drop(projection.collection)
    await readModels.createIndexes(projection.collection, projection.indexes)
    await applyTo(readModels.collection(projection.collection), projection, log)
  }
  return log.map((recorded) => decodeEvent(recorded) as TransferEvent)
}

const dayMs = 86_400_000
const isoOf = (ms: number) => new Date(ms).toISOString()
const merchantsOf = (events: readonly TransferEvent[]) => [...new Set(events.map(({ data }) => data.merchantId))]

/** Computes one line by folding every event up to the end of its day. */
function expectedLine(events: readonly TransferEvent[], day: string, kind: 'deposit' | 'withdrawal'): StatementLine {
  const ofKind = events.filter(({ data }) => data.kind === kind && data.at.slice(0, 10) <= day)
  const states = new Map<string, TransferState>()
  for (const event of ofKind) {
    const { trackingId } = event.data
    states.set(trackingId, evolve(states.get(trackingId) ?? initialState, event))
  }
  const open = [...states.values()].flatMap((state) =>
    state.kind === 'none' || isTerminal(state.status) ? [] : [state],
  )
  const that = ofKind.filter(({ data }) => data.at.startsWith(day))
  const created = that.filter(({ type }) => type === 'DepositCreated' || type === 'WithdrawalCreated')
  const booked = that.flatMap(({ type, data }) => (type === 'TransferCompleted' ? [data] : []))
  const sum = (amounts: readonly bigint[]) => Number(amounts.reduce((total, each) => total + each, 0n))
  return {
    ...{ day, kind },
    requestedCount: created.length,
    requestedMinor: sum(created.map(({ data }) => data.amountMinor)),
    completedCount: booked.length,
    completedMinor: sum(booked.map((data) => data.transactionAmountMinor)),
    mismatchMinor: sum(booked.map((data) => data.transactionAmountMinor - data.amountMinor)),
    returnedMinor: sum(that.flatMap(({ type, data }) => (type === 'FundsReturned' ? [data.returnedAmountMinor] : []))),
    openCount: open.length,
    openMinor: sum(open.map(({ amountMinor }) => amountMinor)),
  }
}

const hasFigures = ({ day: _, kind: __, ...figures }: StatementLine) =>
  Object.values(figures).some((each) => each !== 0)

t.test('a statement equals the fold of the log for any days and any merchants', async (t) => {
  let returned = 0
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.nat(100),
      fc.integer({ min: 1, max: 90 }),
      fc.nat(2),
      async (history, skip, days, owner) => {
        const events = await project(transferLog(history))
        const merchants = merchantsOf(events)
        const merchantIds = [undefined, merchants.slice(0, 1), merchants][owner]
        const fromMs = Date.parse('2026-11-15') + skip * dayMs
        const range = { from: isoOf(fromMs), to: isoOf(fromMs + days * dayMs) }
        const own = events.filter(({ data }) => (merchantIds ?? [data.merchantId]).includes(data.merchantId))
        const expected = Array.from({ length: days }, (_, n) => isoOf(fromMs + n * dayMs).slice(0, 10)).flatMap((day) =>
          (['deposit', 'withdrawal'] as const).map((kind) => expectedLine(own, day, kind)),
        )
        const lines = await statementOf(readModels, merchantIds, range)
        returned += lines.reduce((sum, { returnedMinor }) => sum + returnedMinor, 0)
        t.strictSame(lines, expected.filter(hasFigures))
      },
    ),
    // The month in which money was returned is always included.
    { numRuns, examples: [[[], 0, 30, 0]] },
  )
  t.ok(returned > 0, 'some history contains a return of money')
})

t.test('a range within a day returns the line of the whole day', async (t) => {
  await project(transferLog([]))
  const part = { from: '2026-11-20T13:00:00.000Z', to: '2026-11-20T14:00:00.000Z' }
  const [line] = await statementOf(readModels, undefined, part)
  t.match(line, { day: '2026-11-20', requestedCount: 1, requestedMinor: 30_000, returnedMinor: 50, openCount: 0 })
})

const reached: { readonly [type in TransferEvent['type']]?: string } = {
  DepositCreated: 'Pending',
  WithdrawalCreated: 'Pending',
  TransferCompleted: 'Completed',
  TransferSentToManualControl: 'ManualControl',
  TransferReopened: 'ManualControl',
  TransferCancelled: 'Cancelled',
  TransferFailed: 'Failed',
}

t.test('the overview counts each reached status once, by hour or by day', async (t) => {
  const hours = fc.integer({ min: 1, max: 72 })
  const lengths = fc.oneof(hours, fc.integer({ min: 73, max: 2_000 }))
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(2_000), lengths, fc.boolean(), async (history, skip, length, ofOne) => {
      const events = await project(transferLog(history))
      const merchantIds = ofOne ? merchantsOf(events).slice(0, 1) : undefined
      const fromMs = Date.parse('2026-11-20') + skip * 3_600_000
      const range = { merchantIds, from: isoOf(fromMs), to: isoOf(fromMs + length * 3_600_000) }
      const { bucketMs, buckets } = await bucketsOf(readModels, range)
      t.equal(bucketMs, length <= 72 ? 3_600_000 : dayMs)
      const counts = new Map<string, readonly [count: number, amountMinor: number]>()
      for (const { type, data } of events) {
        const status = reached[type]
        if (!status || data.at < range.from || data.at >= range.to) continue
        if (!(merchantIds ?? [data.merchantId]).includes(data.merchantId)) continue
        const key = `${isoOf(Math.floor(Date.parse(data.at) / bucketMs) * bucketMs)} ${data.kind} ${status}`
        const [count, amountMinor] = counts.get(key) ?? [0, 0]
        counts.set(key, [count + 1, amountMinor + Number(data.amountMinor)])
      }
      const found = buckets.map(
        ({ start, kind, status, count, amountMinor }) => [`${start} ${kind} ${status}`, [count, amountMinor]] as const,
      )
      t.strictSame(new Map([...found].sort()), new Map([...counts].sort()))
      t.equal(found.length, counts.size)
    }),
    { numRuns },
  )
})

t.test('open transfers, their age and durations equal the fold of the log', async (t) => {
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (history, ofOne) => {
      const log = transferLog(history)
      const events = await project(log)
      const merchantIds = ofOne ? merchantsOf(events).slice(0, 1) : undefined
      const own = events.filter(({ data }) => (merchantIds ?? [data.merchantId]).includes(data.merchantId))
      const states = new Map<string, TransferState>()
      const completedAt = new Map<string, string>()
      for (const event of own) {
        const { trackingId, at } = event.data
        states.set(trackingId, evolve(states.get(trackingId) ?? initialState, event))
        if (event.type === 'TransferCompleted') completedAt.set(trackingId, at)
      }
      const all = [...states.values()].flatMap((state) => (state.kind === 'none' ? [] : [state]))
      const pending = all.filter(({ status }) => status === 'Pending')
      const { pending: counts } = await countOpen(readModels, merchantIds)
      for (const { kind, count } of counts) t.equal(count, pending.filter((each) => each.kind === kind).length)
      const oldest = pending.map(({ createdAt, trackingId }) => `${createdAt} ${trackingId}`).sort()
      const found = await oldestPending(readModels, merchantIds)
      t.strictSame(
        found.map(({ createdAt, _id }) => `${createdAt} ${_id}`),
        oldest.slice(0, 10),
      )
      const range = { merchantIds, from: '2000-01-01T00:00:00.000Z', to: '2100-01-01T00:00:00.000Z' }
      for (const { kind, count, medianMs, p95Ms } of await timeToCompletion(readModels, range)) {
        const durations = all
          .filter((each) => each.kind === kind && each.status === 'Completed')
          .map(({ createdAt, trackingId }) => Date.parse(completedAt.get(trackingId)!) - Date.parse(createdAt))
          .sort((a, b) => a - b)
        t.equal(count, durations.length)
        const atMost = (ms: number | null) => durations.filter((each) => each <= (ms ?? -1)).length
        const below = (ms: number | null) => durations.filter((each) => each < (ms ?? 0)).length
        t.ok(atMost(medianMs) >= count / 2 && below(medianMs) <= count / 2)
        t.ok(atMost(p95Ms) >= count * 0.95 && below(p95Ms) <= count * 0.95)
      }
    }),
    { numRuns },
  )
})

t.test('counts at most a thousand open transfers', async (t) => {
  await project([])
  const transfers = Array.from({ length: 1_500 }, (_, n) => ({
    ...{ _id: `t-${n}`, merchantId: `m${n % 3}`, kind: 'deposit', status: 'Pending', attention: 'open' },
    ...{ attentionOf: `m${n % 3}` },
    ...{ createdAt: '2026-11-20T12:00:00.000Z', amountMinor: 1 },
  }))
  await readModels.collection('transfers').bulkWrite(transfers.map((document) => ({ insertOne: { document } })))
  for (const merchantIds of [undefined, ['m0', 'm1', 'm2']]) {
    t.match(await countOpen(readModels, merchantIds), {
      pending: [
        { kind: 'deposit', count: 1_000 },
        { kind: 'withdrawal', count: 0 },
      ],
      needingAttention: 1_000,
    })
  }
  t.match(await countOpen(readModels, ['m1']), { needingAttention: 500 })
})
