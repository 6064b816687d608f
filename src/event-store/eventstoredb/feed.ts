import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import { comparePositions, type Page, type Position, type RecordedEvent } from '../event-store.js'
import type { Incoming } from './incoming.js'
import type { RawClient } from './raw-client.js'
import { positionOf, sizeOf, toRecordedAsStored, toRecordedEvent, type WireEvent } from './recorded-event.js'
import { lastEventRequest, subscribeRequest } from './requests.js'
import type { StreamFilter } from './stream-filter.js'

/** A page ends with the event that reaches it: 500 of a megabyte each would not fit the memory of a small machine. */
const pageBytes = 8 * 1024 * 1024

/** Of the last event of all streams; undefined on an empty log. */
export async function lastPosition(client: RawClient): Promise<Position | undefined> {
  const [last] = await client.readEvents('reading the end of the log', lastEventRequest())
  return last && positionOf(last)
}

function later(a: Position | undefined, b: Position | undefined): Position | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return comparePositions(a, b) < 0 ? b : a
}

export interface FeedOptions {
  readonly after: Position | undefined
  /** The end of the log as it was before; what is said of the end holds for this place at least. */
  readonly end: Position | undefined
  readonly filter: StreamFilter
  readonly pageSize: number
  readonly includeStored?: true | undefined
}

/**
 * Pages made of a subscription to the whole log. A read would do for what is already there, but has no checkpoints: one that
 * filtered everything out for a long time would have to start over after a broken connection.
 */
export class Feed {
  #checkpoint: Position | undefined
  #caughtUp = false
  #checkpoints = 0

  private constructor(
    private readonly answers: Incoming<ReadResp>,
    private readonly options: FeedOptions,
  ) {
    this.#checkpoint = options.after
  }

  static async open(client: RawClient, options: FeedOptions): Promise<Feed> {
    return new Feed(await client.read('following the log', subscribeRequest(options.after, options.filter)), options)
  }

  /**
   * The next page: a full one, or, at the end, what there is; an empty one when the end is first reached, and when many events
   * were filtered out. Undefined when it was cancelled. @throws what the call ended with
   */
  async next(): Promise<Page | undefined> {
    const events: RecordedEvent[] = []
    let bytes = 0
    const page = (): Page => {
      const atEnd = this.#caughtUp && this.answers.isDrained
      return { events, atEnd, ...(this.#checkpoint && { checkpoint: this.#checkpoint }) }
    }
    for (;;) {
      const answer = this.answers.take()
      if (answer === undefined) {
        if (this.#caughtUp && events.length > 0) return page()
        // At the end of the log it is quiet; before, a server that says nothing is unavailable.
        if (!(await this.answers.more(this.#caughtUp))) return undefined
        continue
      }
      const event = answer.getEvent()?.getEvent()
      if (event !== undefined) {
        const recorded = this.#accepted(event)
        if (recorded === undefined) continue
        events.push(recorded)
        bytes += sizeOf(event)
        if (events.length >= this.options.pageSize || bytes >= pageBytes) return page()
      } else if (this.#note(answer)) return page()
    }
  }

  cancel(): void {
    this.answers.cancel()
  }

  /** Undefined for what is not wanted, and for what was there before: a position behind the end is taken for the end by the server. */
  #accepted(event: WireEvent): RecordedEvent | undefined {
    const position = positionOf(event)
    if (this.#checkpoint !== undefined && comparePositions(position, this.#checkpoint) <= 0) return undefined
    this.#checkpoint = position
    const recorded = this.options.includeStored ? toRecordedAsStored(event) : toRecordedEvent(event)
    return this.options.filter.matches(recorded.stream) ? recorded : undefined
  }

  /** What is no event. True when it ends the page. */
  #note(answer: ReadResp): boolean {
    const checkpoint = answer.getCheckpoint()
    if (checkpoint !== undefined) {
      this.#checkpoint = later(this.#checkpoint, positionOf(checkpoint))
      this.#checkpoints += 1
      // The first comes after one event already.
      return this.#checkpoints > 1
    }
    if (answer.hasFellBehind()) this.#caughtUp = false
    if (!answer.hasCaughtUp()) return false
    this.#caughtUp = true
    this.#checkpoint = later(this.#checkpoint, this.options.end)
    return true
  }
}
