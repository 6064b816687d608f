import type { Status } from '../../../../../src/domain/transfer/status'
import type { Bucket, Kind, LiveMessage } from '../../../../../src/http/dashboard/api'

/** The statuses in the order shown. A transfer reaches `Pending` when it is created. */
export const shownStatuses = [
  'Pending',
  'Completed',
  'ManualControl',
  'Cancelled',
  'Failed',
] as const satisfies Status[]
export type Measure = 'count' | 'amount'

/** The totals of some buckets. */
interface Totals {
  readonly count: number
  readonly amountMinor: bigint
  readonly transactionAmountMinor: bigint
}

export type TotalsByStatus = { readonly [status in Status]: Totals }

const zero: Totals = { count: 0, amountMinor: 0n, transactionAmountMinor: 0n }

/** Adds the sums of a bucket, which are decimal digits. */
function add(totals: Totals, { count, amountMinor, transactionAmountMinor }: Bucket): Totals {
  return {
    count: totals.count + count,
    amountMinor: totals.amountMinor + BigInt(amountMinor),
    transactionAmountMinor: totals.transactionAmountMinor + BigInt(transactionAmountMinor),
  }
}

/**
 * Collects live changes that are not yet part of the fetched totals, in one bucket per quarter of an hour, kind and status, so that its size does not
 * depend on the rate. Changes that arrived before a fetch started are dropped once it succeeds, and kept if it fails.
 */
export class LiveChanges {
  #fetching = new Map<string, Bucket>()
  #pending = new Map<string, Bucket>()

  add({ changes }: LiveMessage): void {
    for (const change of changes) addTo(this.#pending, change)
  }

  startFetch(): void {
    for (const change of this.#pending.values()) addTo(this.#fetching, change)
    this.#pending = new Map()
  }

  completeFetch(): void {
    this.#fetching = new Map()
  }

  list(): Bucket[] {
    return [...this.#fetching.values(), ...this.#pending.values()]
  }
}

function addTo(buckets: Map<string, Bucket>, change: Bucket): void {
  const key = `${change.start} ${change.kind} ${change.status}`
  const bucket = buckets.get(key)
  if (!bucket) {
    buckets.set(key, change)
    return
  }
  const { count, amountMinor, transactionAmountMinor } = add(add(zero, bucket), change)
  const sums = { amountMinor: String(amountMinor), transactionAmountMinor: String(transactionAmountMinor) }
  buckets.set(key, { ...bucket, count, ...sums })
}

/** Returns the totals of one kind, by status. */
export function totalsByStatus(buckets: readonly Bucket[], kind: Kind): TotalsByStatus {
  const totals = { Pending: zero, Completed: zero, ManualControl: zero, Cancelled: zero, Failed: zero }
  for (const bucket of buckets) {
    if (bucket.kind === kind) totals[bucket.status] = add(totals[bucket.status], bucket)
  }
  return totals
}

/** Returns the completed share of the ended transfers, from 0 to 1; null if none has ended. */
export function completionRate(totals: TotalsByStatus): number | null {
  const ended = totals.Completed.count + totals.Cancelled.count + totals.Failed.count
  return ended === 0 ? null : totals.Completed.count / ended
}

export interface TimeSeries {
  /** The start times of the buckets in milliseconds. */
  readonly times: readonly number[]
  readonly values: { readonly [status in Status]: readonly number[] }
}

/** Returns a value for each bucket of the range, including empty ones. Amounts are in minor units; a completed transfer counts its actual amount. */
export function timeSeries(
  buckets: readonly Bucket[],
  { kind, measure, bucketMs, fromMs, toMs }: TimeSeriesOptions,
): TimeSeries {
  const firstMs = fromMs - (fromMs % bucketMs)
  const times = Array.from(
    { length: Math.max(0, Math.ceil((toMs - firstMs) / bucketMs)) },
    (_, i) => firstMs + i * bucketMs,
  )
  const zeros = () => times.map(() => 0)
  const values = { Pending: zeros(), Completed: zeros(), ManualControl: zeros(), Cancelled: zeros(), Failed: zeros() }
  for (const bucket of buckets) {
    const index = Math.floor((Date.parse(bucket.start) - firstMs) / bucketMs)
    const line = values[bucket.status]
    if (bucket.kind !== kind || line[index] === undefined) continue
    // A chart needs no more digits than a number has.
    line[index] += Number(measured({ ...add(zero, bucket), status: bucket.status }, measure))
  }
  return { times, values }
}

interface TimeSeriesOptions {
  readonly kind: Kind
  readonly measure: Measure
  readonly bucketMs: number
  readonly fromMs: number
  readonly toMs: number
}

export function measured(
  { count, amountMinor, transactionAmountMinor, status }: Totals & { status: Status },
  measure: Measure,
): number | bigint {
  if (measure === 'count') return count
  return status === 'Completed' ? transactionAmountMinor : amountMinor
}
