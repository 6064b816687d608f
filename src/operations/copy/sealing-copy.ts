import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import { streamPrefix, transferStream } from '../../domain/streams.js'
import type { EventStore, Position, RecordedEvent } from '../../event-store/event-store.js'
import { sealedField } from '../../event-store/personal-fields.js'
import { CustomerKeys } from '../../privacy/customer-keys.js'
import { eachOf, pagesOf } from '../../privacy/customer-transfers.js'
import { clearIn, erasedData, sealedData } from '../../privacy/event-data.js'
import { EventKeys } from '../../privacy/event-keys.js'
import type { KeptKey, KeyStore } from '../../privacy/key-store.js'
import { keyIdIn, openFields } from '../../privacy/sealed-data.js'
import type { SecretBox } from '../../security/secret-box.js'
import type { Rewording } from './compare-logs.js'
import { CopyRefusedError } from './copy-log.js'

const maxKnown = 20_000

export interface CopiedLogs {
  readonly source: EventStore
  readonly target: EventStore
  /** Where a service on the source looks for keys, and makes them; perhaps the same as that of the target. */
  readonly sourceKeys: KeyStore
  readonly targetKeys: KeyStore
  /** Asked for when it is needed: a log without anything in clear is copied without the master key. */
  readonly box: () => Promise<SecretBox>
}

/**
 * In the copy nothing personal is in clear: what the source has of before there were keys is sealed under the customer's key, or has the form of
 * an erased one where the customer was erased. A key that is missing is made in the source first, so that a service there takes the same one.
 */
export class SealingCopy implements Rewording {
  readonly #logs: CopiedLogs
  readonly #erasures: ErasedTransfers
  /** Ids of keys that the target has, or that there are no more. */
  // By size: `max` would take the memory for all of them at once.
  readonly #kept = new LRUCache<string, true>({ maxSize: maxKnown, sizeCalculation: () => 1 })
  #opened: Promise<{ readonly events: EventKeys; readonly target: CustomerKeys }> | undefined

  constructor(logs: CopiedLogs) {
    this.#logs = logs
    this.#erasures = new ErasedTransfers(logs.source)
  }

  async reworded(events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> {
    for (const event of events) if (event.type === 'CustomerErased') await this.#forget(event)
    const fieldsOf = events.map(clearIn)
    const isClear = fieldsOf.some((fields) => fields !== undefined)
    if (isClear) await this.#erasures.catchUp()
    // All at once: customers who are new share one write.
    const keys = await Promise.all(events.map((event, n) => fieldsOf[n] && this.#keyFor(event)))
    await this.#keep([
      ...events.map(({ data }) => keyIdIn(data[sealedField])),
      ...keys.map((key) => (typeof key === 'object' ? key.id : undefined)),
    ])
    if (!isClear) return events
    return events.map((event, n) => {
      const [fields, key] = [fieldsOf[n], keys[n]]
      if (!fields || !key || key === 'nobody') return event
      return { ...event, data: key === 'erased' ? erasedData(event.data, fields) : sealedData(key, event, fields) }
    })
  }

  async saysTheSame(original: RecordedEvent, copy: RecordedEvent): Promise<boolean> {
    const fields = clearIn(original)
    if (!fields) return false
    const { [sealedField]: sealed, ...clear } = copy.data
    if (sealed === undefined)
      return isDeepStrictEqual(clear, erasedData(original.data, fields)) && this.#isErased(original)
    const id = keyIdIn(sealed)
    if (id === undefined || fields.some(({ name }) => name in clear)) return false
    const { target } = await this.#keys()
    await target.load([id])
    const key = target.known(id)
    if (key) return isDeepStrictEqual({ ...clear, ...openFields(key, copy, String(sealed)) }, original.data)
    // Erased since it was copied. What it says can be read no more.
    const said = Object.fromEntries(fields.map(({ name }) => [name, original.data[name]]))
    return isDeepStrictEqual({ ...clear, ...said }, original.data) && this.#isErased(original)
  }

  async #keyFor(event: RecordedEvent) {
    if (this.#erasures.has(event)) return 'erased'
    return (await this.#keys()).events.keyFor(event)
  }

  async #isErased(event: RecordedEvent): Promise<boolean> {
    if (!this.#erasures.has(event)) await this.#erasures.catchUp()
    return (await this.#keyFor(event)) === 'erased'
  }

  /** Durable before the events that nobody could read without them. */
  async #keep(ids: readonly (string | undefined)[]): Promise<void> {
    const { sourceKeys, targetKeys } = this.#logs
    const missing = [...new Set(ids)].flatMap((id) => (id === undefined || this.#kept.has(id) ? [] : [id]))
    if (missing.length === 0 || sourceKeys === targetKeys) return
    await keepKeys(targetKeys, await sourceKeys.byIds(missing))
    for (const id of missing) this.#kept.set(id, true)
  }

  async #forget({ stream, data }: RecordedEvent): Promise<void> {
    const { target, targetKeys } = this.#logs
    const erasureId = stream.slice(streamPrefix.privacy.length)
    const sealedBy = await eachOf(data.trackingIds as readonly string[], async (trackingId) => {
      const [creation] = await target.readStream(transferStream(trackingId), { maxCount: 1 })
      return keyIdIn(creation?.data[sealedField])
    })
    const others = new Set(sealedBy.filter((id) => id !== undefined && id !== erasureId))
    if ((await targetKeys.byIds([...others].map(String))).length > 0)
      throw new CopyRefusedError(
        `a customer was erased while their events were copied (${stream}): begin again, with an empty target and without its keys`,
      )
    await targetKeys.destroy([erasureId])
  }

  #keys() {
    this.#opened ??= this.#logs.box().then((box) => ({
      events: new EventKeys(this.#logs.source, new CustomerKeys(this.#logs.sourceKeys, box)),
      target: new CustomerKeys(this.#logs.targetKeys, box),
    }))
    return this.#opened
  }
}

/** @throws CopyRefusedError where an owner has another key */
export async function keepKeys(target: KeyStore, keys: readonly KeptKey[]): Promise<void> {
  if (keys.length === 0) return
  const kept = await target.ensure(keys)
  if (kept.some(({ id }, n) => id !== keys[n]!.id))
    throw new CopyRefusedError('the target has customers with keys of their own: it is no copy of this log')
}

/** Transfers of customers who were erased, as far as the log was read. */
class ErasedTransfers {
  readonly #source: EventStore
  readonly #trackingIds = new Set<unknown>()
  #position: Position | undefined

  constructor(source: EventStore) {
    this.#source = source
  }

  has({ data }: RecordedEvent): boolean {
    return this.#trackingIds.has(data.trackingId)
  }

  async catchUp(): Promise<void> {
    for await (const { events, checkpoint } of pagesOf(this.#source, [streamPrefix.privacy], this.#position)) {
      for (const { type, data } of events)
        if (type === 'CustomerErased') for (const id of data.trackingIds as readonly string[]) this.#trackingIds.add(id)
      this.#position = checkpoint ?? this.#position
    }
  }
}
