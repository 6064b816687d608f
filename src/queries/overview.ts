import { type Status, statusCodes } from '../domain/transfer/transfer.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { dayMs, hourMs } from '../kernel/time.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { firstOf, type Order } from './list-page.js'
import { readTotals, type Total } from './total-queries.js'
import { runsOf, transferKinds } from './transfer-queries.js'

export interface OverviewRange {
  /** `undefined` for all merchants. */
  readonly merchantIds: readonly string[] | undefined
  /** ISO 8601 in UTC with milliseconds; whole hours are counted. */
  readonly from: string
  readonly to: string
}

/** The transfers that reached a status within an hour or a day. Amounts are minor units. */
export interface Bucket {
  readonly start: string
  readonly kind: TransferKind
  readonly status: Status
  readonly count: number
  readonly amountMinor: number
  readonly transactionAmountMinor: number
}

const hourlyUpToMs = 3 * dayMs
const hourLength = 'yyyy-mm-ddThh'.length
const dayLength = 'yyyy-mm-dd'.length

/** Returns the hours of a short range or the days of a longer one, in order and without empty ones. @throws ReadModelsUnavailableError */
export async function bucketsOf(
  readModels: ReadModels,
  range: OverviewRange,
): Promise<{ readonly bucketMs: number; readonly buckets: readonly Bucket[] }> {
  const from = Math.floor(Date.parse(range.from) / hourMs) * hourMs
  const to = Math.ceil(Date.parse(range.to) / hourMs) * hourMs
  const bucketMs = to - from <= hourlyUpToMs ? hourMs : dayMs
  // A day that is partly in the range is the sum of its hours.
  const [firstDay, endDay] = [Math.ceil(from / dayMs) * dayMs, Math.floor(to / dayMs) * dayMs]
  const parts: readonly (readonly [fromMs: number, toMs: number, length: number])[] =
    bucketMs === hourMs
      ? [[from, to, hourLength]]
      : [
          [from, firstDay, hourLength],
          [firstDay, endDay, dayLength],
          [endDay, to, hourLength],
        ]
  const buckets = new Map<string, Bucket>()
  for (const [fromMs, toMs, length] of parts) {
    const period = (ms: number) => new Date(ms).toISOString().slice(0, length)
    const totals = await readTotals(readModels, range.merchantIds, { from: period(fromMs), to: period(toMs) })
    for (const total of totals) addTo(buckets, total, bucketMs)
  }
  return { bucketMs, buckets: [...buckets.values()].sort((a, b) => (a.start < b.start ? -1 : 1)) }
}

function addTo(buckets: Map<string, Bucket>, total: Total, bucketMs: number): void {
  const { period, kind, counted: status } = total
  if (!isStatus(status)) return
  const start = bucketMs === dayMs ? `${period.slice(0, dayLength)}T00:00:00.000Z` : `${period}:00:00.000Z`
  const key = `${start}|${kind}|${status}`
  const before = buckets.get(key)
  buckets.set(key, {
    ...{ start, kind, status },
    count: total.count + (before?.count ?? 0),
    amountMinor: total.amountMinor + (before?.amountMinor ?? 0),
    transactionAmountMinor: total.transactionAmountMinor + (before?.transactionAmountMinor ?? 0),
  })
}

export function isStatus(counted: string): counted is Status {
  return Object.hasOwn(statusCodes, counted)
}

const maxDurations = 1_000
const newestFirst: Order = { field: 'createdAt', direction: -1 }

/**
 * Returns the time to completion of the newest completed transfers that were created in the range, at most a thousand of each kind.
 * @throws ReadModelsUnavailableError
 */
export async function timeToCompletion(readModels: ReadModels, { merchantIds, from, to }: OverviewRange) {
  const collection = readModels.collection(collections.transfers)
  return Promise.all(
    transferKinds.map(async (kind) => {
      const runs = runsOf({ merchantIds, kind, status: 'Completed' }, { from, to })
      const found = (await firstOf(
        collection,
        newestFirst,
        runs,
        undefined,
        maxDurations,
      )) as readonly TransferDocument[]
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
export async function oldestPending(
  readModels: ReadModels,
  merchantIds: readonly string[] | undefined,
): Promise<readonly TransferDocument[]> {
  const runs = runsOf({ merchantIds, kind: undefined, status: 'Pending' }, {})
  const oldestFirst: Order = { field: 'createdAt', direction: 1 }
  const collection = readModels.collection(collections.transfers)
  return (await firstOf(collection, oldestFirst, runs, undefined, maxOldest)) as readonly TransferDocument[]
}

const countedTo = 1_000

/** Counts the open transfers and callbacks, up to a thousand each. @throws ReadModelsUnavailableError */
export async function countOpen(readModels: ReadModels, merchantIds: readonly string[] | undefined) {
  type Equal = { readonly [field: string]: string }
  const owners = merchantIds ? [...new Set(merchantIds)] : [undefined]
  const count = async (name: string, filterOf: (merchantId: string | undefined) => Equal) => {
    let sum = 0
    for (const merchantId of owners) {
      if (sum >= countedTo) break
      sum += await readModels.collection(name).countDocuments(filterOf(merchantId), { limit: countedTo - sum })
    }
    return sum
  }
  const owned = (equal: Equal) => (merchantId: string | undefined) => ({
    ...(merchantId !== undefined && { merchantId }),
    ...equal,
  })
  const pending: { readonly kind: TransferKind; readonly count: number }[] = []
  for (const kind of transferKinds)
    pending.push({ kind, count: await count(collections.transfers, owned({ kind, status: 'Pending' })) })
  return {
    pending,
    needingAttention: await count(collections.transfers, (attentionOf) =>
      attentionOf === undefined ? { attention: 'open' } : { attentionOf },
    ),
    parkedCallbacks: await count(collections.callbacks, owned({ status: 'parked' })),
  }
}
