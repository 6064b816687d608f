import type { CallbackDocument } from '../../read-models/documents.js'
import { collections } from '../../read-models/documents.js'
import type { Filter, ReadModels } from '../../read-models/read-models.js'

const rescanEveryMs = 60_000
/** How far, and how often, the search steps back for what a lagging read model learned late. */
const overlapMs = 15_000
const overlapEveryMs = 5_000

/**
 * Finds a merchant's lanes with callbacks that are due in the read model: after a restart, and those that did not fit in
 * memory. It searches forward by due time, so that callbacks that wait for an earlier one of their lane are not found again
 * and again. For what the read model learned late it steps back every few seconds and restarts once a minute. The log
 * decides what is really sent.
 */
export class WaitingCallbacks {
  #after: { readonly dueAt: string; readonly id: string } | undefined
  #beganMs = 0
  #steppedBackMs = 0
  /** The last page was full. */
  #more = true

  constructor(
    private readonly readModels: ReadModels,
    private readonly merchantId: string,
  ) {}

  get hasMore(): boolean {
    return this.#more
  }

  /** From the earliest again. */
  restart(): void {
    this.#after = undefined
    this.#more = true
  }

  /** The trackingIds of the next callbacks that are due, some perhaps twice. @throws ReadModelsUnavailableError */
  async next(at: string, limit: number): Promise<string[]> {
    const atMs = Date.parse(at)
    if (!this.#more) this.#goBack(atMs)
    if (!this.#after) this.#beganMs = atMs
    // Also when the read model is unavailable: the next search will tell.
    this.#more = false
    const found = (await this.readModels.collection(collections.callbacks).find(this.#filter(at), {
      sort: { dueAt: 1, _id: 1 },
      limit,
    })) as readonly CallbackDocument[]
    const last = found.at(-1)
    if (last?.dueAt) this.#after = { dueAt: last.dueAt, id: last._id }
    this.#more = found.length === limit
    return found.map(({ trackingId }) => trackingId)
  }

  #goBack(atMs: number): void {
    if (atMs - this.#beganMs >= rescanEveryMs) this.restart()
    if (!this.#after || atMs - this.#steppedBackMs < overlapEveryMs) return
    this.#steppedBackMs = atMs
    this.#after = { dueAt: new Date(Date.parse(this.#after.dueAt) - overlapMs).toISOString(), id: '' }
  }

  #filter(at: string): Filter {
    const after = this.#after
    const merchantId = this.merchantId
    if (!after) return { merchantId, dueAt: { $lte: at } }
    const { dueAt, id } = after
    const behind: Filter = { $or: [{ dueAt: { $gt: dueAt } }, { dueAt, _id: { $gt: id } }] }
    return { $and: [{ merchantId, dueAt: { $gte: dueAt, $lte: at } }, behind] }
  }
}

/** Whether the merchant has any callback that is due. @throws ReadModelsUnavailableError */
export async function hasDueCallbacks(readModels: ReadModels, merchantId: string, at: string): Promise<boolean> {
  const filter = { merchantId, dueAt: { $lte: at } }
  return (await readModels.collection(collections.callbacks).findOne(filter)) !== null
}
