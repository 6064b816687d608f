import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { StoredEvent, StreamStore } from '@transferd/event-log/streams'
import { positionText } from '@transferd/event-log/streams'
import { filterSpecOf, matcherOf } from '../filters/event-filter.js'
import { unforeseen } from '../wire/call-error.js'
import { streams } from '../wire/generated-protocol.js'
import { placeOf } from '../wire/wire-values.js'
import { caughtUp, confirmation, pageEvents, type Reading } from './read-output.js'

const defaultWindow = 32
/** Matching events of one read of the recorded server. */
const readMatches = 32

/** The whole log from behind a position on, filtered or not, and then what comes, until the client goes. */
export async function subscribeToAll(
  store: StreamStore,
  { reader, outlet, signal, send, matching }: Reading,
  from: ReadReq.Options.AllOptions,
  filter: ReadReq.Options.FilterOptions | undefined,
): Promise<void> {
  const spec = filterSpecOf(filter)
  const matches = spec && matcherOf(spec, matching)
  let next = firstPosition(from, reader.lastPosition())
  const checkpoints = filter && new Checkpoints(filter, next)
  if (next > reader.lastPosition()) checkpoints?.goneLive()
  outlet.write(confirmation())
  let hasCaughtUp = false
  while (!signal.aborted) {
    const events = reader.allPage('forwards', next, pageEvents)
    const wanted = await matches?.(events)
    for (const [i, event] of events.entries()) {
      if (wanted?.[i] !== false && !send(event) && !(await outlet.drained())) return
      const checkpoint = checkpoints?.passed(event, wanted?.[i] !== false)
      if (checkpoint && !outlet.write(checkpoint) && !(await outlet.drained())) return
      next = event.position + 1
    }
    if (events.length > 0) {
      await new Promise(setImmediate) // where nothing matches nothing waits for the client: others have their turn
      continue
    }
    if (!hasCaughtUp) {
      hasCaughtUp = true
      checkpoints?.goneLive()
      outlet.write(caughtUp())
    }
    await store.waitForCommit(next - 1, signal)
  }
}

/** A position is excluded. Beyond the end counts as the end. */
function firstPosition(from: ReadReq.Options.AllOptions, last: number): number {
  const position = from.getPosition()
  if (from.hasStart()) return 1
  if (position === undefined) return last + 1
  const place = placeOf(position.getCommitPosition(), position.getPreparePosition(), last)
  switch (place) {
    case 'none':
      throw unforeseen()
    case 'start':
      return 1
    case 'end':
    case 'beyond':
      return last + 1
    default:
      return place + 1
  }
}

/**
 * Tells a filtering client how far the log has been looked at, as the recorded server does. While it catches up it looks at pages:
 * a window of events, or fewer when so many match that they fill a read. Their events are counted, matching or not, and when the
 * count has come to the interval a page's end tells of its last match, or of its beginning where nothing matched. The page at the
 * end of the log tells nothing, but its events count on: live, the event that completes the interval is told.
 */
class Checkpoints {
  readonly #window: number
  readonly #interval: number
  /** Events since the last checkpoint, those of the page left out. */
  #count = 0
  #page: { readonly from: number; looked: number; matched: number; lastMatch: number | undefined } | undefined

  /** @param from the first position that is looked at */
  constructor(filter: ReadReq.Options.FilterOptions, from: number) {
    this.#window = Math.max(1, filter.hasMax() ? filter.getMax() : defaultWindow)
    this.#interval = this.#window * Math.max(1, filter.getCheckpointintervalmultiplier())
    this.#page = pageFrom(from)
  }

  goneLive(): void {
    this.#count += this.#page?.looked ?? 0
    this.#page = undefined
  }

  /** The checkpoint to be sent behind this event, if any. */
  passed({ position }: StoredEvent, isMatch: boolean): ReadResp | undefined {
    if (this.#page === undefined) return this.#passedLive(position)
    const page = this.#page
    page.looked += 1
    if (isMatch) {
      page.matched += 1
      page.lastMatch = position
    }
    if (page.looked < this.#window && page.matched < readMatches) return undefined
    this.#page = pageFrom(position + 1)
    this.#count += page.looked
    if (this.#count < this.#interval) return undefined
    this.#count %= this.#interval
    // The beginning of a page is behind an event, and not yet the next one: such a place has no prepare half.
    return page.lastMatch === undefined
      ? checkpointAt(page.from === 1 ? 0 : page.from, '0')
      : checkpointAt(page.lastMatch, positionText(page.lastMatch))
  }

  #passedLive(position: number): ReadResp | undefined {
    this.#count += 1
    if (this.#count < this.#interval) return undefined
    this.#count = 0
    return checkpointAt(position, positionText(position))
  }
}

function pageFrom(from: number) {
  return { from, looked: 0, matched: 0, lastMatch: undefined as number | undefined }
}

function checkpointAt(position: number, prepare: string): ReadResp {
  const checkpoint = new streams.ReadResp.Checkpoint().setCommitPosition(positionText(position))
  return new streams.ReadResp().setCheckpoint(checkpoint.setPreparePosition(prepare))
}
