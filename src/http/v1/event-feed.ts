import type { TransferCommands } from '../../commands/transfers.js'
import { formatPosition, type Position, parsePosition } from '../../event-store/event-store.js'
import { collections, feedAfter, feedId, feedOrder, type TransferEventDocument } from '../../read-models/documents.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { invalid } from '../refusals.js'
import { viewOfData } from './transfer-view.js'

/**
 * A place in a merchant's feed: a position, and the event that stands there. A position alone means another place, or none, once
 * the log was copied to another engine: a merchant that went on from it would miss events and not know.
 */
export interface FeedPlace {
  readonly position: Position
  /** Absent when a merchant sends the `position` of an item. */
  readonly event?: { readonly trackingId: string; readonly revision: number }
}

interface FeedSources {
  readonly transfers: TransferCommands
  readonly readModels: ReadModels
}

export function formatFeedPlace({ position, event }: FeedPlace): string {
  return event ? `${formatPosition(position)}.${event.trackingId}.${event.revision}` : formatPosition(position)
}

/** @throws RequestError */
export function feedPlaceOf(text: string): FeedPlace {
  const [, place = '', trackingId, revision] = /^([\d/]+)(?:\.([0-9a-f-]{36})\.(\d{1,9}))?$/.exec(text) ?? []
  const position = parsePosition(place)
  if (!position || position.commit > BigInt(Number.MAX_SAFE_INTEGER))
    throw invalid('after', 'must be the next of an earlier answer')
  return { position, ...(trackingId && { event: { trackingId, revision: Number(revision) } }) }
}

/** The events of a merchant behind a place, oldest first: the read model says which, the log says what they are. */
export async function listEvents(
  deps: FeedSources,
  merchantId: string,
  { after, limit }: { readonly after: FeedPlace | undefined; readonly limit: number },
) {
  const { readModels, transfers } = deps
  const from = after && (await positionOf(deps, merchantId, after))
  const entries = (await readModels
    .collection(collections.transferEvents)
    .find(feedAfter(merchantId, from), { sort: feedOrder, limit })) as readonly TransferEventDocument[]
  const ids = [...new Set(entries.map(({ trackingId }) => trackingId))]
  const histories = new Map(
    await Promise.all(ids.map(async (id) => [id, await transfers.history(id, 'leave out')] as const)),
  )
  const items = []
  let last: TransferEventDocument | undefined
  for (const entry of entries) {
    const { trackingId, revision, position } = entry
    const recorded = histories.get(trackingId)?.find((each) => each.revision === revision)
    // Of a newer program, whose node has applied it: whoever went on behind it here would never be told of it.
    if (!recorded && (await transfers.isUnreadable(trackingId, revision))) break
    last = entry
    // One that was passed over since, or while a log that was put back to an earlier state is ahead of the rebuild that follows.
    if (!recorded) continue
    const { id: eventId, event } = recorded
    const { type, data } = event
    items.push({ position, trackingId, eventId, revision, type, at: data.at, data: viewOfData(data) })
  }
  return { items, last: last && placeOfEntry(last) }
}

function placeOfEntry({ position: text, trackingId, revision }: TransferEventDocument): FeedPlace | undefined {
  const position = parsePosition(text)
  return position && { position, event: { trackingId, revision } }
}

/** Where the place is in the log and the read model there are now. @throws RequestError when the event is not in the log */
async function positionOf(
  { readModels, transfers }: FeedSources,
  merchantId: string,
  { position, event }: FeedPlace,
): Promise<Position> {
  if (!event) return position
  const { trackingId, revision } = event
  const entry = await readModels.collection(collections.transferEvents).findOne({ _id: feedId(merchantId, position) })
  if (entry?.trackingId === trackingId && entry.revision === revision) return position
  const history = await transfers.history(trackingId, 'leave out')
  const recorded = history.find((each) => each.revision === revision)
  if (recorded?.event.data.merchantId !== merchantId)
    throw invalid('after', 'names an event that is not in the log; begin again without it')
  return recorded.position
}
