import { type CallbackDocument, collections } from '../../read-models/documents.js'
import type { Filter, ReadModels } from '../../read-models/read-models.js'

const rescanEveryMs = 60_000
/** How far, and how often, the search steps back for callbacks that a lagging read model received late. */
const overlapMs = 15_000
const overlapEveryMs = 5_000

/**
 * Finds a merchant's due callbacks in the read model: after a restart, and those that do not fit in memory. The search proceeds by due
 * time, so that it does not find callbacks again that wait for an earlier one of their lane. It steps back every few seconds, and restarts
 * every minute, because the read model may lag. The log decides which callback is sent.
 */
export class WaitingCallbacks {
  #after: { readonly dueAt: string; readonly id: string } | undefined
  #startedMs = 0
  #steppedBackMs = 0
  #hasMore = true

  constructor(
    private readonly readModels: ReadModels,
    private readonly merchantId: string,
  ) {}

  /** Whether the last page was full. */
  get hasMore(): boolean {
    return this.#hasMore
  }

  /** Continues from the earliest callback. */
  restart(): void {
    this.#after = undefined
    this.#hasMore = true
  }

  /** Returns the trackingIds of the next due callbacks, possibly with duplicates. @throws ReadModelsUnavailableError */
  async next(at: string, limit: number): Promise<string[]> {
    const nowMs = Date.parse(at)
    if (!this.#hasMore) this.#stepBack(nowMs)
    if (!this.#after) this.#startedMs = nowMs
    // Set before the query, so that it is false if the read model is unavailable. The next search sets it again.
    this.#hasMore = false
    const found = (await this.readModels.collection(collections.callbacks).find(this.#filter(at), {
      sort: { dueAt: 1, _id: 1 },
      limit,
    })) as readonly CallbackDocument[]
    const last = found.at(-1)
    if (last?.dueAt) this.#after = { dueAt: last.dueAt, id: last._id }
    this.#hasMore = found.length === limit
    return found.map(({ trackingId }) => trackingId)
  }

  #stepBack(nowMs: number): void {
    if (nowMs - this.#startedMs >= rescanEveryMs) this.restart()
    if (!this.#after || nowMs - this.#steppedBackMs < overlapEveryMs) return
    this.#steppedBackMs = nowMs
    this.#after = { dueAt: new Date(Date.parse(this.#after.dueAt) - overlapMs).toISOString(), id: '' }
  }

  #filter(at: string): Filter {
    const merchantId = this.merchantId
    if (!this.#after) return { merchantId, dueAt: { $lte: at } }
    const { dueAt, id } = this.#after
    const isAfter: Filter = { $or: [{ dueAt: { $gt: dueAt } }, { dueAt, _id: { $gt: id } }] }
    return { $and: [{ merchantId, dueAt: { $gte: dueAt, $lte: at } }, isAfter] }
  }
}

/** Whether the merchant has a callback that is due. @throws ReadModelsUnavailableError */
export async function hasDueCallbacks(readModels: ReadModels, merchantId: string, at: string): Promise<boolean> {
  const filter = { merchantId, dueAt: { $lte: at } }
  return (await readModels.collection(collections.callbacks).findOne(filter)) !== null
}
