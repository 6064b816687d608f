import {
  emptyRoot,
  type Hash,
  type TreeAppender,
  type TreeReader,
  tileWidth,
  VerificationError,
  verifyInclusion,
} from '@transferd/transparency-log'
import { type Finding, forgedProblem, maxFindings } from '../../domain/integrity.js'
import { isServiceStream } from '../../domain/streams.js'
import {
  comparePositions,
  type EventPlace,
  type EventStore,
  eventAt,
  logPages,
  type Place,
  type Position,
  type UnparsedEvent,
} from '../../event-store/event-store.js'
import { nameOf, placeIn } from './event-leaf.js'
import { isBrokenLog } from './log-sealer.js'

const metadataPageSize = 5_000
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

const hidingMetadata = ['$maxCount', '$maxAge', '$tb']

/**
 * Checks that no metadata hides events of the service's streams, such as a transfer's completion. On a server, this replaces
 * {@link checkStreams}, which would need a read of each stream, because nothing else but the server changes its index.
 */
export async function checkMetadata(store: EventStore, after: Position | undefined, findings: Findings): Promise<void> {
  if (store.readPlaces) return
  const hiding = new Set<string>()
  for await (const { events } of logPages(store, { after, streamPrefixes: ['$$'], maxCount: metadataPageSize })) {
    for (const { stream, data } of events) {
      if (isServiceStream(stream.slice(2)) && hidingMetadata.some((name) => name in data)) hiding.add(stream)
      else hiding.delete(stream)
    }
  }
  for (const stream of hiding) findings.add('log', stream, 'This metadata hides events of the stream from its readers.')
}

/** Checks that each stream of a page, read by its name, shows exactly the page's events: an edited index can hide a transfer's completion. */
export async function checkStreams(
  store: EventStore,
  page: readonly EventPlace[],
  through: Position,
  findings: Findings,
): Promise<void> {
  if (!store.readPlaces) return
  const streams = new Map<string, EventPlace[]>()
  for (const event of page) {
    const events = streams.get(event.stream)
    if (events) events.push(event)
    else streams.set(event.stream, [event])
  }
  const ranges = [...streams].map(([stream, events]) => {
    // Includes the previous and the next event, so that neither can be hidden.
    return { stream, fromRevision: Math.max(0, events[0]!.revision - 1), maxCount: events.length + 2 }
  })
  for (const [index, read] of (await store.readPlaces(ranges)).entries()) {
    const { stream } = ranges[index]!
    const found = findProblem(streams.get(stream)!, read, through)
    if (found) findings.add('log', `${stream}@${found.revision}`, found.problem)
  }
}

function findProblem(events: readonly EventPlace[], read: readonly EventPlace[], through: Position) {
  const first = events[0]!
  const [previous, shown] = first.revision === 0 ? [undefined, read] : [read[0], read.slice(1)]
  const isMisplaced = previous === undefined || comparePositions(previous.position, first.position) >= 0
  if (first.revision > 0 && (isMisplaced || previous.revision !== first.revision - 1)) {
    return { revision: first.revision - 1, problem: 'The log has an event after it, but the stream does not show it.' }
  }
  const isShown = ({ revision, position }: EventPlace, place: EventPlace | undefined) =>
    place?.revision === revision && comparePositions(place.position, position) === 0
  const missing = events.find((event, index) => !isShown(event, shown[index]))
  if (missing)
    return { revision: missing.revision, problem: 'The log has this event, but its stream does not show it.' }
  const next = shown[events.length]
  if (next && comparePositions(next.position, through) <= 0) {
    return { revision: next.revision, problem: 'The stream shows an event that the log does not have in its place.' }
  }
  return undefined
}

/** Whether someone else than the service wrote the event, and no operator has skipped it. */
export function isForged(event: UnparsedEvent): boolean {
  return event.isForged === true && !event.isSkipped
}

interface ComparisonOptions {
  readonly store: EventStore
  readonly findings: Findings
  readonly tree: TreeReader
  /** The signed root of the tree. */
  readonly root: Hash
  /** The index of the first leaf, which starts a tile. */
  readonly from: number
}

/**
 * Compares the hashes of the log's events with the leaves of its tree in order. After a difference the comparison continues: the names
 * of the leaves show whether an event was edited, removed or inserted.
 */
export class LogComparison {
  /** The leaves that were compared since the last call of {@link LogComparison.extend}. */
  #names: Buffer[] = []
  #hashes: Hash[] = []
  #tile: readonly Hash[] = []
  /** The number of leaves up to the last one that was compared. */
  index: number

  constructor(private readonly options: ComparisonOptions) {
    this.index = options.from
  }

  get isDone(): boolean {
    return this.index >= this.options.tree.size
  }

  /**
   * Compares the log's next event. Returns false if the tree ends before it. A forged event has the finding that its readers report, so that
   * one edit is one finding.
   */
  async take(event: UnparsedEvent, hash: Hash, name: Buffer): Promise<boolean> {
    while (!this.isDone) {
      const sealed = await this.#sealedHash()
      // The comparison of the files reports a damaged file of hashes. The event is not affected.
      if (!sealed || sealed.equals(hash) || !(await this.#isSigned(sealed))) {
        if (isForged(event)) this.#report(event, forgedProblem)
        this.#advance(hash, name)
        return true
      }
      const place = await this.#sealedPlace()
      if (place === undefined || (place.stream === event.stream && place.revision === event.revision)) {
        // Also if it is skipped: that decision is not one to resume payouts, and both must be about the same finding.
        this.#report(event, event.isForged ? forgedProblem : 'The event is not the one that was sealed.')
        this.#advance(sealed, name)
        return true
      }
      if (await this.#isAfter(place, event)) {
        this.#report(event, isForged(event) ? forgedProblem : 'The event was not sealed in this place.')
        return true
      }
      this.#report(place, 'The sealed event is missing from its place in the log.')
      this.#advance(sealed, nameOf(place))
    }
    return false
  }

  /** Reports the remaining leaves as missing from the log, which has ended. */
  async end(): Promise<void> {
    while (!this.isDone) {
      const place = (await this.#sealedPlace()) ?? { stream: 'leaf', revision: this.index }
      this.#report(place, 'The sealed event is missing: the log ends before it.')
      this.#advance((await this.#sealedHash()) ?? emptyRoot(), nameOf(place))
    }
  }

  /** Appends the compared leaves to a tree. */
  async extend(tree: TreeAppender): Promise<void> {
    await tree.append(this.#names, this.#hashes)
    this.#names = []
    this.#hashes = []
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

  /** Returns `undefined` if the tile is damaged. */
  async #sealedHash(): Promise<Hash | undefined> {
    const place = this.index % tileWidth
    const tile = () => this.options.tree.leafHashes(Math.floor(this.index / tileWidth))
    if (place === 0) this.#tile = (await unlessDamaged(tile)) ?? []
    return this.#tile[place]
  }

  async #sealedPlace(): Promise<Place | undefined> {
    const name = await unlessDamaged(() => this.options.tree.entry(this.index))
    return name && placeIn(name)
  }

  /** A tile is a file like any other, so a different hash in it shows a changed event only if the signed root covers the hash. */
  async #isSigned(hash: Hash): Promise<boolean> {
    const { tree, root } = this.options
    const proof = await unlessDamaged(() => tree.inclusionProof(this.index))
    return proof !== undefined && verifyInclusion(hash, this.index, tree.size, root, proof)
  }

  #advance(hash: Hash, name: Buffer): void {
    this.index++
    this.#hashes.push(hash)
    this.#names.push(name)
  }
}

async function unlessDamaged<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof VerificationError) return undefined
    throw error
  }
}
