import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams, { type ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import {
  comparePositions,
  type Direction,
  type EventPlace,
  type Page,
  type Position,
  type ReadStreamOptions,
  type RecordedEvent,
} from '../event-store.js'
import { countInLog } from '../log-counts.js'
import type { Connection } from './eventstoredb-connection.js'
import type { Incoming, RawClient } from './raw-client.js'
import { positionOf, toRecordedEvent, type WireEvent } from './recorded-event.js'

const { Options } = streams.ReadReq
const readDirections = { forwards: 0, backwards: 1 } as const

/** The number of events that the server filters at a time. */
const searchWindow = 500
/** The number of these windows between two checkpoints. */
const windowsPerCheckpoint = 20

const empty = () => new shared.Empty()

export function identifierOf(stream: string) {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
}

/** Reads from a revision, inclusive, or from the start of the direction. */
export function readStreamRequest(
  stream: string,
  { direction = 'forwards', fromRevision, maxCount = Number.MAX_SAFE_INTEGER }: ReadStreamOptions,
): ReadReq {
  const source = new Options.StreamOptions().setStreamIdentifier(identifierOf(stream))
  if (fromRevision !== undefined) source.setRevision(`${fromRevision}`)
  else if (direction === 'forwards') source.setStart(empty())
  else source.setEnd(empty())
  return request(plain(direction).setStream(source).setCount(`${maxCount}`).setNoFilter(empty()))
}

/** Subscribes to all events after a position. */
function subscribeRequest(after: Position | undefined, filter: StreamFilter): ReadReq {
  const source = new Options.AllOptions()
  if (after === undefined) source.setStart(empty())
  else
    source.setPosition(
      new Options.Position().setCommitPosition(`${after.commit}`).setPreparePosition(`${after.prepare}`),
    )
  const options = plain('forwards').setAll(source).setSubscription(new Options.SubscriptionOptions())
  const { wire } = filter
  if (wire === undefined) return request(options.setNoFilter(empty()))
  const expression = new Options.FilterOptions.Expression()
  if ('regex' in wire) expression.setRegex(wire.regex)
  else expression.setPrefixList(wire.prefixes)
  const wanted = new Options.FilterOptions().setStreamIdentifier(expression).setMax(searchWindow)
  return request(options.setFilter(wanted.setCheckpointintervalmultiplier(windowsPerCheckpoint)))
}

function plain(direction: Direction) {
  const options = new Options().setResolveLinks(false).setUuidOption(new Options.UUIDOption().setString(empty()))
  return options.setReadDirection(readDirections[direction])
}

function request(options: ReadReq.Options): ReadReq {
  return new streams.ReadReq().setOptions(options)
}

/** A filter by stream. On the wire it is a list of prefixes or a regular expression, or `undefined` for all streams. */
export interface StreamFilter {
  readonly wire: { readonly prefixes: string[] } | { readonly regex: string } | undefined
  /** Stricter than the server's filter, which lets system streams pass. */
  matches(stream: string): boolean
}

/** Without prefixes, the filter matches every stream except system streams (`$…`), which match only a prefix that starts with `$`. */
export function streamFilter(streamPrefixes: readonly string[] | undefined): StreamFilter {
  const prefixes = streamPrefixes ?? ['']
  const forSystem = prefixes.filter((prefix) => prefix.startsWith('$'))
  const everything = forSystem.length > 0 ? undefined : { regex: '^[^$]' }
  return {
    wire: prefixes.includes('') ? everything : { prefixes: [...prefixes] },
    matches: (stream) => (stream.startsWith('$') ? forSystem : prefixes).some((prefix) => stream.startsWith(prefix)),
  }
}

export async function readStream(
  connection: Connection,
  stream: string,
  options: ReadStreamOptions = {},
): Promise<readonly RecordedEvent[]> {
  const { fromRevision = 0, maxCount = 1 } = options
  checkCount('fromRevision', fromRevision, 0)
  checkCount('maxCount', maxCount, 1)
  const what = 'reading a stream'
  const events = await connection.use(what, (client) => client.readEvents(what, readStreamRequest(stream, options)))
  return events.map(toRecordedEvent)
}

/** The number of concurrent reads. The protocol has no request for several events or streams. */
const concurrentReads = 16

async function concurrently<Item, Result>(items: readonly Item[], read: (item: Item) => Promise<Result>) {
  const results: Result[] = []
  for (let from = 0; from < items.length; from += concurrentReads)
    results.push(...(await Promise.all(items.slice(from, from + concurrentReads).map(read))))
  return results
}

export async function readEvents(
  connection: Connection,
  places: readonly EventPlace[],
): Promise<readonly RecordedEvent[]> {
  const found = await concurrently(places, async ({ stream, revision }) => {
    const events = await readStream(connection, stream, { fromRevision: revision, maxCount: 1 })
    return events.filter((event) => event.revision === revision)
  })
  return found.flat()
}

export function checkCount(what: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) throw new TypeError(`${what} must be a whole number from ${least}`)
}

/** The size at which a page ends: 500 events of four kilobytes. Parsed events need several times as much, and a process keeps a few pages. */
const pageBytes = 2 * 1024 * 1024

/** Returns the position of the last event of all streams, or `undefined` if the log is empty. */
export async function lastPosition(client: RawClient): Promise<Position | undefined> {
  const options = plain('backwards').setAll(new Options.AllOptions().setEnd(empty()))
  const lastEvent = request(options.setCount('1').setNoFilter(empty()))
  const [last] = await client.readEvents('reading the end of the log', lastEvent)
  return last && positionOf(last)
}

function latest(a: Position | undefined, b: Position | undefined): Position | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return comparePositions(a, b) < 0 ? b : a
}

interface FeedOptions {
  readonly after: Position | undefined
  /** The end of the log before the subscription. A page at the end covers at least this position. */
  readonly end: Position | undefined
  readonly filter: StreamFilter
  readonly pageSize: number
}

/**
 * Builds pages from a subscription to the whole log. A read would return the existing events too, but it has no checkpoints: one whose
 * filter matches nothing for a long time would have to restart after a broken connection.
 */
export class Feed {
  #checkpoint: Position | undefined
  #caughtUp = false
  #checkpoints = 0

  private constructor(
    private readonly responses: Incoming<ReadResp>,
    private readonly options: FeedOptions,
  ) {
    this.#checkpoint = options.after
  }

  static async open(client: RawClient, options: FeedOptions): Promise<Feed> {
    return new Feed(await client.read('following the log', subscribeRequest(options.after, options.filter)), options)
  }

  /**
   * Returns the next page: a full one, or a shorter one at the end of the log. It is empty when the end is first reached, and after many
   * filtered events. @throws the error of the call, or an error if the call was cancelled or the server ended it
   */
  async next(): Promise<Page> {
    const events: RecordedEvent[] = []
    let bytes = 0
    const page = (): Page => {
      const atEnd = this.#caughtUp && this.responses.isDrained
      return { events, atEnd, ...(this.#checkpoint && { checkpoint: this.#checkpoint }) }
    }
    for (;;) {
      const response = this.responses.take()
      if (response === undefined) {
        if (this.#caughtUp && events.length > 0) return page()
        // At the end of the log a wait is normal. Before, a server that sends nothing is unavailable.
        if (!(await this.responses.more(this.#caughtUp))) throw new Error('the server ended the call')
        continue
      }
      const event = response.getEvent()?.getEvent()
      if (event !== undefined) {
        const recorded = this.#accepted(event)
        if (recorded === undefined) continue
        events.push(recorded)
        bytes += event.getData_asU8().length + event.getCustomMetadata_asU8().length
        if (events.length >= this.options.pageSize || bytes >= pageBytes) return page()
      } else if (this.#note(response)) return page()
    }
  }

  cancel(): void {
    this.responses.cancel()
  }

  /** Returns `undefined` for events that do not match or were read before: the server replaces a position after the end by the end. */
  #accepted(event: WireEvent): RecordedEvent | undefined {
    countInLog('event_received')
    const position = positionOf(event)
    if (this.#checkpoint !== undefined && comparePositions(position, this.#checkpoint) <= 0) return undefined
    this.#checkpoint = position
    const recorded = toRecordedEvent(event)
    return this.options.filter.matches(recorded.stream) ? recorded : undefined
  }

  /** Processes a message without an event. Returns whether it ends the page. */
  #note(response: ReadResp): boolean {
    const checkpoint = response.getCheckpoint()
    if (checkpoint !== undefined) {
      this.#checkpoint = latest(this.#checkpoint, positionOf(checkpoint))
      this.#checkpoints += 1
      // The first checkpoint follows the first event.
      return this.#checkpoints > 1
    }
    if (response.hasFellBehind()) this.#caughtUp = false
    if (!response.hasCaughtUp()) return false
    this.#caughtUp = true
    this.#checkpoint = latest(this.#checkpoint, this.options.end)
    return true
  }
}
