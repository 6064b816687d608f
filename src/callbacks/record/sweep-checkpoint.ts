import { appendToEnd } from '../../commands/write-contention.js'
import { callbackSweepStream } from '../../domain/streams.js'
import { type EventData, encodeEvent } from '../../event-store/event-codec.js'
import type { EventStore, Position, RecordedEvent } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'

const stream = callbackSweepStream
/** The stream grows by one small event in this time at most. */
const keepEveryMs = 60_000

type Kept = EventData<'CallbackSweepAdvanced'>['event'] | undefined

/**
 * How far the sweep has come, kept in the log: it must not be lost with a read model or a subscription. It is kept as the last
 * event seen, whose position is looked up when it is loaded: one that another engine gave it would be refused by EventStoreDB,
 * as no event starts there, or lie beyond the end, where everything would pass unseen.
 */
export class SweepCheckpoint {
  private keptAtMs = 0
  private lastEvent: Kept

  private constructor(
    private readonly store: EventStore,
    private readonly clock: () => string,
    private kept: Kept,
    private reached: Position | undefined,
  ) {
    this.lastEvent = kept
  }

  /** One that cannot be read is none: everything is looked at once more, and every other checkpoint is kept behind it. @throws StoreUnavailableError */
  static async load(store: EventStore, clock: () => string): Promise<SweepCheckpoint> {
    const [last] = await store.readStream(stream, { direction: 'backwards', maxCount: 1 })
    const kept = last && keptIn(last)
    const seen = kept && (await store.readStream(kept.stream, { fromRevision: kept.revision, maxCount: 1 }))[0]
    return new SweepCheckpoint(store, clock, kept, seen?.position)
  }

  get position(): Position | undefined {
    return this.reached
  }

  /** Everything up to and including `position` is recorded; `events` are those looked at on the way. */
  advance(position: Position, events: readonly RecordedEvent[]): void {
    this.reached = position
    const last = events.at(-1)
    if (last) this.lastEvent = { stream: last.stream, revision: last.revision }
  }

  /**
   * Records the checkpoint once a minute, or immediately if `now` is true. A process that has lost its lease records once more when it
   * ends, so the checkpoint is appended after whatever the stream contains. @throws StoreUnavailableError, TooMuchContentionError
   */
  async keep(options: { readonly now: boolean }): Promise<void> {
    const at = this.clock()
    const lastEvent = this.lastEvent
    if (!lastEvent || (lastEvent.stream === this.kept?.stream && lastEvent.revision === this.kept.revision)) return
    if (!options.now && Date.parse(at) - this.keptAtMs < keepEveryMs) return
    const metadata = { actor: 'system:callbacks', $correlationId: stream, $causationId: stream }
    const event = encodeEvent({ type: 'CallbackSweepAdvanced', data: { event: lastEvent, at } }, metadata)
    await appendToEnd(this.store, stream, event)
    this.kept = lastEvent
    this.keptAtMs = Date.parse(at)
  }
}

function keptIn(recorded: RecordedEvent): Kept {
  const event = readableEvent(recorded)
  return event?.type === 'CallbackSweepAdvanced' ? event.data.event : undefined
}
