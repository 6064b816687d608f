import { streamPrefix } from '../domain/streams.js'
import { sealedField } from '../event-store/event-codec.js'
import { type EventStore, logPages, type Position, type RecordedEvent } from '../event-store/event-store.js'
import { type CustomerKeys, keyIdIn } from './customer-keys.js'

export type PrivacyStatus = Awaited<ReturnType<PrivacyStatusCount['status']>>

const keysPerRead = 500

/** Counts personal data in the log. Each event is read once; a later call continues. */
export class PrivacyStatusCount {
  readonly #erasures = new Set<string>()
  #total = 0
  #sealed = 0
  #position: Position | undefined
  #countedTo: string | null = null
  #counting: Promise<boolean> = Promise.resolve(false)

  constructor(
    private readonly raw: EventStore,
    private readonly keys: CustomerKeys,
  ) {}

  /** Continues to count for `forMs` milliseconds or up to the end of the log. @throws StoreUnavailableError */
  async status(merchantIds: readonly string[], forMs: number) {
    const untilMs = performance.now() + forMs
    // Sequentially, because concurrent calls would count a page twice.
    this.#counting = this.#counting.catch(() => false).then(() => this.#count(untilMs))
    const complete = await this.#counting
    const counts = await this.keys.store.counts(merchantIds)
    const byMerchant = [...counts].map(([merchantId, customers]) => ({ merchantId, customers }))
    return {
      customers: byMerchant.reduce((sum, { customers }) => sum + customers, 0),
      byMerchant,
      erasures: this.#erasures.size,
      keysToDestroy: await this.#keysToDestroy(),
      events: { total: this.#total, sealed: this.#sealed },
      complete,
      countedTo: this.#countedTo,
    }
  }

  async #count(untilMs: number): Promise<boolean> {
    for await (const { events, through, atEnd } of logPages(this.raw, { after: this.#position })) {
      for (const event of events) this.#take(event)
      this.#position = through
      const last = events.at(-1)
      if (last) this.#countedTo = new Date(last.recordedAtMs).toISOString()
      if (atEnd) return true
      if (performance.now() > untilMs) return false
    }
    return true
  }

  #take({ type, data, stream }: RecordedEvent): void {
    this.#total++
    if (keyIdIn(data[sealedField]) !== undefined) this.#sealed++
    if (type === 'CustomerErased') this.#erasures.add(stream.slice(streamPrefix.privacy.length))
  }

  /** Returns the number of erased customers whose keys still exist. */
  async #keysToDestroy(): Promise<number> {
    const ids = [...this.#erasures]
    let count = 0
    for (let from = 0; from < ids.length; from += keysPerRead)
      count += await this.keys.countExisting(ids.slice(from, from + keysPerRead))
    return count
  }
}
