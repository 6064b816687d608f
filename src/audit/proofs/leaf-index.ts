import { type TreeReader, VerificationError } from '@transferd/transparency-log'
import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../../event-store/event-store.js'
import { placeInLeaf } from '../integrity/event-leaf.js'

/**
 * Returns the index of an event's leaf, or `undefined` if the event is newer than the tree. Leaves are in the log's order, so a binary
 * search reads some twenty leaves. @throws VerificationError if the event should be in the tree and is not
 */
export async function findLeafIndex(
  tree: TreeReader,
  log: EventStore,
  event: RecordedEvent,
): Promise<number | undefined> {
  let [low, high] = [0, tree.size]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = await firstPosition(tree, log, middle, high)
    if (found === undefined || comparePositions(found.position, event.position) > 0) high = middle
    else low = found.index + 1
  }
  const index = low - 1
  const place = index < 0 ? undefined : placeInLeaf(await tree.leaf(index))
  if (place?.stream === event.stream && place.revision === event.revision) return index
  if (low === tree.size) return undefined
  throw new VerificationError(
    `${event.stream}@${event.revision} is not in its place in the tree (run transferd audit verify)`,
  )
}

/** Returns the position of the first leaf in this range that the log still has. A stream of another program may have been deleted. */
async function firstPosition(
  tree: TreeReader,
  log: EventStore,
  from: number,
  to: number,
): Promise<{ index: number; position: Position } | undefined> {
  for (let index = from; index < to; index++) {
    const place = placeInLeaf(await tree.leaf(index))
    if (place === undefined) continue
    const [event] = await log.readStream(place.stream, { fromRevision: place.revision, maxCount: 1 })
    if (event?.revision === place.revision) return { index, position: event.position }
  }
  return undefined
}
