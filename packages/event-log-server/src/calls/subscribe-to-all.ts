import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import { status } from '@grpc/grpc-js'
import type { StoredEvent } from '@transferd/event-log/streams'
import { positionText } from '@transferd/event-log/streams'
import { matcherOf, parseFilter } from '../filters/event-filter.js'
import { CallError, unexpectedError } from '../wire/call-error.js'
import { streams } from '../wire/generated-protocol.js'
import { parsePosition } from '../wire/wire-values.js'
import type { ServerContext } from './call-handlers.js'
import { caughtUp, confirmation, fellBehind, pageEvents, type ReadContext } from './read-context.js'

const defaultWindow = 32
/** The number of matching events per read of the recorded server. */
const readMatches = 32
/** The number of messages that EventStoreDB buffers for a live subscription. */
const liveBufferSize = 32

/** Sends the log's events after a position, filtered or not, and then new events until the client disconnects. */
export async function subscribeToAll(
  { store, onLiveBurst }: Pick<ServerContext, 'store' | 'onLiveBurst'>,
  { reader, writer, signal, send, matching }: ReadContext,
  from: ReadReq.Options.AllOptions,
  options: ReadReq.Options.FilterOptions | undefined,
): Promise<void> {
  const filter = parseFilter(options)
  const matcher = filter && matcherOf(filter, matching)
  let next = startPosition(from, reader.lastPosition())
  const checkpoints = options && new FilterCheckpoints(options, next)
  if (next > reader.lastPosition()) checkpoints?.goLive()
  writer.write(confirmation())
  let hasCaughtUp = false
  while (!signal.aborted) {
    const events = reader.allPage('forwards', next, pageEvents)
    if (onLiveBurst !== undefined && hasCaughtUp && events.length > liveBufferSize) {
      if (onLiveBurst === 'drop') throw tooSlow()
      hasCaughtUp = false
      writer.write(fellBehind())
    }
    const matches = await matcher?.(events)
    for (const [i, event] of events.entries()) {
      const isMatch = matches?.[i] !== false
      if (isMatch && !send(event) && !(await writer.drained())) return
      const checkpoint = checkpoints?.pass(event, isMatch)
      if (checkpoint && !writer.write(checkpoint) && !(await writer.drained())) return
      next = event.position + 1
    }
    if (events.length > 0) {
      await new Promise(setImmediate) // give other calls a turn: without a match, nothing else waits for the client
      continue
    }
    if (!hasCaughtUp) {
      hasCaughtUp = true
      checkpoints?.goLive()
      writer.write(caughtUp())
    }
    await store.waitForCommit(next - 1, signal)
  }
}

function tooSlow(): CallError {
  const reason = 'Consumer too slow to handle event while live. Client resubscription required.'
  return new CallError(status.ABORTED, `Operation timed out: ${reason}`)
}

/** Returns the first position to send. A requested position is exclusive, and one after the end counts as the end. */
function startPosition(from: ReadReq.Options.AllOptions, last: number): number {
  if (from.hasStart()) return 1
  const position = from.getPosition()
  if (position === undefined) return last + 1
  const requested = parsePosition(position.getCommitPosition(), position.getPreparePosition(), last)
  switch (requested) {
    case 'invalid':
      throw unexpectedError()
    case 'start':
      return 1
    case 'end':
    case 'after_end':
      return last + 1
    default:
      return requested + 1
  }
}

/**
 * The checkpoints of a filtered subscription, which report the scan's progress to the client like the recorded server. While the
 * subscription catches up, the server scans pages: a window of events, or fewer if enough of them match to fill a read. It counts the
 * events of each page, matching or not. When the count reaches the interval, a checkpoint follows the page, with the position of its
 * last match, or of its start if nothing matched. The page at the end of the log has no checkpoint, but its events count. In a live
 * subscription, a checkpoint follows the event that completes the interval.
 */
class FilterCheckpoints {
  readonly #window: number
  readonly #interval: number
  /** The number of events since the last checkpoint, without those of the current page. */
  #count = 0
  #page: { readonly from: number; scanned: number; matched: number; lastMatch: number | undefined } | undefined

  /** @param from The first position to scan. */
  constructor(options: ReadReq.Options.FilterOptions, from: number) {
    this.#window = Math.max(1, options.hasMax() ? options.getMax() : defaultWindow)
    this.#interval = this.#window * Math.max(1, options.getCheckpointintervalmultiplier())
    this.#page = newPage(from)
  }

  goLive(): void {
    this.#count += this.#page?.scanned ?? 0
    this.#page = undefined
  }

  /** Returns the checkpoint to send after an event, if there is one. */
  pass({ position }: StoredEvent, isMatch: boolean): ReadResp | undefined {
    const page = this.#page
    if (page === undefined) {
      this.#count += 1
      if (this.#count < this.#interval) return undefined
      this.#count = 0
      return checkpointAt(position, positionText(position))
    }
    page.scanned += 1
    if (isMatch) {
      page.matched += 1
      page.lastMatch = position
    }
    if (page.scanned < this.#window && page.matched < readMatches) return undefined
    this.#page = newPage(position + 1)
    this.#count += page.scanned
    if (this.#count < this.#interval) return undefined
    this.#count %= this.#interval
    // The start of a page is after one event and before the next one. Such a position has no prepare half.
    return page.lastMatch === undefined
      ? checkpointAt(page.from === 1 ? 0 : page.from, '0')
      : checkpointAt(page.lastMatch, positionText(page.lastMatch))
  }
}

function newPage(from: number) {
  return { from, scanned: 0, matched: 0, lastMatch: undefined as number | undefined }
}

function checkpointAt(position: number, prepare: string): ReadResp {
  const checkpoint = new streams.ReadResp.Checkpoint().setCommitPosition(positionText(position))
  return new streams.ReadResp().setCheckpoint(checkpoint.setPreparePosition(prepare))
}
