import { LRUCache } from 'lru-cache'
import { transferStream } from '../domain/streams.js'
import type { EventStore, NewEvent } from '../event-store/event-store.js'
import { sealedField } from '../event-store/personal-fields.js'
import type { CustomerKeys } from './customer-keys.js'
import { type CustomerKey, keyIdIn } from './sealed-data.js'

/** Transfers whose customer is known without reading. */
const maxKnown = 20_000

/** Under whose key an event belongs. */
export class EventKeys {
  readonly #raw: EventStore
  readonly #keys: CustomerKeys
  /** By trackingId; of one whose customer was erased, nothing. */
  // By size: `max` would take the memory for all of them at once.
  readonly #transfers = new LRUCache<string, CustomerKey>({ maxSize: maxKnown, sizeCalculation: () => 1 })

  /** `raw`: where the transfer's creation is. */
  constructor(raw: EventStore, keys: CustomerKeys) {
    this.#raw = raw
    this.#keys = keys
  }

  /** `erased`: nothing is to be known of the customer again. `nobody`: it is of a transfer that there is not. */
  async keyFor({ data }: Pick<NewEvent, 'data'>): Promise<CustomerKey | 'erased' | 'nobody'> {
    const { merchantId, userId, trackingId } = data
    if (typeof userId === 'string') return this.#ofCustomer(String(merchantId), userId)
    const known = this.#transfers.get(String(trackingId))
    // One that was destroyed since is known no more.
    if (known && this.#keys.known(known.id)) return known
    const key = await this.#ofTransfer(String(trackingId))
    if (typeof key === 'object') this.#transfers.set(String(trackingId), key)
    return key
  }

  #ofCustomer(merchantId: string, userId: string): CustomerKey | Promise<CustomerKey> {
    return this.#keys.knownOf(merchantId, userId) ?? this.#keys.of(merchantId, userId)
  }

  /** The customer that the transfer was created for. */
  async #ofTransfer(trackingId: string): Promise<CustomerKey | 'erased' | 'nobody'> {
    const [creation] = await this.#raw.readStream(transferStream(trackingId), { maxCount: 1 })
    if (!creation) return 'nobody'
    const id = keyIdIn(creation.data[sealedField])
    // Nothing in the creation needed to be sealed: every personal field already had its erased form.
    if (id === undefined) return this.#ofCustomer(String(creation.data.merchantId), String(creation.data.userId))
    await this.#keys.load([id])
    return this.#keys.known(id) ?? 'erased'
  }
}
