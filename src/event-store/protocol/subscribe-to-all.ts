import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import { positionText } from '../embedded/streams/shown-position.js'
import type { StoredEvent } from '../embedded/streams/stream-reader.js'
import type { StreamStore } from '../embedded/streams/stream-store.js'
import { unforeseen } from './call-error.js'
import { filterSpecOf, matcherOf } from './event-filter.js'
import { streams } from './generated.js'
import type { Reading } from './read-call.js'
import { caughtUp, confirmation } from './subscribe-to-stream.js'
import { placeOf } from './wire.js'

const pageEvents = 200
const defaultWindow = 32

/** The whole log from behind a position on, filtered or not, and then what comes, until the client goes. */
export async function subscribeToAll(
  store: StreamStore,
  { reader, outlet, signal, send }: Reading,
  from: ReadReq.Options.AllOptions,
  filter: ReadReq.Options.FilterOptions | undefined,
): Promise<void> {
  const spec = filterSpecOf(filter)
  const matches = spec && matcherOf(spec)
  const checkpoints = filter && new Checkpoints(filter)
  let next = firstPosition(from, reader.lastPosition())
  outlet.write(confirmation())
  let hasCaughtUp = false
  while (!signal.aborted) {
    const events = reader.allPage('forwards', next, pageEvents)
    const wanted = matches?.(events)
    for (const [i, event] of events.entries()) {
      if (wanted?.[i] !== false && !send(event) && !(await outlet.drained())) return
      const checkpoint = checkpoints?.passed(event)
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
 * Tells a filtering client how far the log has been looked at. Windows of events are counted, matching or not; of
 * every so many windows one is told: by its first event while catching up, by its last one later.
 */
class Checkpoints {
  readonly #window: number
  readonly #interval: number
  #count = 0
  #isLive = false

  constructor(filter: ReadReq.Options.FilterOptions) {
    this.#window = Math.max(1, filter.hasMax() ? filter.getMax() : defaultWindow)
    this.#interval = Math.max(1, filter.getCheckpointintervalmultiplier())
  }

  goneLive(): void {
    this.#isLive = true
    this.#count = 0
  }

  /** The checkpoint to be sent behind this event, if any. */
  passed({ position }: StoredEvent): ReadResp | undefined {
    this.#count += 1
    const every = this.#window * this.#interval
    const isDue = this.#isLive
      ? this.#count % every === 0
      : (this.#count - 1) % every === (this.#interval - 1) * this.#window
    if (!isDue) return undefined
    const checkpoint = new streams.ReadResp.Checkpoint().setCommitPosition(positionText(position))
    checkpoint.setPreparePosition(this.#isLive ? positionText(position) : '0')
    return new streams.ReadResp().setCheckpoint(checkpoint)
  }
}
