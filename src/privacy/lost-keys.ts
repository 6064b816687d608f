import { streamPrefix } from '../domain/streams.js'
import { sealedField } from '../event-store/event-codec.js'
import { type EventStore, logPages, type RecordedEvent } from '../event-store/event-store.js'
import { type KeyStore, keyIdIn } from './customer-keys.js'

/** The configured store has no keys of the log's customers. The message names the place and states what to do. */
class CustomerKeysError extends Error {
  override readonly name = 'CustomerKeysError'
}

/** After this number of pages of erased customers, a store that contains keys is accepted, because a start must not read the whole log. */
const maxErasedPages = 20

/**
 * Requires the store to contain a key of the log's customers, unless all of them are erased. Without this check, a new data directory or an
 * empty database would start, seal new data under new keys, and fail at each stored transfer. `stored` is the log with marks on forged and
 * skipped events. @throws CustomerKeysError, StoreUnavailableError
 */
export async function requireCustomerKeys(stored: EventStore, keys: KeyStore, location: Location): Promise<void> {
  const hasKeys = (await keys.after('', 1)).length > 0
  let pages = 0
  for await (const { lost, found } of checkedPages(stored, keys)) {
    if (found > 0 || (hasKeys && ++pages > maxErasedPages)) return
    if (lost.length === 0) continue
    const content = hasKeys ? "only keys of other customers than the log's" : "no customer's key"
    throw new CustomerKeysError(
      `the log contains encrypted personal data, but ${nameOf(location)} contains ${content}: set KEY_STORE_URL to the store with the keys, or restore them there. If they are permanently lost, see docs/operating/privacy.md#lost-keys`,
    )
  }
}

/** Yields the ids of the keys that the store does not contain although their customers are not erased. */
export async function* lostKeys(stored: EventStore, keys: KeyStore): AsyncGenerator<string> {
  for await (const { lost } of checkedPages(stored, keys)) yield* lost
}

/** Yields for each page with personal data the lost keys, and how many others exist. */
async function* checkedPages(stored: EventStore, keys: KeyStore) {
  let erased: ReadonlySet<string> = new Set()
  for await (const { events } of logPages(stored, { streamPrefixes: [streamPrefix.transfer, streamPrefix.payment] })) {
    const used = new Set(events.flatMap((event) => (isValid(event) && keyIdIn(event.data[sealedField])) || []))
    if (used.size === 0) continue
    const existing = new Set((await keys.byIds([...used])).map(({ id }) => id))
    const lostKeys = () => [...used].filter((id) => !existing.has(id) && !erased.has(id))
    // After the keys, because an erasure is recorded before its key is destroyed.
    if (lostKeys().length > 0) erased = await erasedIn(stored)
    yield { lost: lostKeys(), found: existing.size }
  }
}

async function erasedIn(stored: EventStore): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for await (const { events } of logPages(stored, { streamPrefixes: [streamPrefix.privacy] }))
    for (const event of events)
      if (isValid(event) && event.type === 'CustomerErased') ids.add(event.stream.slice(streamPrefix.privacy.length))
  return ids
}

function isValid({ isForged, isSkipped }: RecordedEvent): boolean {
  return !isForged && !isSkipped
}

type Location =
  | { readonly engine: 'embedded'; readonly directory: string }
  | { readonly engine: 'mongodb'; readonly url: string }

/** Returns the location without a user, a password or parameters. */
function nameOf(location: Location): string {
  if (location.engine === 'embedded') return `customer-keys.db in ${location.directory}`
  return `the collection customer-keys of ${location.url.replace(/\/\/[^/]*@/, '//').replace(/\?.*$/s, '')}`
}
