import { type Status, statusCodes } from '../domain/transfer/status.js'
import type { Counted } from '../domain/transfer/transfer.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { dayMs, hourMs, minuteMs } from '../kernel/time.js'
import {
  allMerchants,
  attentionKey,
  collections,
  type TotalDocument,
  totalPeriods,
  totalsPrefix,
} from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { firstTransfers, newestFirst, oldestFirst, runsOf, transferKinds } from './transfer-queries.js'

export interface Period {
  readonly from: string
  readonly to: string
}

/** In ISO 8601, UTC, with milliseconds; whole quarters of an hour are counted. `merchantIds` is `undefined` for all merchants. */
export interface OverviewRange extends Period {
  readonly merchantIds?: readonly string[] | undefined
}

/** A number of transfers with the sums of their amounts in minor units. */
interface Figures {
  readonly kind: TransferKind
  readonly count: number
  readonly amountMinor: bigint
  readonly transactionAmountMinor: bigint
  /** The money that arrived with these changes. */
  readonly receivedMinor: bigint
}

/** The transfers that reached a status within an hour or a day. Corrections of that time change the moved amount of the completed ones. */
export interface Bucket extends Figures {
  readonly start: string
  readonly status: Status
}

export interface Total extends Figures {
  /** `2026-11-21T14:45`, `2026-11-21` or `2026-11`. */
  readonly period: string
  readonly counted: Counted
}

export function addFigures<Added extends Figures>(sums: Map<string, Added>, key: string, added: Added): void {
  const { count = 0, amountMinor = 0n, transactionAmountMinor = 0n, receivedMinor = 0n } = sums.get(key) ?? {}
  sums.set(key, {
    ...added,
    count: count + added.count,
    amountMinor: amountMinor + added.amountMinor,
    transactionAmountMinor: transactionAmountMinor + added.transactionAmountMinor,
    receivedMinor: receivedMinor + added.receivedMinor,
  })
}

type WithTexts<Shown> = { readonly [Name in keyof Shown]: Shown[Name] extends bigint ? string : Shown[Name] }

/** Returns the figures with their sums as decimal digits, because JSON numbers are exact only below 2^53. */
export function withTexts<Shown extends object>(figures: Shown): WithTexts<Shown> {
  const texts = Object.entries(figures).map(([name, value]) => [name, typeof value === 'bigint' ? `${value}` : value])
  return Object.fromEntries(texts) as WithTexts<Shown>
}

/**
 * Returns the totals of these merchants, or of all. `from` is inclusive, `to` is exclusive, and both are periods of the same length.
 * @throws ReadModelsUnavailableError
 */
export async function readTotals(readModels: ReadModels, merchantIds: OverviewRange['merchantIds'], period: Period) {
  const { from, to } = period
  if (from >= to) return []
  const collection = readModels.collection(collections.totals)
  const found = new Map<string, Total>()
  for (const merchantId of new Set(merchantIds ?? [allMerchants])) {
    const prefix = totalsPrefix(merchantId, to.length)
    const documents = await collection.find({ _id: { $gte: prefix + from, $lt: prefix + to } }, { sort: { _id: 1 } })
    for (const { _id, kind, counted, count, ...amounts } of documents as readonly TotalDocument[]) {
      const key = _id.slice(prefix.length)
      const figures = {
        amountMinor: BigInt(amounts.amountMinor),
        transactionAmountMinor: BigInt(amounts.transactionAmountMinor),
        receivedMinor: BigInt(amounts.receivedMinor),
      }
      addFigures(found, key, { period: key.slice(0, to.length), kind, counted, count, ...figures })
    }
  }
  return [...found.values()]
}

const hourlyUpToMs = 3 * dayMs
const quarterMs = 15 * minuteMs
const { quarter: quarterLength, day: dayLength } = totalPeriods
const hourLength = 'yyyy-mm-ddThh'.length

/** Returns the hours of a short range or the days of a longer one, in order and without empty ones. @throws ReadModelsUnavailableError */
export async function bucketsOf(readModels: ReadModels, range: OverviewRange) {
  const from = Math.floor(Date.parse(range.from) / quarterMs) * quarterMs
  const to = Math.ceil(Date.parse(range.to) / quarterMs) * quarterMs
  const bucketMs = to - from <= hourlyUpToMs ? hourMs : dayMs
  // An hour, and a day that is partly in the range, is the sum of its quarters.
  const [firstDay, endDay] = [Math.ceil(from / dayMs) * dayMs, Math.floor(to / dayMs) * dayMs]
  const parts: readonly (readonly [fromMs: number, toMs: number, length: number])[] =
    bucketMs === hourMs
      ? [[from, to, quarterLength]]
      : [
          [from, firstDay, quarterLength],
          [firstDay, endDay, dayLength],
          [endDay, to, quarterLength],
        ]
  const buckets = new Map<string, Bucket>()
  for (const [fromMs, toMs, length] of parts) {
    const period = (ms: number) => new Date(ms).toISOString().slice(0, length)
    const totals = await readTotals(readModels, range.merchantIds, { from: period(fromMs), to: period(toMs) })
    for (const total of totals) addTo(buckets, total, bucketMs)
  }
  return { bucketMs, buckets: [...buckets.values()].sort((a, b) => (a.start < b.start ? -1 : 1)) }
}

function addTo(buckets: Map<string, Bucket>, { period, counted: status, ...total }: Total, bucketMs: number): void {
  if (status === 'Corrected') {
    const { transactionAmountMinor, receivedMinor } = total
    const change = { ...total, period, count: 0, amountMinor: 0n, transactionAmountMinor, receivedMinor }
    addTo(buckets, { ...change, counted: 'Completed' }, bucketMs)
    return
  }
  if (!isStatus(status)) return
  const start =
    bucketMs === dayMs ? `${period.slice(0, dayLength)}T00:00:00.000Z` : `${period.slice(0, hourLength)}:00:00.000Z`
  addFigures(buckets, bucketKey({ start, kind: total.kind, status }), { start, status, ...total })
}

export function bucketKey({ start, kind, status }: Pick<Bucket, 'start' | 'kind' | 'status'>): string {
  return `${start}|${kind}|${status}`
}

export function isStatus(counted: string): counted is Status {
  return Object.hasOwn(statusCodes, counted)
}

/**
 * Returns the totals of a range up to the last complete quarter of an hour, and those of the period of the same length before it up to the
 * same time of day, with the buckets of that whole period. @throws ReadModelsUnavailableError
 */
export async function comparison(readModels: ReadModels, range: OverviewRange, now: string) {
  const [from, to] = [Date.parse(range.from), Date.parse(range.to)]
  const until = Math.min(to, Math.max(from, Math.floor(Date.parse(now) / quarterMs) * quarterMs))
  const at = (ms: number, shiftMs = 0) => new Date(ms - shiftMs).toISOString()
  const shiftMs = Math.ceil((to - from) / dayMs) * dayMs
  const sums = async (shift: number) => {
    const { buckets } = await bucketsOf(readModels, { ...range, from: at(from, shift), to: at(until, shift) })
    const found = new Map<string, Bucket>()
    for (const bucket of buckets) {
      const start = at(from, shift)
      addFigures(found, bucketKey({ ...bucket, start }), { ...bucket, start })
    }
    return [...found.values()]
  }
  const { buckets: before } = await bucketsOf(readModels, { ...range, from: at(from, shiftMs), to: at(to, shiftMs) })
  return { until: at(until), shiftMs, now: await sums(0), earlier: await sums(shiftMs), before }
}

const maxDurations = 1_000

/**
 * Returns the time to completion of the newest completed transfers that were created in the range, at most a thousand of each kind.
 * @throws ReadModelsUnavailableError
 */
export async function timeToCompletion(readModels: ReadModels, { merchantIds, from, to }: OverviewRange) {
  return Promise.all(
    transferKinds.map(async (kind) => {
      const runs = runsOf({ merchantIds, kind, status: 'Completed' }, { from, to })
      const found = await firstTransfers(readModels, newestFirst, runs, maxDurations)
      const durationsMs = found.flatMap(({ createdAt, completedAt }) =>
        completedAt === undefined ? [] : [Date.parse(completedAt) - Date.parse(createdAt)],
      )
      durationsMs.sort((a, b) => a - b)
      const count = durationsMs.length
      return { kind, count, medianMs: quantile(durationsMs, 0.5), p95Ms: quantile(durationsMs, 0.95) }
    }),
  )
}

/** Returns the smallest value that is not exceeded by this share of the values, or `null` without values. */
function quantile(ascending: readonly number[], part: number): number | null {
  return ascending[Math.ceil(ascending.length * part) - 1] ?? null
}

const maxOldest = 10

/** @throws ReadModelsUnavailableError */
export function oldestPending(readModels: ReadModels, merchantIds: readonly string[] | undefined) {
  const runs = runsOf({ merchantIds, status: 'Pending' })
  return firstTransfers(readModels, oldestFirst, runs, maxOldest)
}

const countedTo = 1_000

/** Counts the open transfers and callbacks, up to a thousand each. @throws ReadModelsUnavailableError */
export async function countOpen(readModels: ReadModels, merchantIds: readonly string[] | undefined) {
  type Equal = { readonly [field: string]: string }
  const count = async (name: string, ofAll: Equal, ofMerchant: (merchantId: string) => Equal) => {
    const filters = merchantIds ? [...new Set(merchantIds)].map(ofMerchant) : [ofAll]
    let sum = 0
    for (const filter of filters) {
      if (sum >= countedTo) break
      sum += await readModels.collection(name).countDocuments(filter, { limit: countedTo - sum })
    }
    return sum
  }
  const owned = (name: string, equal: Equal) => count(name, equal, (merchantId) => ({ merchantId, ...equal }))
  const ofStatus = (kind: TransferKind, status: Status) => owned(collections.transfers, { kind, status })
  const undecided = (kind: TransferKind) =>
    count(collections.transfers, { attention: kind }, (id) => ({ attentionOf: attentionKey(kind, id) }))
  const [deposits, withdrawals] = [await ofStatus('deposit', 'Pending'), await ofStatus('withdrawal', 'Pending')]
  return {
    pending: { deposit: deposits, withdrawal: withdrawals },
    toPay: Math.min(countedTo, withdrawals + (await ofStatus('withdrawal', 'ManualControl'))),
    needingAttention: { deposit: await undecided('deposit'), withdrawal: await undecided('withdrawal') },
    parkedCallbacks: await owned(collections.callbacks, { status: 'parked' }),
  }
}
