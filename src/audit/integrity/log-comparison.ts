import { emptyRoot, type Hash } from '@transferd/transparency-log'
import { type Finding, forgedProblem, maxFindings } from '../../domain/integrity.js'
import {
  comparePositions,
  type EventPlace,
  type EventStore,
  eventAt,
  type Place,
  type Position,
  type StreamRange,
  type UnparsedEvent,
} from '../../event-store/event-store.js'
import { nameOf, placeIn } from './event-leaf.js'
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
  page: readonly EventPlace[],
  through: Position,
  findings: Findings,
): Promise<void> {
  const streams = new Map<string, EventPlace[]>()
  for (const event of page) {
    const events = streams.get(event.stream)
    if (events) events.push(event)
    else streams.set(event.stream, [event])
  }
  const pages = [...streams.values()]
  const shown = await store.readPlaces(pages.map(rangeAround))
  for (const [index, events] of pages.entries()) {
    const found = findProblem(events, shown[index]!, through)
    if (found) findings.add('log', `${events[0]!.stream}@${found.revision}`, found.problem)
  }
}

/** Includes the previous and the next event, so that neither can be hidden. */
function rangeAround(events: readonly EventPlace[]): StreamRange {
  const { stream, revision } = events[0]!
  const maxCount = Math.min(events.length + 2, maxPerStream)
  return { stream, fromRevision: Math.max(0, revision - 1), maxCount }
}

function findProblem(events: readonly EventPlace[], read: readonly EventPlace[], through: Position) {
  const first = events[0]!
  const [previous, shown] = first.revision === 0 ? [undefined, read] : [read[0], read.slice(1)]
  const isMisplaced = previous === undefined || comparePositions(previous.position, first.position) >= 0
  if (first.revision > 0 && (isMisplaced || previous.revision !== first.revision - 1)) {
    return { revision: first.revision - 1, problem: 'The log has an event after it, but the stream does not show it.' }
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

function isSame({ revision, position }: EventPlace, shown: EventPlace | undefined): boolean {
  return shown?.revision === revision && comparePositions(shown.position, position) === 0
}

/** Whether someone else than the service wrote the event, and no operator has skipped it. */
export function isForged(event: UnparsedEvent): boolean {
  return event.isForged === true && !event.isSkipped
}

/** The hash and the name of a leaf in the files of the tree. Each is `undefined` if its file is damaged. */
export interface SealedLeaf {
  readonly hash: Hash | undefined
  readonly name: Buffer | undefined
}

interface ComparisonOptions {
  readonly store: EventStore
  readonly findings: Findings
  readonly leaves: AsyncIterable<SealedLeaf>
  /** The index of the first leaf. */
  readonly from: number
  /** Whether the signed root confirms the hash of a leaf. */
  readonly isSigned: (hash: Hash, index: number) => Promise<boolean>
  readonly onLeaf: (hash: Hash, name: Buffer) => void
}

/**
 * Compares the hashes of the log's events with the leaves of its tree in order. After a difference the comparison continues: the names
 * of the leaves show whether an event was edited, removed or inserted.
 */
export class LogComparison {
  readonly #leaves: AsyncIterator<SealedLeaf>
  #leaf: IteratorResult<SealedLeaf> | undefined
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
  async take(event: UnparsedEvent, hash: Hash, name: Buffer): Promise<boolean> {
    for (;;) {
      const { value: sealed, done } = await this.#peek()
      if (done) return false
      // The comparison of the files reports a damaged file of hashes. The event is not affected.
      if (!sealed.hash || sealed.hash.equals(hash) || !(await this.options.isSigned(sealed.hash, this.index))) {
        if (isForged(event)) this.#report(event, forgedProblem)
        this.#advance(hash, name)
        return true
      }
      const place = sealed.name && placeIn(sealed.name)
      if (place === undefined || (place.stream === event.stream && place.revision === event.revision)) {
        this.#report(event, isForged(event) ? forgedProblem : 'The event is not the one that was sealed.')
        this.#advance(sealed.hash, sealed.name ?? name)
        return true
      }
      if (await this.#isAfter(place, event)) {
        this.#report(event, isForged(event) ? forgedProblem : 'The event was not sealed in this place.')
        return true
      }
      this.#report(place, 'The sealed event is missing from its place in the log.')
      this.#advance(sealed.hash, nameOf(place))
    }
  }

  /** Reports the remaining leaves as missing from the log, which has ended. */
  async end(): Promise<void> {
    for (;;) {
      const { value: sealed, done } = await this.#peek()
      if (done) return
      const place = (sealed.name && placeIn(sealed.name)) ?? { stream: 'leaf', revision: this.index }
      this.#report(place, 'The sealed event is missing: the log ends before it.')
      this.#advance(sealed.hash ?? emptyRoot(), sealed.name ?? nameOf(place))
    }
  }

  #report({ stream, revision }: Place, problem: string): void {
    this.options.findings.add('log', `${stream}@${revision}`, problem, this.index)
  }

  /** Whether the log has the event of this place after `event`. */
  async #isAfter(place: Place, event: EventPlace): Promise<boolean> {
    try {
      const found = await eventAt(this.options.store, place)
      return found !== undefined && comparePositions(found.position, event.position) > 0
    } catch (error) {
      if (isBrokenLog(error)) return false
      throw error
    }
  }

  async #peek(): Promise<IteratorResult<SealedLeaf>> {
    this.#leaf ??= await this.#leaves.next()
    return this.#leaf
  }

  #advance(hash: Hash, name: Buffer): void {
    this.#leaf = undefined
    this.index++
    this.options.onLeaf(hash, name)
  }
}
