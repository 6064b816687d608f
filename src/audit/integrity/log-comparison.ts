import { type Finding, forgedProblem, maxFindings } from '../../domain/integrity.js'
import {
  comparePositions,
  type EventStore,
  eventAt,
  type Place,
  type Position,
  type RecordedEvent,
} from '../../event-store/event-store.js'
import { leafOf, placeInLeaf } from './event-leaf.js'
import { isBrokenLog } from './log-sealer.js'

/** Only streams of other programs have longer names. */
const maxPlaceLength = 300

/** Keeps the first findings of a verification, and counts all of them, because an edited log can fail in many places. */
export class Findings {
  readonly list: Finding[] = []
  count = 0

  add(kind: Finding['kind'], place: string, problem: string, leafIndex: number | null = null): void {
    this.count++
    if (this.list.length >= maxFindings) return
    this.list.push({ kind, place: place.slice(0, maxPlaceLength), leafIndex, problem })
  }
}

/** Events of one stream in a page of the log. */
const maxPerStream = 1_000

/** Checks that each stream of a page, read by its name, shows exactly the page's events: an edited index can hide a transfer's completion. */
export async function checkStreams(
  store: EventStore,
  page: readonly RecordedEvent[],
  through: Position,
  findings: Findings,
): Promise<void> {
  const streams = new Map<string, RecordedEvent[]>()
  for (const event of page) {
    const events = streams.get(event.stream)
    if (events) events.push(event)
    else streams.set(event.stream, [event])
  }
  for (const [stream, events] of streams) {
    const found = await findProblem(store, stream, events, through)
    if (found) findings.add('log', `${stream}@${found.revision}`, found.problem)
  }
}

async function findProblem(store: EventStore, stream: string, events: readonly RecordedEvent[], through: Position) {
  const first = events[0]!
  // Includes the previous and the next event, so that neither can be hidden.
  const fromRevision = Math.max(0, first.revision - 1)
  let read: readonly RecordedEvent[]
  try {
    read = await store.readStream(stream, { fromRevision, maxCount: Math.min(events.length + 2, maxPerStream) })
  } catch (error) {
    if (!isBrokenLog(error)) throw error
    return { revision: first.revision, problem: `The stream cannot be read: ${error.message}.` }
  }
  const [previous, shown] = first.revision === 0 ? [undefined, read] : [read[0], read.slice(1)]
  const isMisplaced = previous === undefined || comparePositions(previous.position, first.position) >= 0
  if (first.revision > 0 && (isMisplaced || previous.revision !== fromRevision)) {
    return { revision: fromRevision, problem: 'The log has an event after it, but the stream does not show it.' }
  }
  const missing = events.find((event, index) => !isSame(event, shown[index]))
  if (missing)
    return { revision: missing.revision, problem: 'The log has this event, but its stream does not show it.' }
  const next = shown[events.length]
  if (next && comparePositions(next.position, through) <= 0) {
    return { revision: next.revision, problem: 'The stream shows an event that the log does not have in its place.' }
  }
  return undefined
}

function isSame({ revision, id, position }: RecordedEvent, shown: RecordedEvent | undefined): boolean {
  if (shown === undefined || shown.revision !== revision || shown.id !== id) return false
  return comparePositions(shown.position, position) === 0
}

/** Whether someone else than the service wrote the event, and no operator has skipped it. */
export function isForged(event: RecordedEvent): boolean {
  return event.isForged === true && !event.isSkipped
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
  /** The number of leaves up to the last one that was compared. */
  index: number

  constructor(private readonly options: ComparisonOptions) {
    this.#leaves = options.leaves[Symbol.asyncIterator]()
    this.index = options.from
  }

  async isDone(): Promise<boolean> {
    return (await this.#peek()).done === true
  }

  /**
   * Compares the log's next event. Returns false if the tree ends before it. A forged event has the finding that its readers report, so that
   * one edit is one finding.
   */
  async take(event: RecordedEvent): Promise<boolean> {
    const actual = leafOf(event)
    for (;;) {
      const { value: sealed, done } = await this.#peek()
      if (done) return false
      // The comparison of the files reports a damaged file of leaves. The event is not affected.
      if (sealed === undefined || actual.equals(sealed) || (await this.options.isSealed(actual, this.index))) {
        if (isForged(event)) this.#report(event, forgedProblem)
        this.#advance(actual)
        return true
      }
      const place = placeInLeaf(sealed)
      if (place === undefined || (place.stream === event.stream && place.revision === event.revision)) {
        this.#report(event, isForged(event) ? forgedProblem : 'The event is not the one that was sealed.')
        this.#advance(sealed)
        return true
      }
      if (await this.#isAfter(place, event)) {
        this.#report(event, isForged(event) ? forgedProblem : 'The event was not sealed in this place.')
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
      const place = (sealed && placeInLeaf(sealed)) ?? { stream: 'leaf', revision: this.index }
      this.#report(place, 'The sealed event is missing: the log ends before it.')
      this.#advance(sealed ?? Buffer.alloc(0))
    }
  }

  #report({ stream, revision }: Place, problem: string): void {
    this.options.findings.add('log', `${stream}@${revision}`, problem, this.index)
  }

  /** Whether the log has the event of this place after `event`. */
  async #isAfter(place: Place, event: RecordedEvent): Promise<boolean> {
    try {
      const found = await eventAt(this.options.store, place)
      return found !== undefined && comparePositions(found.position, event.position) > 0
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
    this.index++
    this.options.onLeaf(leaf)
  }
}
