import { privacyStream, streamPrefix } from '../domain/streams.js'
import { decorateStore } from '../event-store/decorate-store.js'
import type { Append, EventStore, NewEvent, Page, RecordedEvent } from '../event-store/event-store.js'
import { personalFieldsOf, personalTypes, sealedField } from '../event-store/personal-fields.js'
import { boundedCache } from '../kernel/bounded-cache.js'
import type { CustomerKeys } from './customer-keys.js'
import { erasedData, personalIn, sealedData } from './event-data.js'
import { EventKeys } from './event-keys.js'
import { keyIdIn, openFields } from './sealed-data.js'

/** The number of erasures that are known without reading. */
const maxKnown = 20_000

/**
 * Decorates the store: an event's personal data is stored as one ciphertext under the customer's key. Reads return the appended
 * events. Events of erased customers have their {@link erasedData}, and events whose key is missing without an erasure are unreadable.
 *
 * Persistent subscriptions deliver events as stored. Their consumers use an event's place and its other fields, and decrypting each event
 * again costs as much as projecting it.
 */
export function sealing(raw: EventStore, keys: CustomerKeys): EventStore {
  const eventKeys = new EventKeys(raw, keys)
  const opener = new Opener(raw, keys)
  const openPage = async (page: Page): Promise<Page> => {
    const events = await opener.open(page.events)
    return events === page.events ? page : { ...page, events }
  }
  return decorateStore(raw, {
    append: async (stream, expectedRevision, events) =>
      raw.append(stream, expectedRevision, await sealEvents(eventKeys, stream, events)),
    appendInOrder: async (appends, options) => raw.appendInOrder(await sealAppends(eventKeys, appends), options),
    readStream: async (stream, options) => opener.open(await raw.readStream(stream, options)),
    readAll: async (options) => openPage(await raw.readAll(options)),
    async *subscribeToAll(options) {
      for await (const page of raw.subscribeToAll(options)) yield await openPage(page)
    },
    async close() {
      await raw.close()
      await keys.close()
    },
  })
}

async function sealAppends(keys: EventKeys, appends: readonly Append[]): Promise<readonly Append[]> {
  if (!appends.some(({ events }) => events.some(isPersonal))) return appends
  const sealed: Append[] = []
  for (const append of appends) sealed.push({ ...append, events: await sealEvents(keys, append.stream, append.events) })
  return sealed
}

async function sealEvents(keys: EventKeys, stream: string, events: readonly NewEvent[]): Promise<readonly NewEvent[]> {
  if (!events.some(isPersonal)) return events
  const sealed: NewEvent[] = []
  for (const event of events) sealed.push(isPersonal(event) ? await sealEvent(keys, stream, event) : event)
  return sealed
}

async function sealEvent(keys: EventKeys, stream: string, event: NewEvent): Promise<NewEvent> {
  const fields = personalIn(event)
  if (!fields) return event
  const key = await keys.keyFor(event)
  if (key === 'missing') throw new Error('personal data of a nonexistent transfer')
  const data = key === 'erased' ? erasedData(event.data, fields) : sealedData(key, { stream, ...event }, fields)
  return { ...event, data }
}

class Opener {
  /** The ids of the keys that were destroyed by a recorded erasure. */
  readonly #erased = boundedCache<true>(maxKnown)

  constructor(
    private readonly raw: EventStore,
    private readonly keys: CustomerKeys,
  ) {}

  /** Returns the same array if none of the events is encrypted. */
  async open(events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> {
    await this.#takeErasures(events)
    const unknown = new Set<string>()
    let hasSealed = false
    for (const { data } of events) {
      const id = keyIdIn(data[sealedField])
      if (id === undefined) continue
      hasSealed = true
      if (!this.keys.known(id) && !this.#erased.has(id)) unknown.add(id)
    }
    if (unknown.size > 0) await this.#load(unknown)
    return hasSealed ? events.map((event) => this.#openEvent(event)) : events
  }

  /** Destroys the keys of erased customers. Every follower of the log does this, which finishes erasures that a crash interrupted. */
  async #takeErasures(events: readonly RecordedEvent[]): Promise<void> {
    const ids = new Set<string>()
    for (const { stream, type } of events)
      if (type === 'CustomerErased' && stream.startsWith(streamPrefix.privacy))
        ids.add(stream.slice(streamPrefix.privacy.length))
    if (ids.size === 0) return
    for (const id of ids) this.#erased.set(id, true)
    await this.keys.destroy([...ids])
  }

  async #load(ids: ReadonlySet<string>): Promise<void> {
    await this.keys.load(ids)
    for (const id of ids) {
      if (this.keys.known(id)) continue
      const [erasure] = await this.raw.readStream(privacyStream(id), { maxCount: 1 })
      // Without an erasure the key was lost.
      if (erasure) this.#erased.set(id, true)
    }
  }

  #openEvent(event: RecordedEvent): RecordedEvent {
    const id = keyIdIn(event.data[sealedField])
    if (id === undefined) return event
    const { [sealedField]: sealed, ...plain } = event.data
    if (this.#erased.has(id)) {
      const fields = personalFieldsOf(event.type, event.metadata.schemaVersion).filter(({ name }) => !(name in plain))
      return { ...event, data: erasedData(plain, fields) }
    }
    const key = this.keys.known(id)
    const fields = key && openFields(key, event, String(sealed))
    return fields ? { ...event, data: { ...plain, ...fields } } : event
  }
}

function isPersonal({ type }: NewEvent): boolean {
  return personalTypes.has(type)
}
