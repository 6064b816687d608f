import {
  formatCheckpoint,
  type NoteSigner,
  type NoteVerifier,
  type OpenedCheckpoint,
  openCheckpoint,
  signNote,
  type TileStore,
  TreeAppender,
  VerificationError,
} from '@transferd/transparency-log'
import type { EventStore, Position } from '../../event-store/event-store.js'
import { leafOf } from './leaf.js'
import { placeBehind, storedPages } from './stored-log.js'

/** The file of the newest checkpoint, beside `tile/`. */
export const checkpointPath = 'checkpoint'

export interface TreeParts {
  /** As the engine has it: nothing decrypted, nothing marked. */
  readonly store: EventStore
  readonly tiles: TileStore
}

/** The tree's own checkpoint as it was signed; undefined where there is no tree yet. @throws VerificationError */
export async function signedCheckpoint(
  tiles: TileStore,
  verifier: NoteVerifier,
): Promise<(OpenedCheckpoint & { readonly note: string }) | undefined> {
  const bytes = await tiles.read(checkpointPath)
  if (bytes === undefined) return undefined
  const note = Buffer.from(bytes).toString('utf8')
  return { ...openCheckpoint(note, verifier), note }
}

/**
 * Follows the log and extends its tree; one at a time. A process that is killed leaves the tree as its last checkpoint says, and the next one
 * writes the same files again. After any error it is of no use: open another.
 */
export class Sealer {
  readonly #parts: TreeParts
  readonly #signer: NoteSigner
  readonly #tree: TreeAppender
  #through: Position | undefined
  #sealed: number

  private constructor(parts: TreeParts, signer: NoteSigner, tree: TreeAppender, through: Position | undefined) {
    this.#parts = parts
    this.#signer = signer
    this.#tree = tree
    this.#through = through
    this.#sealed = tree.size
  }

  /** Goes on behind the last checkpoint. @throws VerificationError where it, the tree or the log's end do not belong together */
  static async open(parts: TreeParts, signer: NoteSigner): Promise<Sealer> {
    const checkpoint = await signedCheckpoint(parts.tiles, signer)
    if (checkpoint === undefined) return new Sealer(parts, signer, await TreeAppender.open(parts.tiles, 0), undefined)
    const { size, root } = checkpoint
    const tree = await TreeAppender.open(parts.tiles, size)
    if (!tree.root().equals(root)) throw new VerificationError('the tree is not the one that its checkpoint is of')
    return new Sealer(parts, signer, tree, await placeBehind(parts, size))
  }

  /** Leaves, sealed or not. */
  get size(): number {
    return this.#tree.size
  }

  /** Of the last checkpoint. */
  get sealedSize(): number {
    return this.#sealed
  }

  /** Takes in what the log has now. `pause` is awaited after each page; it ends early when the signal aborts. */
  async follow(pause: () => Promise<void>, signal: AbortSignal): Promise<void> {
    for await (const { events, through, atEnd } of storedPages(this.#parts.store, this.#through)) {
      if (signal.aborted) return
      await this.#tree.append(events.map(leafOf))
      this.#through = through
      if (!atEnd) await pause()
    }
  }

  /** Signs what was taken in. Undefined where nothing is new. */
  async seal(): Promise<string | undefined> {
    const { size } = this.#tree
    if (size === this.#sealed) return undefined
    await this.#tree.flush()
    const checkpoint = { origin: this.#signer.name, size, root: this.#tree.root() }
    const note = signNote(formatCheckpoint(checkpoint), [this.#signer])
    await this.#parts.tiles.write(checkpointPath, Buffer.from(note))
    this.#sealed = size
    return note
  }
}
