import {
  formatCheckpoint,
  leafHash,
  type NoteSigner,
  type NoteVerifier,
  type OpenedCheckpoint,
  openCheckpoint,
  signNote,
  type TileStore,
  TreeAppender,
  type TreeHead,
  TreeReader,
  VerificationError,
  verifyConsistency,
} from '@transferd/transparency-log'
import {
  type EventStore,
  eventAt,
  type Position,
  type UnparsedEvent,
  unparsedPages,
} from '../../event-store/event-store.js'
import { leafOf, leavesOf, placeIn } from './event-leaf.js'

/** The tree's bundles hold names instead of events, because the log is there to return the events. */
export const treeBundles = { bundles: 'names' } as const

/** Opens the tree of a log for reading. */
export function readTree(tiles: TileStore, size: number): TreeReader {
  return new TreeReader(tiles, size, treeBundles.bundles)
}

/** Returns the log's position after the first `size` leaves. @throws VerificationError if the last of them is not in the log */
export async function positionAfter({ store, tiles }: TreeParts, size: number): Promise<Position | undefined> {
  if (size === 0) return undefined
  const tree = readTree(tiles, size)
  const last = placeIn(await tree.entry(size - 1))
  if (last === undefined) return positionByCount(store, size)
  const event = await eventAt(store, last)
  if (event && leafHash(leafOf(event)).equals(await tree.leafHash(size - 1))) return event.position
  throw new VerificationError(`${last.stream}@${last.revision}, sealed as leaf ${size - 1}, is not in the log`)
}

/** For an event of another program, whose stream has too long a name. */
async function positionByCount(store: EventStore, size: number): Promise<Position | undefined> {
  let left = size
  for await (const { events } of unparsedPages(store, undefined)) {
    if (left <= events.length) return events[left - 1]?.position
    left -= events.length
  }
  throw new VerificationError(`the log has ${size - left} events, but the tree has ${size} leaves`)
}

/** Yields the leaves from one on. @throws VerificationError if the last event before it is not in the log */
export async function* leavesFrom(parts: TreeParts, index: number): AsyncGenerator<Buffer> {
  const after = await positionAfter(parts, index)
  for await (const { events } of unparsedPages(parts.store, after))
    for (const event of events) yield Buffer.from(leafOf(event))
}

/** Whether the embedded engine threw the error because rows of the log contradict each other. */
export function isBrokenLog(error: unknown): error is Error {
  return error instanceof Error && error.name === 'BrokenLogError'
}

/** The file of the newest checkpoint, next to `tile/`. */
export const checkpointPath = 'checkpoint'

export interface TreeParts {
  /** The log with encrypted personal data. If its events have codes, it marks those that are forged or skipped. */
  readonly store: EventStore
  readonly tiles: TileStore
}

/** Returns the newest checkpoint, or `undefined` if there is no tree yet. @throws VerificationError */
export async function signedCheckpoint(
  tiles: TileStore,
  verifier: NoteVerifier,
): Promise<(OpenedCheckpoint & { readonly note: string }) | undefined> {
  const bytes = await tiles.read(checkpointPath)
  if (bytes === undefined) return undefined
  const note = Buffer.from(bytes).toString('utf8')
  return { ...openCheckpoint(note, verifier), note }
}

/** A tree that was sealed before, which the log must still contain. */
export interface RequiredHead extends TreeHead {
  /** Where its checkpoint is kept, for a sentence. */
  readonly place: string
}

/** The same text for a log that is shorter and for one that has grown since, because a decision to resume payouts covers equal findings. */
const differentEvents = ({ size, place }: RequiredHead) =>
  `the log does not have the ${size} events of the checkpoint in ${place}`

/** Returns whether a tree starts with an earlier one. */
export async function contains(tiles: TileStore, tree: TreeHead, earlier: TreeHead): Promise<boolean> {
  return verifyConsistency(earlier, tree, await new TreeReader(tiles, tree.size).consistencyProof(earlier.size))
}

/**
 * Extends the tree by the events of the log and signs checkpoints. A tree has one sealer at a time. If the process is killed, the tree is
 * that of its last checkpoint, and the next sealer writes the same files again. After an error, discard the sealer and open another one.
 */
export class LogSealer {
  /** The size of the last checkpoint. */
  sealedSize: number

  private constructor(
    private readonly parts: TreeParts,
    private readonly signer: NoteSigner,
    private readonly tree: TreeAppender,
    private through: Position | undefined,
    /** The heads that the tree has not reached yet, smallest first. */
    private readonly required: RequiredHead[],
  ) {
    this.sealedSize = tree.size
  }

  /**
   * Continues after the last checkpoint. The tree must contain the `required` ones. @throws VerificationError if checkpoint, tree and log do
   * not match
   */
  static async open(parts: TreeParts, signer: NoteSigner, required: readonly RequiredHead[] = []): Promise<LogSealer> {
    const checkpoint = await signedCheckpoint(parts.tiles, signer)
    const size = checkpoint?.size ?? 0
    const tree = await TreeAppender.open(parts.tiles, size, treeBundles)
    if (checkpoint && !tree.root().equals(checkpoint.root))
      throw new VerificationError('the tree does not match its checkpoint')
    for (const head of required) {
      if (checkpoint && head.size <= size && !(await contains(parts.tiles, checkpoint, head)))
        throw new VerificationError(differentEvents(head))
    }
    const ahead = required.filter((head) => head.size > size).sort((a, b) => a.size - b.size)
    return new LogSealer(parts, signer, tree, await positionAfter(parts, size), ahead)
  }

  /** Adds the events up to the current end of the log. Awaits `pause` after each page, and ends early if the signal aborts. */
  async follow(pause: () => Promise<void>, signal: AbortSignal): Promise<void> {
    for await (const { events, through, atEnd } of unparsedPages(this.parts.store, this.through)) {
      if (signal.aborted) return
      await this.#append(events)
      this.through = through
      if (!atEnd) await pause()
    }
  }

  async #append(events: readonly UnparsedEvent[]): Promise<void> {
    const { tree } = this
    const { names, hashes } = leavesOf(events)
    let appended = 0
    const appendTo = async (end: number) => {
      await tree.append(names.slice(appended, end), hashes.slice(appended, end))
      appended = end
    }
    for (let next = this.required[0]; next; next = this.required[0]) {
      const end = appended + next.size - tree.size
      if (end > events.length) break
      await appendTo(end)
      if (!tree.root().equals(next.root)) throw new VerificationError(differentEvents(next))
      this.required.shift()
    }
    await appendTo(events.length)
  }

  /** Signs a checkpoint and returns it, or `undefined` if there are no new events. @throws VerificationError if events are missing */
  async seal(): Promise<string | undefined> {
    const { size } = this.tree
    const [missing] = this.required
    if (missing) throw new VerificationError(differentEvents(missing))
    if (size === this.sealedSize) return undefined
    await this.tree.flush()
    const checkpoint = this.head()
    const note = signNote(formatCheckpoint(checkpoint), [this.signer])
    await this.parts.tiles.write(checkpointPath, Buffer.from(note))
    this.sealedSize = size
    return note
  }

  /** Returns the tree up to the last event that was added. */
  head() {
    return { origin: this.signer.name, size: this.tree.size, root: this.tree.root() }
  }
}
