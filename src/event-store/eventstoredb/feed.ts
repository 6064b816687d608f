import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import { comparePositions, type Page, type Position, type RecordedEvent } from '../event-store.js'
import type { Incoming } from './incoming.js'
import type { RawClient } from './raw-client.js'
import { positionOf, sizeOf, toRecordedAsStored, toRecordedEvent, type WireEvent } from './recorded-event.js'
import { lastEventRequest, subscribeRequest } from './requests.js'
import type { StreamFilter } from './stream-filter.js'

/** The size at which a page ends: 500 events of a megabyte each would not fit into the memory of a small machine. */
const pageBytes = 8 * 1024 * 1024

/** Returns the position of the last event of all streams, or `undefined` if the log is empty. */
export async function lastPosition(client: RawClient): Promise<Position | undefined> {
  const [last] = await client.readEvents('reading the end of the log', lastEventRequest())
  return last && positionOf(last)
}

function latest(a: Position | undefined, b: Position | undefined): Position | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return comparePositions(a, b) < 0 ? b : a
}

export interface FeedOptions {
  readonly after: Position | undefined
  /** The end of the log before the subscription. A page at the end covers at least this position. */
  readonly end: Position | undefined
  readonly filter: StreamFilter
  readonly pageSize: number
  readonly includeStored?: true | undefined
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
   * filtered events. Returns `undefined` after a cancellation. @throws the error of the call
   */
  async next(): Promise<Page | undefined> {
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
        if (!(await this.responses.more(this.#caughtUp))) return undefined
        continue
      }
      const event = response.getEvent()?.getEvent()
      if (event !== undefined) {
        const recorded = this.#accepted(event)
        if (recorded === undefined) continue
        events.push(recorded)
        bytes += sizeOf(event)
        if (events.length >= this.options.pageSize || bytes >= pageBytes) return page()
      } else if (this.#note(response)) return page()
    }
  }

  cancel(): void {
    this.responses.cancel()
  }

  /** Returns `undefined` for events that do not match or were read before: the server replaces a position after the end by the end. */
  #accepted(event: WireEvent): RecordedEvent | undefined {
    const position = positionOf(event)
    if (this.#checkpoint !== undefined && comparePositions(position, this.#checkpoint) <= 0) return undefined
    this.#checkpoint = position
    const recorded = this.options.includeStored ? toRecordedAsStored(event) : toRecordedEvent(event)
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
