import { appendToEnd } from '../../commands/handle-command.js'
import { callbackSweepStream } from '../../domain/streams.js'
import { type EventData, encodeEvent } from '../../event-store/event-codec.js'
import type { EventStore, Position, RecordedEvent } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'
import type { Clock } from '../../kernel/clock.js'

const stream = callbackSweepStream
/** Limits the growth of the stream to one small event in this time. */
const saveEveryMs = 60_000

type EventPlace = EventData<'CallbackSweepAdvanced'>['event'] | undefined

/**
 * The sweep's checkpoint. It is stored in the log, so that it is not lost with a read model or a subscription. It names the last event
 * rather than its position, because a position is only valid in its own engine: after a move to a different engine, EventStoreDB would
 * reject the position, or it would be after the end of the log and the sweep would miss events.
 */
export class SweepCheckpoint {
  #savedAtMs = 0
  #lastEvent: EventPlace

  private constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
    private saved: EventPlace,
    private reached: Position | undefined,
  ) {
    this.#lastEvent = saved
  }

  /** Ignores an unreadable checkpoint: the sweep then starts at the beginning of the log. @throws StoreUnavailableError */
  static async load(store: EventStore, clock: Clock): Promise<SweepCheckpoint> {
    const [last] = await store.readStream(stream, { direction: 'backwards', maxCount: 1 })
    const saved = last && placeIn(last)
    const event = saved && (await store.readStream(saved.stream, { fromRevision: saved.revision, maxCount: 1 }))[0]
    return new SweepCheckpoint(store, clock, saved, event?.position)
  }

  get position(): Position | undefined {
    return this.reached
  }

  /** Sets the position up to which all callbacks are recorded. `events` are the events that were read on the way. */
  advance(position: Position, events: readonly RecordedEvent[]): void {
    this.reached = position
    const last = events.at(-1)
    if (last) this.#lastEvent = { stream: last.stream, revision: last.revision }
  }

  /**
   * Saves the checkpoint at most once a minute, or immediately if `now` is true. It is appended at the end of the stream regardless of the
   * stream's revision, because a process that has lost its lease saves its checkpoint when it ends.
   * @throws StoreUnavailableError, TooMuchContentionError
   */
  async save(options: { readonly now: boolean }): Promise<void> {
    const at = this.clock()
    const lastEvent = this.#lastEvent
    if (!lastEvent || (lastEvent.stream === this.saved?.stream && lastEvent.revision === this.saved.revision)) return
    if (!options.now && Date.parse(at) - this.#savedAtMs < saveEveryMs) return
    const metadata = { actor: 'system:callbacks', $correlationId: stream, $causationId: stream }
    const event = encodeEvent({ type: 'CallbackSweepAdvanced', data: { event: lastEvent, at } }, metadata)
    await appendToEnd(this.store, stream, event)
    this.saved = lastEvent
    this.#savedAtMs = Date.parse(at)
  }
}

function placeIn(recorded: RecordedEvent): EventPlace {
  const event = readableEvent(recorded)
  return event?.type === 'CallbackSweepAdvanced' ? event.data.event : undefined
}
