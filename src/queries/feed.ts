import type { HistoryEntry } from '../commands/handle-command.js'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import { type Position, parsePosition } from '../event-store/event-store.js'
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
  readonly transfers: Pick<TransferCommands, 'history' | 'isUnreadable'>
  readonly readModels: ReadModels
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
export async function listFeed(
  sources: Sources,
  merchantId: string,
  { after, limit }: { readonly after: FeedPosition | undefined; readonly limit: number },
) {
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
  const items: (Place & { readonly id: string; readonly position: string; readonly event: TransferEvent })[] = []
  let next: string | undefined
  for (const { trackingId, revision, position } of entries) {
    // The log decides whose event it is, because anyone who can write to the read models could show it to another merchant.
    const isOwn = (each: HistoryEntry<TransferEvent>) => each.event.data.merchantId === merchantId
    const recorded = histories.get(trackingId)?.find((each) => each.revision === revision && isOwn(each))
    // A newer version on another node has applied it. A merchant that continued after it here would never receive it.
    if (!recorded && (await transfers.isUnreadable(trackingId, revision))) break
    next = `${position}.${trackingId}.${revision}`
    // The event is skipped, or the log was restored to an earlier state and the read model is not rebuilt yet.
    if (recorded) items.push({ id: recorded.id, position, trackingId, revision, event: recorded.event })
  }
  return { items, next }
}

/** Returns the present position of the event, or `undefined` if it is not in the log. */
async function positionOf({ readModels, transfers }: Sources, merchantId: string, { position, event }: FeedPosition) {
  if (!event) return position
  const { trackingId, revision } = event
  const entry = await readModels.collection(collections.transferEvents).findOne({ _id: feedId(merchantId, position) })
  if (entry?.trackingId === trackingId && entry.revision === revision) return position
  const history = await transfers.history(trackingId, 'omit')
  const recorded = history.find((each) => each.revision === revision)
  return recorded?.event.data.merchantId === merchantId ? recorded.position : undefined
}
