import { never } from '../../kernel/time.js'
import { type CallbackDocument, collections } from '../../read-models/documents.js'
import type { Filter, ReadModels } from '../../read-models/read-models.js'

const rescanEveryMs = 60_000
/** How far, and how often, the search steps back for callbacks that a lagging read model received late. */
const overlapMs = 15_000
const overlapEveryMs = 5_000

/**
 * The callbacks that a search reads, one kind after the other: those whose wait began in the future, because the clock was set back; those
 * whose wait began before their endpoint was changed; and those whose time has come.
 */
const phases = ['from the future', 'before a change', 'due'] as const

/**
 * Finds a merchant's due callbacks in the read model: after a restart, and those that do not fit in memory. The search proceeds by due
 * time, so that it does not find callbacks again that wait for an earlier one of their lane. It steps back every few seconds, and restarts
 * every minute, because the read model may lag. The log decides which callback is sent.
 */
export class WaitingCallbacks {
  #phase: (typeof phases)[number] = phases[0]
  /** Callbacks whose wait began earlier are due. */
  #retryFrom = never
  #after: { readonly at: string; readonly position: number } | undefined
  #startedMs = 0
  #steppedBackMs = 0
  /** Whether there may be more callbacks after the last page. */
  hasMore = true

  constructor(
    private readonly readModels: ReadModels,
    private readonly merchantId: string,
    private readonly nowMs: () => number,
  ) {}

  /** Continues from the earliest callback. */
  restart(): void {
    this.#phase = phases[0]
    this.#after = undefined
    this.hasMore = true
  }

  /** Continues with the callbacks that have waited since before this time (ISO 8601). */
  retryFrom(at: string): void {
    this.#retryFrom = at
    this.restart()
  }

  /** Returns the trackingIds of the next due callbacks, possibly with duplicates. @throws ReadModelsUnavailableError */
  async next(at: string, limit: number): Promise<string[]> {
    const nowMs = this.nowMs()
    if (!this.hasMore) this.#stepBack(nowMs)
    if (!this.#after) this.#startedMs = nowMs
    // Set before the query, so that it is false if the read model is unavailable. The next search sets it again.
    this.hasMore = false
    const field = this.#field
    const phase = this.#phase
    const found = (await this.readModels.collection(collections.callbacks).find(this.#filter(at), {
      sort: { [field]: 1, position: 1 },
      limit,
    })) as readonly CallbackDocument[]
    const last = found.at(-1)
    this.#after = last?.[field] ? { at: last[field], position: last.position } : this.#after
    this.hasMore = found.length === limit || phase !== 'due'
    if (phase !== 'due' && found.length < limit) {
      this.#phase = phases[phases.indexOf(phase) + 1]!
      this.#after = undefined
    }
    return found.map(({ trackingId }) => trackingId)
  }

  #stepBack(nowMs: number): void {
    if (nowMs - this.#startedMs >= rescanEveryMs) this.restart()
    if (!this.#after || nowMs - this.#steppedBackMs < overlapEveryMs) return
    this.#steppedBackMs = nowMs
    this.#after = { at: new Date(Date.parse(this.#after.at) - overlapMs).toISOString(), position: -1 }
  }

  get #field(): 'dueSince' | 'dueAt' {
    return this.#phase === 'due' ? 'dueAt' : 'dueSince'
  }

  #filter(at: string): Filter {
    const merchantId = this.merchantId
    const field = this.#field
    const isDue = { 'from the future': { $gt: at }, 'before a change': { $lt: this.#retryFrom }, due: { $lte: at } }[
      this.#phase
    ]
    if (!this.#after) return { merchantId, [field]: isDue }
    const { at: after, position } = this.#after
    const isAfter: Filter = { $or: [{ [field]: { $gt: after } }, { [field]: after, position: { $gt: position } }] }
    return { $and: [{ merchantId, [field]: { ...isDue, $gte: after } }, isAfter] }
  }
}

/**
 * Returns whether the merchant has a callback that is due. `retryFrom` returns the time of the latest change that ends every wait before it.
 * @throws ReadModelsUnavailableError
 */
export async function hasDueCallbacks(
  readModels: ReadModels,
  merchantId: string,
  at: string,
  retryFrom: () => Promise<string>,
): Promise<boolean> {
  const callbacks = readModels.collection(collections.callbacks)
  const has = async (due: Filter) => (await callbacks.findOne({ merchantId, ...due })) !== null
  if (!(await has({ dueAt: { $gt: never } }))) return false
  if ((await has({ dueAt: { $lte: at } })) || (await has({ dueSince: { $gt: at } }))) return true
  return has({ dueSince: { $lt: await retryFrom() } })
}
