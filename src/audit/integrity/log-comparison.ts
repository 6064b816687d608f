import { comparePositions, type EventStore, type RecordedEvent } from '../../event-store/event-store.js'
import type { Findings } from './findings.js'
import { leafOf, placeInLeaf } from './leaf.js'

/** Compares the log with the leaves of its tree, one by one; what one of them lacks is named, and the comparison goes on behind it. */
export class LogComparison {
  readonly #store: EventStore
  readonly #findings: Findings
  readonly #leaves: AsyncIterator<Uint8Array | undefined>
  #leaf: IteratorResult<Uint8Array | undefined> | undefined
  #index: number
  readonly #isSealed: (leaf: Uint8Array, index: number) => Promise<boolean>
  readonly #onLeaf: (leaf: Uint8Array) => void

  /**
   * @param leaves undefined for one whose file is damaged: it is taken from the log
   * @param isSealed whether the tree's hashes say that this is the leaf
   */
  constructor(options: {
    readonly store: EventStore
    readonly findings: Findings
    readonly leaves: AsyncIterable<Uint8Array | undefined>
    readonly from: number
    readonly isSealed: (leaf: Uint8Array, index: number) => Promise<boolean>
    readonly onLeaf: (leaf: Uint8Array) => void
  }) {
    this.#store = options.store
    this.#findings = options.findings
    this.#leaves = options.leaves[Symbol.asyncIterator]()
    this.#index = options.from
    this.#isSealed = options.isSealed
    this.#onLeaf = options.onLeaf
  }

  /** Leaves compared so far. */
  get index(): number {
    return this.#index
  }

  /** Whether all leaves have been compared. */
  async isDone(): Promise<boolean> {
    return (await this.#peek()).done === true
  }

  /** The log's next event. False when the tree ends before it. */
  async take(event: RecordedEvent): Promise<boolean> {
    const actual = leafOf(event)
    for (;;) {
      const { value: sealed, done } = await this.#peek()
      if (done) return false
      // A damaged file of leaves is told when the files are compared: the event is not to blame.
      if (sealed === undefined || actual.equals(sealed) || (await this.#isSealed(actual, this.#index))) {
        this.#advance(actual)
        return true
      }
      const place = placeInLeaf(sealed)
      if (place === undefined || (place.stream === event.stream && place.revision === event.revision)) {
        this.#tell(event, 'The event is not the one that was sealed.')
        this.#advance(sealed)
        return true
      }
      if (await this.#isBehind(place, event)) {
        this.#tell(event, 'The event was not sealed in this place.')
        return true
      }
      this.#tell(place, 'The sealed event is missing from its place in the log.')
      this.#advance(sealed)
    }
  }

  /** The log has ended: what is left of the tree is missing from it. */
  async end(): Promise<void> {
    for (;;) {
      const { value: sealed, done } = await this.#peek()
      if (done) return
      const place = sealed && placeInLeaf(sealed)
      this.#tell(
        place || { stream: 'leaf', revision: this.#index },
        'The sealed event is missing: the log ends before it.',
      )
      this.#advance(sealed ?? Buffer.alloc(0))
    }
  }

  #tell({ stream, revision }: { readonly stream: string; readonly revision: number }, problem: string): void {
    this.#findings.add('log', `${stream}@${revision}`, problem, this.#index)
  }

  async #isBehind(place: { readonly stream: string; readonly revision: number }, event: RecordedEvent) {
    const { stream, revision } = place
    try {
      const [found] = await this.#store.readStream(stream, { fromRevision: revision, maxCount: 1 })
      return found?.revision === revision && comparePositions(found.position, event.position) > 0
    } catch (error) {
      // Rows that contradict each other: what can be read of the stream is not to be gone by.
      if (error instanceof Error && error.name === 'BrokenLogError') return false
      throw error
    }
  }

  async #peek(): Promise<IteratorResult<Uint8Array | undefined>> {
    this.#leaf ??= await this.#leaves.next()
    return this.#leaf
  }

  #advance(leaf: Uint8Array): void {
    this.#leaf = undefined
    this.#index++
    this.#onLeaf(leaf)
  }
}
