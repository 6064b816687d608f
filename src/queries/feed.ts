import type { TransferCommands } from '../commands/transfer/transfers.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import { type Position, parsePosition } from '../event-store/event-store.js'
import { collections, feedAfter, feedId, feedOrder, type TransferEventDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

/**
 * A place in a merchant's feed: a position, and the event that stands there. A position alone means another place, or none, once
 * the log was copied to another engine: a merchant that continued from it would miss events and not know.
 */
export interface FeedPlace {
  readonly position: Position
  /** Absent when a merchant sends the `position` of an item. */
  readonly event?: { readonly trackingId: string; readonly revision: number }
}

export interface FeedItem {
  readonly id: string
  readonly position: string
  readonly trackingId: string
  readonly revision: number
  readonly event: TransferEvent
}

interface Sources {
  readonly transfers: Pick<TransferCommands, 'history' | 'isUnreadable'>
  readonly readModels: ReadModels
}

/** Undefined when it is nothing that a feed gave. */
export function parseFeedPlace(text: string): FeedPlace | undefined {
  const [, place = '', trackingId, revision] = /^([\d/]+)(?:\.([0-9a-f-]{36})\.(\d{1,9}))?$/.exec(text) ?? []
  const position = parsePosition(place)
  if (!position || position.commit > BigInt(Number.MAX_SAFE_INTEGER)) return undefined
  return { position, ...(trackingId && { event: { trackingId, revision: Number(revision) } }) }
}

/**
 * The events of a merchant behind a place, oldest first: the read model says which, the log says what they are. `next` is the place to
 * continue from, undefined when there are none. Undefined when the event of `after` is not in the log.
 * @throws ReadModelsUnavailableError, StoreUnavailableError
 */
export async function listFeed(
  sources: Sources,
  merchantId: string,
  { after, limit }: { readonly after: FeedPlace | undefined; readonly limit: number },
): Promise<{ readonly items: readonly FeedItem[]; readonly next: string | undefined } | undefined> {
  const { readModels, transfers } = sources
  const from = after && (await positionOf(sources, merchantId, after))
  if (after && !from) return undefined
  const entries = (await readModels
    .collection(collections.transferEvents)
    .find(feedAfter(merchantId, from), { sort: feedOrder, limit })) as readonly TransferEventDocument[]
  const ids = [...new Set(entries.map(({ trackingId }) => trackingId))]
  const histories = new Map(
    await Promise.all(ids.map(async (id) => [id, await transfers.history(id, 'omit')] as const)),
  )
  const items: FeedItem[] = []
  let next: string | undefined
  for (const { trackingId, revision, position } of entries) {
    const recorded = histories.get(trackingId)?.find((each) => each.revision === revision)
    // Of a newer program, whose node has applied it: a merchant that continued behind it here would never be told of it.
    if (!recorded && (await transfers.isUnreadable(trackingId, revision))) break
    next = `${position}.${trackingId}.${revision}`
    // Skipped since, or the log was put back to an earlier state and the read model is not rebuilt yet.
    if (recorded) items.push({ id: recorded.id, position, trackingId, revision, event: recorded.event })
  }
  return { items, next }
}

/** Where the place is in the log and the read model of now; undefined when its event is not in the log. */
async function positionOf({ readModels, transfers }: Sources, merchantId: string, { position, event }: FeedPlace) {
  if (!event) return position
  const { trackingId, revision } = event
  const entry = await readModels.collection(collections.transferEvents).findOne({ _id: feedId(merchantId, position) })
  if (entry?.trackingId === trackingId && entry.revision === revision) return position
  const history = await transfers.history(trackingId, 'omit')
  const recorded = history.find((each) => each.revision === revision)
  return recorded?.event.data.merchantId === merchantId ? recorded.position : undefined
}
