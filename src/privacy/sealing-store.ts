import { LRUCache } from 'lru-cache'
import { privacyStream, streamPrefix } from '../domain/streams.js'
import { decorateStore } from '../event-store/decorate-store.js'
import type { Append, EventStore, NewEvent, Page, RecordedEvent } from '../event-store/event-store.js'
import { personalFieldsOf, personalTypes, sealedField } from '../event-store/personal-fields.js'
import type { CustomerKeys } from './customer-keys.js'
import { erasedData, personalIn, sealedData } from './event-data.js'
import { EventKeys } from './event-keys.js'
import { keyIdIn, openFields } from './sealed-data.js'

/** Erasures that are known of. */
const maxKnown = 20_000

/**
 * The same store, with what is personal in an event as one ciphertext under the customer's key. Who reads sees the events as they were
 * appended; of a customer who was erased, with {@link erasedData}; and one whose key is neither there nor erased cannot be read.
 * What a persistent subscription delivers stays as it is stored: who gets an event from one goes by its place and by what is not
 * personal, and to open each once more costs as much as to project it.
 */
export function sealing(raw: EventStore, keys: CustomerKeys): EventStore {
  const sealer = new Sealer(new EventKeys(raw, keys))
  const opener = new Opener(raw, keys)
  const opened = async (page: Page): Promise<Page> => {
    const events = await opener.opened(page.events)
    return events === page.events ? page : { ...page, events }
  }
  return decorateStore(raw, {
    append: async (stream, expectedRevision, events) =>
      raw.append(stream, expectedRevision, await sealer.sealed(stream, events)),
    appendInOrder: async (appends, options) => raw.appendInOrder(await sealer.sealedAppends(appends), options),
    readStream: async (stream, options) => opener.opened(await raw.readStream(stream, options)),
    readAll: async (options) => opened(await raw.readAll(options)),
    async *subscribeToAll(options) {
      for await (const page of raw.subscribeToAll(options)) yield await opened(page)
    },
    async close() {
      await raw.close()
      await keys.close()
    },
  })
}

class Sealer {
  readonly #eventKeys: EventKeys

  constructor(eventKeys: EventKeys) {
    this.#eventKeys = eventKeys
  }

  async sealedAppends(appends: readonly Append[]): Promise<readonly Append[]> {
    if (!appends.some(({ events }) => events.some(isPersonal))) return appends
    const sealed: Append[] = []
    for (const append of appends)
      sealed.push(append.events.some(isPersonal) ? { ...append, events: await this.#all(append) } : append)
    return sealed
  }

  async sealed(stream: string, events: readonly NewEvent[]): Promise<readonly NewEvent[]> {
    return events.some(isPersonal) ? this.#all({ stream, events }) : events
  }

  async #all({ stream, events }: Pick<Append, 'stream' | 'events'>): Promise<readonly NewEvent[]> {
    const sealed: NewEvent[] = []
    for (const event of events) sealed.push(isPersonal(event) ? await this.#one(stream, event) : event)
    return sealed
  }

  async #one(stream: string, event: NewEvent): Promise<NewEvent> {
    const fields = personalIn(event)
    if (!fields) return event
    const key = await this.#eventKeys.keyFor(event)
    if (key === 'nobody') throw new Error('personal data of a transfer that there is not')
    const data = key === 'erased' ? erasedData(event.data, fields) : sealedData(key, { stream, ...event }, fields)
    return { ...event, data }
  }
}

class Opener {
  readonly #raw: EventStore
  readonly #keys: CustomerKeys
  /** Ids of keys that were destroyed by a recorded decision. */
  // By size: `max` would take the memory for all of them at once.
  readonly #erased = new LRUCache<string, true>({ maxSize: maxKnown, sizeCalculation: () => 1 })

  constructor(raw: EventStore, keys: CustomerKeys) {
    this.#raw = raw
    this.#keys = keys
  }

  /** The very same list when nothing in it is sealed. */
  async opened(events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> {
    await this.#learn(events)
    const unknown = new Set<string>()
    let isSealed = false
    for (const { data } of events) {
      const id = keyIdIn(data[sealedField])
      if (id === undefined) continue
      isSealed = true
      if (!this.#keys.known(id) && !this.#erased.has(id)) unknown.add(id)
    }
    if (unknown.size > 0) await this.#know(unknown)
    return isSealed ? events.map((event) => this.#opened(event)) : events
  }

  /** Whoever follows the log learns of erasures by any node, and finishes what a crash left of one. */
  async #learn(events: readonly RecordedEvent[]): Promise<void> {
    const ids = new Set<string>()
    for (const { stream, type } of events)
      if (type === 'CustomerErased' && stream.startsWith(streamPrefix.privacy))
        ids.add(stream.slice(streamPrefix.privacy.length))
    if (ids.size === 0) return
    for (const id of ids) this.#erased.set(id, true)
    await this.#keys.destroy([...ids])
  }

  async #know(ids: ReadonlySet<string>): Promise<void> {
    await this.#keys.load(ids)
    for (const id of ids) {
      if (this.#keys.known(id)) continue
      const [decision] = await this.#raw.readStream(privacyStream(id), { maxCount: 1 })
      // Without one it is a key that was lost, which is no erasure.
      if (decision) this.#erased.set(id, true)
    }
  }

  #opened(event: RecordedEvent): RecordedEvent {
    const id = keyIdIn(event.data[sealedField])
    if (id === undefined) return event
    const { [sealedField]: sealed, ...clear } = event.data
    if (this.#erased.has(id)) {
      const fields = personalFieldsOf(event.type, event.metadata.schemaVersion).filter(({ name }) => !(name in clear))
      return { ...event, data: { ...clear, ...Object.fromEntries(fields.map(({ name, erased }) => [name, erased])) } }
    }
    const key = this.#keys.known(id)
    const fields = key && openFields(key, event, String(sealed))
    return fields ? { ...event, data: { ...clear, ...fields } } : event
  }
}

function isPersonal({ type }: NewEvent): boolean {
  return personalTypes.has(type)
}
