import { transferStream } from '../domain/streams.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import {
  type EventStore,
  eventAt,
  formatPosition,
  type Position,
  parsePosition,
  type RecordedEvent,
} from '../event-store/event-store.js'
import { readableEvent } from '../event-store/read-event.js'
import { collections, feedAfter, feedId, feedOrder, type TransferEventDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

interface Place {
  readonly trackingId: string
  readonly revision: number
}

/**
 * A position in a merchant's feed and the event at it. After the log is copied to another engine, the same position can belong to another
 * event, and a merchant that continued from it would miss events without noticing.
 */
interface FeedPosition {
  readonly position: Position
  /** Absent if a merchant sends the `position` of an item. */
  readonly event?: Place
}

interface Sources {
  readonly store: Pick<EventStore, 'readStream' | 'readEvents'>
  readonly readModels: ReadModels
}

interface FeedQuery {
  readonly merchantId: string
  readonly after?: FeedPosition | undefined
  readonly limit: number
}

/** Parses a cursor of a feed. Returns `undefined` if it is invalid. */
export function parseFeedPosition(text: string): FeedPosition | undefined {
  const [, place = '', trackingId, revision] = /^([\d/]+)(?:\.([0-9a-f-]{36})\.(\d{1,9}))?$/.exec(text) ?? []
  const position = parsePosition(place)
  if (!position || position.commit > BigInt(Number.MAX_SAFE_INTEGER)) return undefined
  return { position, ...(trackingId && { event: { trackingId, revision: Number(revision) } }) }
}

/**
 * Returns the events of a merchant after a position, oldest first. The read model contains their places, and the log the events. `next` is
 * the position to continue from, if there are any events. Returns `undefined` if the event of `after` is not in the log.
 * @throws ReadModelsUnavailableError, StoreUnavailableError
 */
export async function listFeed({ store, readModels }: Sources, { merchantId, after, limit }: FeedQuery) {
  const from = after && (await positionOf({ store, readModels }, merchantId, after))
  if (after && !from) return undefined
  const entries = (await readModels
    .collection(collections.transferEvents)
    .find(feedAfter(merchantId, from), { sort: feedOrder, limit })) as readonly TransferEventDocument[]
  const places = entries.map((entry) => {
    return { stream: transferStream(entry.trackingId), revision: entry.revision, position: placeOf(entry) }
  })
  const keyOf = ({ stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>) => `${revision}@${stream}`
  const found = new Map((await store.readEvents(places)).map((recorded) => [keyOf(recorded), recorded]))
  const items: (Place & { readonly id: string; readonly position: string; readonly event: TransferEvent })[] = []
  let next: string | undefined
  for (const entry of entries) {
    const { trackingId, revision } = entry
    const position = formatPosition(placeOf(entry))
    const recorded = found.get(keyOf({ stream: transferStream(trackingId), revision }))
    const event = recorded && (readableEvent(recorded) as TransferEvent | undefined)
    // A newer version on another node has applied it. A merchant that continued after it here would never receive it.
    if (recorded && !event && !recorded.isSkipped) break
    next = `${position}.${trackingId}.${revision}`
    // The event is skipped, or the log was restored to an earlier state and the read model is not rebuilt yet.
    // The log decides whose event it is, because anyone who can write to the read models could show it to another merchant.
    if (event?.data.merchantId === merchantId) items.push({ id: recorded!.id, position, trackingId, revision, event })
  }
  return { items, next }
}

/** Returns the present position of the event, or `undefined` if it is not in the log. */
async function positionOf({ store, readModels }: Sources, merchantId: string, { position, event }: FeedPosition) {
  if (!event) return position
  const { trackingId, revision } = event
  const entry = await readModels.collection(collections.transferEvents).findOne({ _id: feedId(position), merchantId })
  if (entry?.trackingId === trackingId && entry.revision === revision) return position
  const recorded = await eventAt(store, { stream: transferStream(trackingId), revision })
  const found = recorded && (readableEvent(recorded) as TransferEvent | undefined)
  return found?.data.merchantId === merchantId ? recorded?.position : undefined
}

function placeOf({ _id, prepare }: TransferEventDocument): Position {
  const commit = BigInt(_id)
  return { commit, prepare: prepare === undefined ? commit : BigInt(prepare) }
}
