import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import fc from 'fast-check'
import t from 'tap'
import { isTerminal } from '../../src/domain/transfer/status.js'
import {
  evolve,
  initialState,
  type Transfer,
  type TransferState,
  unsettledMinor,
} from '../../src/domain/transfer/transfer.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { decodeEvent } from '../../src/event-store/event-codec.js'
import type { RecordedEvent } from '../../src/event-store/event-store.js'
import { totalsProjection } from '../../src/projections/transfer-totals.js'
import { transfersProjection } from '../../src/projections/transfers-projection.js'
import { bucketsOf, countOpen, oldestPending, timeToCompletion } from '../../src/queries/overview.js'
import { type StatementLine, statementOf } from '../../src/queries/statement.js'
import { transferKinds } from '../../src/queries/transfer-queries.js'
import { long } from '../support/long.js'
import { applyTo } from '../support/projected-documents.js'
import { logOf, type Step, steps } from '../support/random-log.js'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'

const directory = tempDirectory(t)
const readModels = await openTestReadModels(directory)
t.teardown(async () => {
  await readModels.close()
  await removeTestReadModels(directory)
})
const numRuns = long ? 40 : 15

/** A deposit that is paid twice and partly returned, which random logs rarely contain. */
const paidTwice: readonly Step[] = [
  { transfer: 1, what: 0, minutes: 1, amount: 30_000 },
  { transfer: 1, what: 2, minutes: 1, amount: 30_003 },
  { transfer: 1, what: 2, minutes: 1, amount: 30_003 },
  { transfer: 1, what: 4, minutes: 1, amount: 30_001 },
]

const corrected: Step[] = [
  { transfer: 4, what: 0, minutes: 1, amount: 1_003 },
  { transfer: 4, what: 2, minutes: 1, amount: 1_003 },
  { transfer: 4, what: 4, minutes: 60, amount: 606 },
]

const sentBack: Step[] = [
  { transfer: 6, what: 0, minutes: 1, amount: 1_003 },
  { transfer: 6, what: 2, minutes: 1, amount: 1_003 },
  { transfer: 6, what: 4, minutes: 60, amount: 1_005 },
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

const zones = [
  ...['UTC', 'Europe/Istanbul', 'Asia/Kolkata', 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Chatham'],
  ...['America/New_York', 'Australia/Lord_Howe'],
] as const

/** Computes one line by folding every event up to the end of its day. */
function expectedLine(events: readonly Dated[], day: string, kind: 'deposit' | 'withdrawal'): StatementLine {
  const ofKind = events.filter((each) => each.event.data.kind === kind && each.day <= day)
  const fold = (some: readonly Dated[]) => {
    const states = new Map<string, TransferState>()
    for (const { event } of some) {
      const { trackingId } = event.data
      states.set(trackingId, evolve(states.get(trackingId) ?? initialState, event))
    }
    return [...states.values()].flatMap((state) => (state.kind === 'none' ? [] : [state]))
  }
  const earlier = fold(ofKind.filter((each) => each.day < day))
  const states = fold(ofKind)
  const open = states.filter(({ status }) => !isTerminal(status))
  const that = ofKind.filter((each) => each.day === day).map(({ event }) => event)
  const created = that.filter(({ type }) => type === 'DepositCreated' || type === 'WithdrawalCreated')
  const booked = that.flatMap(({ type, data }) => (type === 'TransferCompleted' ? [data] : []))
  const corrected = that.flatMap(({ type, data }) =>
    type === 'TransferCorrected' ? [data.transactionAmountMinor - data.previousAmountMinor] : [],
  )
  const sum = (amounts: readonly bigint[]) => amounts.reduce((total, each) => total + each, 0n)
  const fundsOf = (some: readonly Transfer[]) => some.flatMap((each) => (each.kind === 'deposit' ? [each.funds] : []))
  const returned = sum(
    that.flatMap(({ type, data }) =>
      type === 'FundsReturned' || type === 'WithdrawalReturned' ? [data.returnedAmountMinor] : [],
    ),
  )
  const paid = sum(booked.map((data) => data.transactionAmountMinor)) + sum(corrected)
  const received = (some: readonly Transfer[]) => sum(fundsOf(some).map(({ receivedMinor }) => receivedMinor))
  const refunded = (some: readonly Transfer[]) => sum(fundsOf(some).map(({ refundedMinor }) => refundedMinor))
  const resolved = (some: readonly Transfer[]) =>
    sum(some.map((each) => (each.kind === 'deposit' ? each.funds : each).resolvedMinor))
  return {
    ...{ day, kind },
    requestedCount: created.length,
    requestedMinor: sum(created.map(({ data }) => data.amountMinor)),
    openingMinor: sum(earlier.map(unsettledMinor)),
    receivedMinor: received(states) - received(earlier),
    completedCount: booked.length,
    completedMinor: sum(booked.map((data) => data.transactionAmountMinor)),
    mismatchMinor: sum(booked.map((data) => data.transactionAmountMinor - data.amountMinor)),
    correctedCount: corrected.length,
    correctedMinor: sum(corrected),
    returnedMinor: returned,
    refundedMinor: refunded(states) - refunded(earlier),
    keptMinor: kind === 'withdrawal' ? paid - returned : 0n,
    resolvedMinor: resolved(states) - resolved(earlier),
    heldMinor: sum(states.map(unsettledMinor)),
    openCount: open.length,
    openMinor: sum(open.map(({ amountMinor }) => amountMinor)),
  }
}

interface Dated {
  readonly event: TransferEvent
  readonly day: string
}

const hasFigures = ({ day: _, kind: __, ...figures }: StatementLine) =>
  Object.values(figures).some((each) => each !== 0 && each !== 0n)

const dayIn = (timeZone: string, at: string) => {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  return format.format(new Date(at)).split('/').reverse().join('-')
}

const farAhead = '2100-01-01T00:00:00.000Z'

t.test('a statement equals the fold of the log and adds up, for any days, zones and merchants', async (t) => {
  let returned = 0n
  let held = 0n
  let reduced = 0
  let cameBack = 0
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.nat(100),
      fc.integer({ min: 1, max: 60 }),
      fc.nat(2),
      fc.constantFrom(...zones),
      async (history, skip, days, owner, timeZone) => {
        const events = await project(transferLog(history))
        const merchants = merchantsOf(events)
        const merchantIds = [undefined, merchants.slice(0, 1), merchants][owner]
        const fromMs = Date.parse('2026-11-15T12:00:00.000Z') + skip * dayMs
        const range = { from: isoOf(fromMs), to: isoOf(fromMs + (days - 1) * dayMs + 1), timeZone, now: farAhead }
        const own = events.filter(({ data }) => (merchantIds ?? [data.merchantId]).includes(data.merchantId))
        const dated = own.map((event) => ({ event, day: dayIn(timeZone, event.data.at) }))
        const [first, last] = [dayIn(timeZone, range.from), dayIn(timeZone, range.to)]
        const lines = await statementOf({ readModels }, { merchantIds, ...range })
        const expected: StatementLine[] = []
        for (let ms = Date.parse(first); ms <= Date.parse(last); ms += dayMs)
          for (const kind of ['deposit', 'withdrawal'] as const)
            expected.push(expectedLine(dated, isoOf(ms).slice(0, 10), kind))
        t.strictSame(lines, expected.filter(hasFigures), `${timeZone} ${first} ${last}`)
        for (const each of lines) {
          const { openingMinor, receivedMinor, completedMinor, correctedMinor, returnedMinor } = each
          const { resolvedMinor, heldMinor } = each
          if (correctedMinor < 0n) reduced++
          returned += returnedMinor
          held += heldMinor
          if (each.kind === 'withdrawal') {
            if (returnedMinor > 0n) cameBack++
            if (completedMinor + correctedMinor !== each.keptMinor + returnedMinor)
              throw new Error(`${each.day}: the paid money does not add up`)
            if (openingMinor + returnedMinor - resolvedMinor !== heldMinor)
              throw new Error(`${each.day}: the returned money does not add up`)
            continue
          }
          const settled = completedMinor + correctedMinor + returnedMinor + resolvedMinor
          if (openingMinor + receivedMinor - settled !== heldMinor) throw new Error(`${each.day} does not add up`)
        }
      },
    ),
    // The month in which money was returned and came back, and a booked amount was corrected, is always included.
    {
      numRuns,
      examples: zones.map(
        (zone) => [[...corrected, ...sentBack], 0, 30, 0, zone] as [Step[], number, number, number, typeof zone],
      ),
    },
  )
  t.ok(returned > 0n, 'some history contains a return of money')
  t.ok(held > 0n, 'some history contains money that is held')
  t.ok(reduced > 0, 'some day reduces a booked amount')
  t.ok(cameBack > 0, 'some payout came back')
})

t.test('a range within a day returns the line of the whole day', async (t) => {
  await project(transferLog([]))
  const part = { from: '2026-11-20T13:00:00.000Z', to: '2026-11-20T14:00:00.000Z', timeZone: 'UTC', now: farAhead }
  const [line] = await statementOf({ readModels }, part)
  t.match(line, { day: '2026-11-20', requestedCount: 1, requestedMinor: 30_000n, returnedMinor: 50n, openCount: 0 })
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

t.test(
  'the overview counts each reached status once, by hour or by day, and corrections when they happen',
  async (t) => {
    const hours = fc.integer({ min: 1, max: 72 })
    let corrections = 0
    const lengths = fc.oneof(hours, fc.integer({ min: 73, max: 2_000 }))
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(8_000), lengths, fc.boolean(), async (history, skip, length, ofOne) => {
        const events = await project(transferLog(history))
        const merchantIds = ofOne ? merchantsOf(events).slice(0, 1) : undefined
        const fromMs = Date.parse('2026-11-20') + skip * 900_000
        const range = { merchantIds, from: isoOf(fromMs), to: isoOf(fromMs + length * 3_600_000) }
        const { bucketMs, buckets } = await bucketsOf(readModels, range)
        t.equal(bucketMs, length <= 72 ? 3_600_000 : dayMs)
        const counts = new Map<string, readonly [count: number, amountMinor: bigint, movedMinor: bigint]>()
        for (const { type, data } of events) {
          const isCorrection = type === 'TransferCorrected'
          const status = isCorrection ? 'Completed' : reached[type]
          if (!status || data.at < range.from || data.at >= range.to) continue
          if (!(merchantIds ?? [data.merchantId]).includes(data.merchantId)) continue
          const key = `${isoOf(Math.floor(Date.parse(data.at) / bucketMs) * bucketMs)} ${data.kind} ${status}`
          const [count, amountMinor, movedMinor] = counts.get(key) ?? [0, 0n, 0n]
          if (isCorrection) {
            const changeMinor = data.transactionAmountMinor - data.previousAmountMinor
            counts.set(key, [count, amountMinor, movedMinor + changeMinor])
            corrections++
            continue
          }
          const moved = 'transactionAmountMinor' in data ? data.transactionAmountMinor : 0n
          counts.set(key, [count + 1, amountMinor + data.amountMinor, movedMinor + moved])
        }
        const found = buckets.map(
          ({ start, kind, status, count, amountMinor, transactionAmountMinor }) =>
            [`${start} ${kind} ${status}`, [count, amountMinor, transactionAmountMinor]] as const,
        )
        t.strictSame(new Map([...found].sort()), new Map([...counts].sort()))
        t.equal(found.length, counts.size)
      }),
      { numRuns, examples: [[corrected, 0, 72, false]] },
    )
    t.ok(corrections > 0, 'some history contains a correction')
  },
)

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
      for (const kind of transferKinds) t.equal(counts[kind], pending.filter((each) => each.kind === kind).length)
      // In the order of creation within the same time, because a sort is stable.
      const oldest = pending
        .toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
        .map(({ createdAt, trackingId }) => `${createdAt} ${trackingId}`)
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
    ...{
      _id: `t-${n}`,
      position: n,
      merchantId: `m${n % 3}`,
      kind: 'deposit',
      status: 'Pending',
      attention: 'deposit',
    },
    ...{ attentionOf: `deposit m${n % 3}` },
    ...{ createdAt: '2026-11-20T12:00:00.000Z', amountMinor: 1 },
  }))
  await readModels.collection('transfers').bulkWrite(transfers.map((document) => ({ insertOne: { document } })))
  for (const merchantIds of [undefined, ['m0', 'm1', 'm2']]) {
    t.match(await countOpen(readModels, merchantIds), {
      pending: { deposit: 1_000, withdrawal: 0 },
      toPay: 0,
      needingAttention: { deposit: 1_000, withdrawal: 0 },
    })
  }
  t.match(await countOpen(readModels, ['m1']), { needingAttention: { deposit: 500 } })
})
