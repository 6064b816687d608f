import { comparePositions, type EventStore, type RecordedEvent } from '../../event-store/event-store.js'
import { leafOf, placeInLeaf } from './event-leaf.js'
import type { Findings } from './integrity-findings.js'
import { isBrokenLog } from './stored-log.js'

interface Place {
  readonly stream: string
  readonly revision: number
}

interface ComparisonOptions {
  readonly store: EventStore
  readonly findings: Findings
  /** `undefined` stands for a leaf in a damaged file, which is taken from the log. */
  readonly leaves: AsyncIterable<Uint8Array | undefined>
  /** The index of the first leaf. */
  readonly from: number
  /** Whether the tree's hashes confirm the leaf. */
  readonly isSealed: (leaf: Uint8Array, index: number) => Promise<boolean>
  readonly onLeaf: (leaf: Uint8Array) => void
}

/** Compares the log with the leaves of its tree in order. After a difference the comparison continues. */
export class LogComparison {
  readonly #leaves: AsyncIterator<Uint8Array | undefined>
  #leaf: IteratorResult<Uint8Array | undefined> | undefined
  #index: number

  constructor(private readonly options: ComparisonOptions) {
    this.#leaves = options.leaves[Symbol.asyncIterator]()
    this.#index = options.from
  }

  /** The number of leaves up to the last one that was compared. */
  get index(): number {
    return this.#index
  }

  /** Whether all leaves have been compared. */
  async isDone(): Promise<boolean> {
    return (await this.#peek()).done === true
  }

  /** Compares the log's next event. Returns false if the tree ends before it. */
  async take(event: RecordedEvent): Promise<boolean> {
    const actual = leafOf(event)
    for (;;) {
      const { value: sealed, done } = await this.#peek()
      if (done) return false
      // The comparison of the files reports a damaged file of leaves. The event is not affected.
      if (sealed === undefined || actual.equals(sealed) || (await this.options.isSealed(actual, this.#index))) {
        this.#advance(actual)
        return true
      }
      const place = placeInLeaf(sealed)
      if (place === undefined || (place.stream === event.stream && place.revision === event.revision)) {
        this.#report(event, 'The event is not the one that was sealed.')
        this.#advance(sealed)
        return true
      }
      if (await this.#isAfter(place, event)) {
        this.#report(event, 'The event was not sealed in this place.')
        return true
      }
      this.#report(place, 'The sealed event is missing from its place in the log.')
      this.#advance(sealed)
    }
  }

  /** Reports the remaining leaves as missing from the log, which has ended. */
  async end(): Promise<void> {
    for (;;) {
      const { value: sealed, done } = await this.#peek()
      if (done) return
      const place = (sealed && placeInLeaf(sealed)) ?? { stream: 'leaf', revision: this.#index }
      this.#report(place, 'The sealed event is missing: the log ends before it.')
      this.#advance(sealed ?? Buffer.alloc(0))
    }
  }

  #report({ stream, revision }: Place, problem: string): void {
    this.options.findings.add('log', `${stream}@${revision}`, problem, this.#index)
  }

  /** Whether the log has the event of this place after `event`. */
  async #isAfter({ stream, revision }: Place, event: RecordedEvent): Promise<boolean> {
    try {
      const [found] = await this.options.store.readStream(stream, { fromRevision: revision, maxCount: 1 })
      return found?.revision === revision && comparePositions(found.position, event.position) > 0
    } catch (error) {
      if (isBrokenLog(error)) return false
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
    this.options.onLeaf(leaf)
  }
}
