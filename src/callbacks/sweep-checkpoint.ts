import type { CallbackSweepAdvanced } from '../domain/callback/events.js'
import { decodeEvent, encodeEvent } from '../event-store/event-codec.js'
import {
  type EventStore,
  type ExpectedRevision,
  formatPosition,
  type Position,
  parsePosition,
  type RecordedEvent,
} from '../event-store/event-store.js'

const stream = 'callbacks-sweep'
/** The stream grows by one small event in this time at most. */
const keepEveryMs = 60_000

/** How far the sweep has come, kept in the log: it must not be lost with a read model or a subscription. */
export class SweepCheckpoint {
  private keptAtMs = 0

  private constructor(
    private readonly store: EventStore,
    private readonly clock: () => string,
    private revision: ExpectedRevision,
    private kept: Position | undefined,
    private reached: Position | undefined,
  ) {}

  /** @throws StoreUnavailableError, EventFormatError */
  static async load(store: EventStore, clock: () => string): Promise<SweepCheckpoint> {
    const last = await lastEvent(store)
    const position = last && parsePosition((decodeEvent(last) as unknown as CallbackSweepAdvanced).data.position)
    return new SweepCheckpoint(store, clock, last?.revision ?? 'no_stream', position, position)
  }

  get position(): Position | undefined {
    return this.reached
  }

  /** Everything up to and including `position` is recorded. */
  advance(position: Position): void {
    this.reached = position
  }

  /**
   * Writes it down, once a minute or when `now`. @throws StoreUnavailableError, and WrongExpectedRevisionError when another
   * process sweeps
   */
  async keep(options: { readonly now: boolean }): Promise<void> {
    const at = this.clock()
    const { reached } = this
    if (!reached || (this.kept && formatPosition(reached) === formatPosition(this.kept))) return
    if (!options.now && Date.parse(at) - this.keptAtMs < keepEveryMs) return
    const data = { position: formatPosition(reached), at }
    const metadata = { actor: 'system:callbacks', $correlationId: stream, $causationId: stream }
    const { revision } = await this.store.append(stream, this.revision, [
      encodeEvent({ type: 'CallbackSweepAdvanced', data }, metadata),
    ])
    this.revision = revision
    this.kept = reached
    this.keptAtMs = Date.parse(at)
  }
}

/** Doubles its steps until it is beyond the end, then halves them: twenty small reads in a stream of a million. */
async function lastEvent(store: EventStore): Promise<RecordedEvent | undefined> {
  const at = async (revision: number) => (await store.readStream(stream, { fromRevision: revision, maxCount: 1 }))[0]
  let last = await at(0)
  let step = 1
  while (last) {
    const further = await at(last.revision + step)
    if (further) {
      last = further
      step *= 2
    } else if (step === 1) return last
    else step = Math.ceil(step / 2)
  }
  return last
}
