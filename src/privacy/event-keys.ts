import { transferStream } from '../domain/streams.js'
import type { EventStore, NewEvent } from '../event-store/event-store.js'
import { sealedField } from '../event-store/personal-fields.js'
import { boundedCache } from '../kernel/bounded-cache.js'
import type { CustomerKeys } from './customer-keys.js'
import { type CustomerKey, keyIdIn } from './sealed-data.js'

/** The number of transfers whose customer is known without reading. */
const maxKnown = 20_000

/** Finds the customer key of an event. */
export class EventKeys {
  /** The keys by trackingId, except those of erased customers. */
  readonly #transfers = boundedCache<CustomerKey>(maxKnown)

  constructor(
    private readonly raw: EventStore,
    private readonly keys: CustomerKeys,
  ) {}

  /** Returns `erased` if the customer was erased, and `missing` if the event's transfer does not exist. */
  async keyFor({ data }: Pick<NewEvent, 'data'>): Promise<CustomerKey | 'erased' | 'missing'> {
    const { merchantId, userId } = data
    if (typeof userId === 'string') return this.#ofCustomer(String(merchantId), userId)
    const trackingId = String(data.trackingId)
    const known = this.#transfers.get(trackingId)
    // The key may have been destroyed in the meantime.
    if (known && this.keys.known(known.id)) return known
    const key = await this.#ofTransfer(trackingId)
    if (typeof key === 'object') this.#transfers.set(trackingId, key)
    return key
  }

  #ofCustomer(merchantId: string, userId: string): CustomerKey | Promise<CustomerKey> {
    return this.keys.knownOf(merchantId, userId) ?? this.keys.of(merchantId, userId)
  }

  async #ofTransfer(trackingId: string): Promise<CustomerKey | 'erased' | 'missing'> {
    const [creation] = await this.raw.readStream(transferStream(trackingId), { maxCount: 1 })
    if (!creation) return 'missing'
    const id = keyIdIn(creation.data[sealedField])
    // Nothing in the creation needed encryption, because every personal field already had its erased form.
    if (id === undefined) return this.#ofCustomer(String(creation.data.merchantId), String(creation.data.userId))
    await this.keys.load([id])
    return this.keys.known(id) ?? 'erased'
  }
}
