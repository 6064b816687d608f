import { privacyStream, streamPrefix, transferStream } from '../domain/streams.js'
import {
  erasedData,
  type PersonalField,
  personalFieldsOf,
  personalTypes,
  sealedField,
  withErasedFields,
} from '../event-store/event-codec.js'
import type { Append, EventStore, JsonObject, NewEvent, Page, RecordedEvent } from '../event-store/event-store.js'
import { boundedCache } from '../kernel/bounded-cache.js'
import { type CustomerKey, type CustomerKeys, keyIdIn, openFields, type Place, sealFields } from './customer-keys.js'

/** Returns the fields of an event that contain personal data, or `undefined` if none does. */
function personalIn({ type, data, metadata }: NewEvent): readonly PersonalField[] | undefined {
  const fields = personalFieldsOf(type, metadata.schemaVersion)
  const withContent = fields.filter(({ name, erased }) => hasContent(data[name], erased))
  return withContent.length === 0 ? undefined : withContent
}

function hasContent(value: unknown, erased: unknown): boolean {
  if (value === null || value === undefined || value === erased) return false
  return typeof value !== 'object' || JSON.stringify(value) !== JSON.stringify(erased)
}

/** Returns the data with one ciphertext in place of the fields. */
function sealedData(
  key: CustomerKey,
  { data, ...place }: Place & Pick<NewEvent, 'data'>,
  fields: readonly PersonalField[],
): JsonObject {
  const stored: Record<string, unknown> = {}
  const personal: Record<string, unknown> = {}
  for (const { name } of fields) personal[name] = data[name]
  for (const name of Object.keys(data)) if (!Object.hasOwn(personal, name)) stored[name] = data[name]
  stored[sealedField] = sealFields(key, place, personal)
  return stored
}

/** In place of a merchant, the owner of the keys of the counterparties in bank statements. */
export const counterparties = 'bank'

/** The number of transfers whose customer is known without reading, and of erasures. */
const maxKnown = 20_000

type FoundKey = CustomerKey | 'erased' | 'missing'

/** Returns the owner of an event's key, which most events do not name. */
function ownerIn({ merchantId, userId, personId }: JsonObject): Pick<CustomerKey, 'merchantId' | 'userId'> | undefined {
  if (typeof personId === 'string') return { merchantId: counterparties, userId: personId }
  return typeof userId === 'string' ? { merchantId: String(merchantId), userId } : undefined
}

/** Creates a function that finds the key of an event: `erased` if the customer was erased, `missing` if the event's transfer does not exist. */
function keyFinder(raw: EventStore, keys: CustomerKeys) {
  /** The keys by trackingId, except those of erased customers. */
  const transfers = boundedCache<CustomerKey>(maxKnown)
  const ofTransfer = async (trackingId: string): Promise<FoundKey> => {
    const [creation] = await raw.readStream(transferStream(trackingId), { maxCount: 1 })
    if (!creation) return 'missing'
    const id = keyIdIn(creation.data[sealedField])
    // Nothing in the creation needed encryption, because every personal field already had its erased form.
    if (id === undefined) return keys.of(String(creation.data.merchantId), String(creation.data.userId))
    await keys.load([id])
    return keys.known(id) ?? 'erased'
  }
  return async (data: JsonObject): Promise<FoundKey> => {
    const owner = ownerIn(data)
    if (owner) return keys.of(owner.merchantId, owner.userId)
    const trackingId = String(data.trackingId)
    const known = transfers.get(trackingId)
    // The key may have been destroyed in the meantime.
    if (known && keys.known(known.id)) return known
    const key = await ofTransfer(trackingId)
    if (typeof key === 'object') transfers.set(trackingId, key)
    return key
  }
}

/**
 * Decorates the store: an event's personal data is stored as one ciphertext under the customer's key. Reads return the appended
 * events. Events of erased customers have their {@link erasedData}, and events whose key is missing without an erasure are unreadable.
 *
 * Persistent subscriptions deliver events as stored. Their consumers use an event's place and its other fields, and decrypting each event
 * again costs as much as projecting it.
 */
export function sealing(raw: EventStore, keys: CustomerKeys): EventStore {
  const keyFor = keyFinder(raw, keys)
  const open = opener(raw, keys)
  /** Returns whether the event creates a transfer that exists. Such a repeat must not create a key, which would store an erased customer again. */
  const isRepeat = async (
    { stream, expectedRevision }: Pick<Append, 'stream' | 'expectedRevision'>,
    data: JsonObject,
  ) => {
    const owner = expectedRevision === 'no_stream' ? ownerIn(data) : undefined
    if (!owner || keys.isKnown(owner)) return false
    return (await raw.readStream(stream, { maxCount: 1 })).length > 0
  }
  const sealEvent = async (append: Pick<Append, 'stream' | 'expectedRevision'>, event: NewEvent): Promise<NewEvent> => {
    const fields = personalIn(event)
    if (!fields) return event
    const { stream } = append
    const key = (await isRepeat(append, event.data)) ? 'erased' : await keyFor(event.data)
    if (key === 'missing') throw new Error('personal data of a nonexistent transfer')
    const data = key === 'erased' ? erasedData(event.data, fields) : sealedData(key, { stream, ...event }, fields)
    return { ...event, data }
  }
  const sealEvents = async (append: Append): Promise<readonly NewEvent[]> => {
    const { events } = append
    if (!events.some(({ type }) => personalTypes.has(type))) return events
    const sealed: NewEvent[] = []
    for (const event of events) sealed.push(await sealEvent(append, event))
    return sealed
  }
  const openPage = async (page: Page): Promise<Page> => {
    const events = await open(page.events)
    return events === page.events ? page : { ...page, events }
  }
  return {
    ...raw,
    append: async (stream, expectedRevision, events) =>
      raw.append(stream, expectedRevision, await sealEvents({ stream, expectedRevision, events })),
    async appendInOrder(appends, options) {
      // Simultaneously, so that the keys of new people share a write.
      const sealing = appends.map(async (append): Promise<Append> => {
        return { ...append, events: await sealEvents(append) }
      })
      return raw.appendInOrder(await Promise.all(sealing), options)
    },
    readStream: async (stream, options) => open(await raw.readStream(stream, options)),
    readEvents: async (places) => open(await raw.readEvents(places)),
    readAll: async (options) => openPage(await raw.readAll(options)),
    async *subscribeToAll(options) {
      for await (const page of raw.subscribeToAll(options)) yield await openPage(page)
    },
    async close() {
      await raw.close()
      await keys.close()
    },
  }
}

/** Creates a function that decrypts events. It returns the same array if none of them is encrypted. */
function opener(raw: EventStore, keys: CustomerKeys) {
  /** The ids of the keys that were destroyed by a recorded erasure. */
  const erased = boundedCache<true>(maxKnown)

  /** Destroys the keys of erased customers. Every follower of the log does this, which finishes erasures that a crash interrupted. */
  const takeErasures = async (events: readonly RecordedEvent[]) => {
    const ids = new Set<string>()
    for (const { stream, type, isForged } of events)
      if (!isForged && type === 'CustomerErased' && stream.startsWith(streamPrefix.privacy))
        ids.add(stream.slice(streamPrefix.privacy.length))
    if (ids.size === 0) return
    for (const id of ids) erased.set(id, true)
    await keys.destroy([...ids])
  }

  const load = async (ids: ReadonlySet<string>) => {
    await keys.load(ids)
    for (const id of ids) {
      if (keys.known(id)) continue
      const [erasure] = await raw.readStream(privacyStream(id), { maxCount: 1 })
      // Without an erasure the key was lost.
      if (erasure && !erasure.isForged) erased.set(id, true)
    }
  }

  const openEvent = (event: RecordedEvent): RecordedEvent => {
    const id = keyIdIn(event.data[sealedField])
    if (id === undefined) return event
    const { [sealedField]: sealed, ...plain } = event.data
    if (erased.has(id)) {
      return { ...event, data: withErasedFields({ ...event, data: plain }) }
    }
    const key = keys.known(id)
    const fields = key && openFields(key, event, String(sealed))
    return fields ? { ...event, data: { ...plain, ...fields } } : event
  }

  return async (events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> => {
    await takeErasures(events)
    const ids = events.flatMap(({ data }) => keyIdIn(data[sealedField]) ?? [])
    const unknown = new Set(ids.filter((id) => !keys.known(id) && !erased.has(id)))
    if (unknown.size > 0) await load(unknown)
    return ids.length > 0 ? events.map(openEvent) : events
  }
}
