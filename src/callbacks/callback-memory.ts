import type { LoadedLane } from '../commands/callback/callback-commands.js'
import { callbackDecider } from '../domain/callback.js'
import { skippedEventsStream, streamPrefix } from '../domain/streams.js'
import type { Transfer, TransferState } from '../domain/transfer/transfer.js'
import { transferDecider } from '../domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import type { EventMetadata } from '../event-store/event-codec.js'
import { comparePositions, type Page, type Position, type RecordedEvent } from '../event-store/event-store.js'
import { evolved, foldEvent, readEvent } from '../event-store/read-event.js'
import { boundedCache } from '../kernel/bounded-cache.js'
import { pause } from '../subscriptions/retry.js'

/** A change of a transfer that triggers a callback. */
export interface Change {
  readonly event: Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'metadata'>
  /** The transfer's state after the event. */
  readonly transfer: Transfer
}

/** The fold of a transfer's events, with the changes that trigger callbacks. */
export class TransferChanges {
  readonly all: Change[] = []
  /** The revision of the last event; -1 before the first. */
  revision = -1
  #state: TransferState = transferDecider.initialState

  /** @throws UnreadableEventError */
  add(recorded: RecordedEvent): void {
    const { id, stream, revision, metadata } = recorded
    this.revision = revision
    const event = readEvent(recorded) as TransferEvent | undefined
    if (!event) return
    const before = this.#state
    const transfer = evolved(transferDecider.evolve, before, recorded, event)
    if (transfer.kind === 'none') throw new Error(`${stream}@${revision} left no transfer`)
    this.#state = transfer
    if (triggersCallback(event, before, transfer))
      this.all.push({ event: { id, stream, revision, metadata }, transfer })
  }
}

/** Decides by the event alone. By the current settings, a merchant that enables callbacks for creations would receive old ones. */
function triggersCallback(event: TransferEvent, before: TransferState, after: Transfer): boolean {
  if (event.type === 'DepositCreated' || event.type === 'WithdrawalCreated') return event.data.told
  return before.kind !== 'none' && before.status !== after.status
}

/** The streams that a follower passes to {@link CallbackMemory.take}. */
export const rememberedPrefixes = [streamPrefix.transfer, streamPrefix.callback, skippedEventsStream]

/** Each takes about a kilobyte. */
const maxTransfers = 10_000
const maxLanes = 10_000
/** The subscription usually delivers an event some milliseconds before or after the follower. */
const maxWaitMs = 1_000

interface KnownLane extends LoadedLane {
  readonly revision: number
  readonly causes: Map<string, EventMetadata>
}

/**
 * The newest transfers and lanes, folded from the events that one holder of the lease follows, so that a callback that succeeds at the
 * first attempt needs no read of a stream. It contains everything that was followed, so an append to a lane that it shows in an outdated
 * state conflicts, and the lane is read then.
 */
export class CallbackMemory {
  readonly #transfers = boundedCache<TransferChanges>(maxTransfers)
  readonly #lanes = boundedCache<KnownLane>(maxLanes)
  readonly #waiting = new Map<AbortController, Position>()

  /** `through` is the position up to which everything is known or must be read: at first, where following starts. */
  constructor(public through: Position | undefined) {}

  /** Takes the next page of the streams in {@link rememberedPrefixes}. */
  take({ events, checkpoint = this.through }: Page): void {
    for (const event of events) {
      if (event.stream.startsWith(streamPrefix.transfer)) this.#takeOfTransfer(event)
      else if (event.stream.startsWith(streamPrefix.callback)) this.#takeOfLane(event)
      else {
        // A decision to skip an event changes what its stream means.
        this.#transfers.clear()
        this.#lanes.clear()
      }
    }
    this.through = checkpoint
    for (const [waiting, position] of this.#waiting) if (!this.#isAhead(position)) waiting.abort()
  }

  /** Returns the changes of a transfer up to an event, or `undefined` if its stream must be read. Waits until the event is followed. */
  async changesUpTo({ stream, revision, position }: RecordedEvent): Promise<readonly Change[] | undefined> {
    if (this.#isAhead(position)) {
      const waiting = new AbortController()
      this.#waiting.set(waiting, position)
      await pause(maxWaitMs, waiting.signal)
      this.#waiting.delete(waiting)
    }
    const known = this.#transfers.get(stream)
    return known && known.revision >= revision ? known.all.filter(({ event }) => event.revision <= revision) : undefined
  }

  lane(trackingId: string): LoadedLane | undefined {
    return this.#lanes.get(trackingId)
  }

  /** Keeps a lane that was read or changed, unless a newer state is known. */
  keep(trackingId: string, { state, revision, causes }: LoadedLane): void {
    const known = this.#lanes.get(trackingId)
    if (typeof revision !== 'number' || (known && known.revision > revision)) return
    this.#lanes.set(trackingId, { state, revision, causes: new Map([...(known?.causes ?? []), ...causes]) })
  }

  #isAhead(position: Position): boolean {
    return this.through === undefined || comparePositions(position, this.through) > 0
  }

  #takeOfTransfer(event: RecordedEvent): void {
    const { stream, revision } = event
    const known = revision === 0 ? new TransferChanges() : this.#transfers.get(stream)
    if (!known || revision <= known.revision) return
    try {
      known.add(event)
      if (revision === 0) this.#transfers.set(stream, known)
    } catch {
      // Whoever reads the stream reports the unreadable event.
      this.#transfers.delete(stream)
    }
  }

  #takeOfLane(event: RecordedEvent): void {
    const { revision, type, metadata } = event
    const trackingId = event.stream.slice(streamPrefix.callback.length)
    const known = this.#lanes.get(trackingId)
    const { state, causes } = known ?? { state: callbackDecider.initialState, causes: new Map() }
    if (type === 'CallbackRecorded') causes.set(String(event.data.webhookId), metadata as EventMetadata)
    if (known && revision <= known.revision) return
    try {
      if (revision === (known?.revision ?? -1) + 1)
        this.#lanes.set(trackingId, { state: foldEvent(callbackDecider.evolve, state, event), revision, causes })
    } catch {
      this.#lanes.delete(trackingId)
    }
  }
}
