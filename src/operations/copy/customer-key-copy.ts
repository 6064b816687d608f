import { LRUCache } from 'lru-cache'
import { streamPrefix } from '../../domain/streams.js'
import { sealedField } from '../../event-store/event-codec.js'
import type { RecordedEvent } from '../../event-store/event-store.js'
import { type KeptKey, type KeyStore, keyIdIn } from '../../privacy/customer-keys.js'
import { CopyRefusedError } from './copy-log.js'

const keysAtOnce = 500
const maxKnown = 20_000

/** Copies the keys of the log's customers, without which the copied personal data cannot be read. */
export class CustomerKeyCopy {
  /** The ids of keys that were copied, or that no longer exist. */
  // By size: `max` would allocate the memory for all of them immediately.
  readonly #copied = new LRUCache<string, true>({ maxSize: maxKnown, sizeCalculation: () => 1 })

  /** The key stores of the two logs may be the same one. */
  constructor(
    private readonly source: KeyStore,
    private readonly target: KeyStore,
  ) {}

  /** Copies all keys. @throws CopyRefusedError, StoreUnavailableError */
  async copyAll(): Promise<void> {
    if (this.source === this.target) return
    for (let keys = await this.source.after('', keysAtOnce); keys.length > 0; ) {
      await this.#keep(keys)
      keys = await this.source.after(keys.at(-1)!.id, keysAtOnce)
    }
  }

  /**
   * Copies the keys that these events need and that the source has created since, and destroys the keys that the events erase. To be
   * called before the events are appended to the target. @throws CopyRefusedError, StoreUnavailableError
   */
  async copyFor(events: readonly RecordedEvent[]): Promise<void> {
    const erased = events.filter(({ type }) => type === 'CustomerErased')
    if (erased.length > 0)
      await this.target.destroy(erased.map(({ stream }) => stream.slice(streamPrefix.privacy.length)))
    if (this.source === this.target) return
    const ids = new Set(events.flatMap(({ data }) => keyIdIn(data[sealedField]) ?? []))
    const missing = [...ids].filter((id) => !this.#copied.has(id))
    if (missing.length === 0) return
    await this.#keep(await this.source.byIds(missing))
    for (const id of missing) this.#copied.set(id, true)
  }

  async #keep(keys: readonly KeptKey[]): Promise<void> {
    if (keys.length === 0) return
    const kept = await this.target.ensure(keys)
    if (kept.some(({ id }, n) => id !== keys[n]!.id)) {
      throw new CopyRefusedError('the target has different keys for the same customers: it is not a copy of this log')
    }
  }
}
