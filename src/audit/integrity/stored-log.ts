import { type TileStore, TreeReader, VerificationError } from '@transferd/transparency-log'
import type { EventStore, Position, RecordedEvent } from '../../event-store/event-store.js'
import { placeInLeaf } from './event-leaf.js'

/** Small enough to let the thread do other work between two pages. */
const pageSize = 256

interface StoredPage {
  readonly events: readonly RecordedEvent[]
  /** The position up to which everything was read. */
  readonly through: Position | undefined
  readonly atEnd: boolean
}

/** Reads the events of the tree in its order, as stored, up to the current end of the log. @throws StoreUnavailableError */
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

/** Returns the log's position after the first `size` leaves. @throws VerificationError if the last of them is not in the log */
export async function positionAfter(
  { store, tiles }: { readonly store: EventStore; readonly tiles: TileStore },
  size: number,
): Promise<Position | undefined> {
  if (size === 0) return undefined
  const last = placeInLeaf(await new TreeReader(tiles, size).leaf(size - 1))
  if (last === undefined) return positionByCount(store, size)
  const [event] = await store.readStream(last.stream, { fromRevision: last.revision, maxCount: 1 })
  if (event?.revision === last.revision && event.id === last.id) return event.position
  throw new VerificationError(`${last.stream}@${last.revision}, sealed as leaf ${size - 1}, is not in the log`)
}

/** For an event of another program, whose leaf has no place. */
async function positionByCount(store: EventStore, size: number): Promise<Position | undefined> {
  let left = size
  for await (const { events } of storedPages(store, undefined)) {
    if (left <= events.length) return events[left - 1]?.position
    left -= events.length
  }
  throw new VerificationError(`the log has ${size - left} events, but the tree has ${size} leaves`)
}

/** Whether the embedded engine threw the error because rows of the log contradict each other. */
export function isBrokenLog(error: unknown): error is Error {
  return error instanceof Error && error.name === 'BrokenLogError'
}
