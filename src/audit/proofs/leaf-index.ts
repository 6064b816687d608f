import { type TreeReader, VerificationError } from '@transferd/transparency-log'
import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../../event-store/event-store.js'
import { placeInLeaf } from '../integrity/leaf.js'

/** Finds events among the leaves. Both are in the log's order, so no index is kept: some twenty leaves are looked at. */
export class LeafIndex {
  readonly #tree: TreeReader
  readonly #log: EventStore

  /** The log as it is stored. */
  constructor(tree: TreeReader, log: EventStore) {
    this.#tree = tree
    this.#log = log
  }

  /** Undefined when the event is newer than the tree. @throws VerificationError when it should be in the tree and is not. */
  async indexOf(event: RecordedEvent): Promise<number | undefined> {
    let [low, high] = [0, this.#tree.size]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const found = await this.#positionFrom(middle, high)
      if (found === undefined || comparePositions(found.position, event.position) > 0) high = middle
      else low = found.index + 1
    }
    const index = low - 1
    const place = index < 0 ? undefined : placeInLeaf(await this.#tree.leaf(index))
    if (place?.stream === event.stream && place.revision === event.revision) return index
    if (low === this.#tree.size) return undefined
    throw new VerificationError(
      `${event.stream}@${event.revision} is not where it belongs in the tree: transferd audit verify`,
    )
  }

  /** Of the first leaf from there on whose event the log still has: a stranger's stream may have been deleted. */
  async #positionFrom(from: number, to: number): Promise<{ index: number; position: Position } | undefined> {
    for (let index = from; index < to; index++) {
      const place = placeInLeaf(await this.#tree.leaf(index))
      if (place === undefined) continue
      const options = { fromRevision: place.revision, maxCount: 1 }
      const [event] = await this.#log.readStream(place.stream, options)
      if (event?.revision === place.revision) return { index, position: event.position }
    }
    return undefined
  }
}
