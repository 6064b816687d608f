import type { Bucket, Kind, LiveMessage, Status } from '../../api/contract'

/** In the order in which they are shown. `Pending` is reached by being requested. */
export const shownStatuses = [
  'Pending',
  'Completed',
  'ManualControl',
  'Cancelled',
  'Failed',
] as const satisfies Status[]
export type Measure = 'count' | 'amount'

/** What buckets come to. */
export interface Tally {
  readonly count: number
  readonly amountMinor: number
  readonly transactionAmountMinor: number
}

const nothing: Tally = { count: 0, amountMinor: 0, transactionAmountMinor: 0 }

function plus(a: Tally, b: Tally): Tally {
  return {
    count: a.count + b.count,
    amountMinor: a.amountMinor + b.amountMinor,
    transactionAmountMinor: a.transactionAmountMinor + b.transactionAmountMinor,
  }
}

/**
 * What was told live and is in no answer yet. One bucket for each hour, kind and status, so that it does not grow with the rate. An
 * answer that was asked for has what was told before it: that is forgotten when it comes, and kept when it does not.
 */
export class LiveChanges {
  #before = new Map<string, Bucket>()
  #since = new Map<string, Bucket>()

  add({ changes }: LiveMessage): void {
    for (const change of changes) addTo(this.#since, change)
  }

  asking(): void {
    for (const change of this.#since.values()) addTo(this.#before, change)
    this.#since = new Map()
  }

  answered(): void {
    this.#before = new Map()
  }

  list(): Bucket[] {
    return [...this.#before.values(), ...this.#since.values()]
  }
}

function addTo(buckets: Map<string, Bucket>, change: Bucket): void {
  const key = `${change.start} ${change.kind} ${change.status}`
  const before = buckets.get(key)
  buckets.set(key, before ? { ...before, ...plus(before, change) } : change)
}

/** Of one kind, by status. */
export function talliesOf(buckets: readonly Bucket[], kind: Kind): { readonly [status in Status]: Tally } {
  const tallies = { Pending: nothing, Completed: nothing, ManualControl: nothing, Cancelled: nothing, Failed: nothing }
  for (const bucket of buckets) {
    if (bucket.kind === kind) tallies[bucket.status] = plus(tallies[bucket.status], bucket)
  }
  return tallies
}

/** Of those that ended, 0 to 1; null when none did. */
export function completionRate(tallies: { readonly [status in Status]: Tally }): number | null {
  const ended = tallies.Completed.count + tallies.Cancelled.count + tallies.Failed.count
  return ended === 0 ? null : tallies.Completed.count / ended
}

export interface TimeSeries {
  /** Beginnings of the buckets, milliseconds. */
  readonly times: readonly number[]
  readonly values: { readonly [status in Status]: readonly number[] }
}

/** A value for each bucket from `fromMs` on, also where nothing happened. Amounts are minor units: what was booked where it is completed. */
export function timeSeries(
  buckets: readonly Bucket[],
  { kind, measure, bucketMs, fromMs, toMs }: TimeSeriesQuestion,
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
    line[index] += measured(bucket, measure)
  }
  return { times, values }
}

interface TimeSeriesQuestion {
  readonly kind: Kind
  readonly measure: Measure
  readonly bucketMs: number
  readonly fromMs: number
  readonly toMs: number
}

export function measured(
  { count, amountMinor, transactionAmountMinor, status }: Tally & { status: Status },
  measure: Measure,
): number {
  if (measure === 'count') return count
  return status === 'Completed' ? transactionAmountMinor : amountMinor
}
