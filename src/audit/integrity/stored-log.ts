import { type TileStore, TreeReader, VerificationError } from '@transferd/transparency-log'
import type { EventStore, Position, RecordedEvent } from '../../event-store/event-store.js'
import { placeInLeaf } from './leaf.js'

/** Small enough that the thread can do other things in between. */
const pageSize = 256

export interface StoredPage {
  readonly events: readonly RecordedEvent[]
  /** Everything up to here has been looked at. */
  readonly through: Position | undefined
  readonly atEnd: boolean
}

/** The events of the tree, in its order and as they are stored, up to what is the end when it is reached. @throws StoreUnavailableError */
export async function* storedPages(store: EventStore, after: Position | undefined): AsyncGenerator<StoredPage> {
  let through = after
  for (;;) {
    const { events, checkpoint, atEnd } = await store.readAll({
      maxCount: pageSize,
      includeStored: true,
      ...(through && { after: through }),
    })
    through = checkpoint ?? through
    yield { events, through, atEnd }
    if (atEnd) return
  }
}

/** Where the log stands behind the first `size` leaves of its tree. @throws VerificationError where the last of them is not in the log */
export async function placeBehind(
  { store, tiles }: { readonly store: EventStore; readonly tiles: TileStore },
  size: number,
): Promise<Position | undefined> {
  if (size === 0) return undefined
  const last = placeInLeaf(await new TreeReader(tiles, size).leaf(size - 1))
  if (last === undefined) return countedTo(store, size)
  const [event] = await store.readStream(last.stream, { fromRevision: last.revision, maxCount: 1 })
  if (event?.revision === last.revision && event.id === last.id) return event.position
  throw new VerificationError(`${last.stream}@${last.revision}, sealed as leaf ${size - 1}, is not in the log`)
}

/** A stranger's event, whose leaf does not say where it is. */
async function countedTo(store: EventStore, size: number): Promise<Position | undefined> {
  let left = size
  for await (const { events } of storedPages(store, undefined)) {
    if (left <= events.length) return events[left - 1]?.position
    left -= events.length
  }
  throw new VerificationError(`the log has ${size - left} events, the tree ${size} leaves`)
}
