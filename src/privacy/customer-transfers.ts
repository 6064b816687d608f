import { streamPrefix } from '../domain/streams.js'
import { sealedField } from '../event-store/event-codec.js'
import { type EventStore, logPages, type Position, type RecordedEvent } from '../event-store/event-store.js'
import { isOfThisLog, readPointer, resumePosition } from '../projections/projection-pointer.js'
import { transfersProjection } from '../projections/transfers-projection.js'
import type { Collection, ReadModels } from '../read-models/read-models.js'
import { wholeWord } from '../read-models/transfer-words.js'
import { type CustomerKey, keyIdIn } from './customer-keys.js'

export interface Customer {
  readonly merchantId: string
  readonly userId: string
}

const pageSize = 1_000
const maxConcurrent = 16

function creationIn({ type, data }: RecordedEvent) {
  if (type !== 'DepositCreated' && type !== 'WithdrawalCreated') return undefined
  const keyId = keyIdIn(data[sealedField])
  if (keyId === undefined) return undefined
  return { trackingId: String(data.trackingId), merchantId: String(data.merchantId), keyId, at: String(data.at) }
}

/** Yields for whom each transfer was created after a position, as stored in the log. @throws StoreUnavailableError */
export async function* creationsIn(raw: EventStore, after?: Position) {
  for await (const { events } of logPages(raw, { after, streamPrefixes: [streamPrefix.transfer] }))
    yield* events.flatMap((event) => creationIn(event) ?? [])
}

/**
 * Finds the transfers that may belong to a customer (all that do, and rarely another one) in the read model up to its checkpoint, and in
 * the log from there. `through` is the position up to which the log was read, or `undefined` while it is empty.
 * @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function transfersOf(
  { raw, readModels }: { readonly raw: EventStore; readonly readModels: ReadModels },
  { merchantId, userId }: Customer,
  key: CustomerKey,
) {
  const { served } = (await readPointer(readModels, transfersProjection.name)) ?? {}
  const isUsable = served?.version === transfersProjection.version && (await isOfThisLog(raw, served.progress))
  const after = isUsable ? resumePosition(served.progress) : undefined
  // By the name of the build: after a switch, the projection's name may still denote the previous build, which may lag behind `after`.
  const transfers = after && served && readModels.collection(served.collection)
  const found = new Set(transfers ? await findInReadModel(transfers, { merchantId, userId }) : [])
  let through = after
  for await (const page of logPages(raw, { after, streamPrefixes: [streamPrefix.transfer] })) {
    for (const event of page.events) {
      const creation = creationIn(event)
      if (creation?.keyId === key.id) found.add(creation.trackingId)
    }
    through = page.through
  }
  return { trackingIds: [...found], through }
}

/** Returns the transfers that were created under each of these keys after a position, by the key's id. @throws StoreUnavailableError */
export async function createdUnder(raw: EventStore, keyIds: ReadonlySet<string>, after: Position | undefined) {
  const found = new Map<string, string[]>([...keyIds].map((id) => [id, []]))
  for await (const { keyId, trackingId } of creationsIn(raw, after)) found.get(keyId)?.push(trackingId)
  return found
}

/** Returns the payments of bank statements that were recorded under a key. @throws StoreUnavailableError */
export async function paymentsUnder(raw: EventStore, keyId: string): Promise<readonly string[]> {
  const found: string[] = []
  for await (const { events } of logPages(raw, { streamPrefixes: [streamPrefix.bankEntries] }))
    for (const { type, data } of events)
      if (type === 'BankPaymentRecorded' && keyIdIn(data[sealedField]) === keyId) found.push(String(data.paymentId))
  return found
}

async function findInReadModel(transfers: Collection, { merchantId, userId }: Customer): Promise<readonly string[]> {
  const found: string[] = []
  const search = { words: [], wholeWord: wholeWord(userId), equal: { merchantId: [merchantId] }, direction: 1 } as const
  let after: number | null = -1
  while (after !== null) {
    const { documents, next } = await transfers.search({ ...search, after, limit: pageSize })
    for (const { _id } of documents) found.push(_id)
    after = next
  }
  return found
}

/** Processes sixteen items at a time and returns the results in the order of the items. */
export async function eachOf<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (let from = 0; from < items.length; from += maxConcurrent)
    results.push(...(await Promise.all(items.slice(from, from + maxConcurrent).map(work))))
  return results
}
