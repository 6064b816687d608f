import type { Position } from '../event-store/event-store.js'
import { collections, feedAfter, feedOrder, type TransferEventDocument } from '../read-models/documents.js'
import type { HttpDependencies } from './dependencies.js'
import { viewOfData } from './transfer-view.js'

/** The events of a merchant behind a position, oldest first: the read model says which, the log says what they are. */
export async function listEvents(
  { readModels, transfers }: HttpDependencies,
  merchantId: string,
  { after, limit }: { readonly after: Position | undefined; readonly limit: number },
) {
  const entries = (await readModels
    .collection(collections.transferEvents)
    .find(feedAfter(merchantId, after), { sort: feedOrder, limit })) as readonly TransferEventDocument[]
  const ids = [...new Set(entries.map(({ trackingId }) => trackingId))]
  const histories = new Map(await Promise.all(ids.map(async (id) => [id, await transfers.history(id)] as const)))
  const items = entries.flatMap(({ trackingId, revision, position }) => {
    const recorded = histories.get(trackingId)?.[revision]
    // Only while a log that was put back to an earlier state is ahead of the rebuild that follows.
    if (!recorded) return []
    const { id: eventId, event } = recorded
    return [
      { position, trackingId, eventId, revision, type: event.type, at: event.data.at, data: viewOfData(event.data) },
    ]
  })
  return { items, last: entries.at(-1)?.position }
}
