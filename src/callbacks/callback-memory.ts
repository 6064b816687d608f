import type { LoadedLane } from '../commands/callback/callback-commands.js'
import { emptyStream, type Loaded, oneAtATime } from '../commands/handle-command.js'
import { callbackDecider, type Lane, nextDelivery } from '../domain/callback.js'
import { skippedEventsStream, streamPrefix } from '../domain/streams.js'
import type { Transfer, TransferState } from '../domain/transfer/transfer.js'
import { transferDecider } from '../domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import type { EventMetadata } from '../event-store/event-codec.js'
import { comparePositions, type Page, type Position, type RecordedEvent } from '../event-store/event-store.js'
import { evolved, foldEvent, readEvent } from '../event-store/read-event.js'
import { boundedCache, sizedCache } from '../kernel/bounded-cache.js'
import { estimatedBytes } from '../kernel/memory-size.js'
import { pause } from '../subscriptions/retry.js'
import { isSilentCreation, triggersCallback } from './callback-trigger.js'
import { type EventOfTransfer, UnrecordedEvents } from './record/unrecorded-events.js'

/** A change of a transfer that triggers a callback. */
export interface Change {
  readonly event: Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'type' | 'metadata'>
  /** The transfer's state after the event. */
  readonly transfer: Transfer
}

/** The fold of a transfer's events, with the changes that trigger callbacks. */
export class TransferChanges {
  readonly all: Change[] = []
  /** The revision of the last event; -1 before the first. */
  revision = -1
  #state: TransferState = transferDecider.initialState

  /** The estimated memory. The states share the metadata, the largest part of a transfer, so it is counted once. */
  get bytes(): number {
    let bytes = estimatedBytes(metadataIn(this.#state))
    if (this.all.at(-1)?.transfer !== this.#state) bytes += bytesWithoutMetadata(this.#state)
    for (const { event, transfer } of this.all) bytes += estimatedBytes(event) + bytesWithoutMetadata(transfer)
    return bytes
  }

  /** @throws UnreadableEventError */
  add(recorded: RecordedEvent): void {
    const { id, stream, revision, type, metadata } = recorded
    this.revision = revision
    const event = readEvent(recorded) as TransferEvent | undefined
    if (!event) return
    const before = this.#state
    const transfer = evolved(transferDecider.evolve, before, recorded, event)
    if (transfer.kind === 'none') throw new Error(`${stream}@${revision} left no transfer`)
    this.#state = transfer
    if (triggersCallback(recorded, before, transfer))
      this.all.push({ event: { id, stream, revision, type, metadata }, transfer })
  }
}

function metadataIn(state: TransferState): unknown {
  return state.kind === 'none' ? null : state.metadata
}

function bytesWithoutMetadata(state: TransferState): number {
  return estimatedBytes(state) - estimatedBytes(metadataIn(state))
}

/** The streams that a follower passes to {@link CallbackMemory.take}. */
export const rememberedPrefixes = [streamPrefix.transfer, streamPrefix.callback, skippedEventsStream]

/** Ten thousand transfers without metadata, of about three kilobytes by the estimate, or more than a thousand with the most metadata. */
const maxTransferBytes = 32 * 1024 * 1024
/** Each takes about a kilobyte, regardless of the transfer's metadata. */
const maxLanes = 10_000
/** Far more than the changes of one transfer that are recorded together. */
const maxWaitingAppends = 1_000
/** The subscription usually delivers an event some milliseconds before or after the follower, on a busy machine seconds. */
const defaultMaxWaitMs = 5_000

interface KnownLane {
  /** The revision of the last event that was followed, which may be newer than `lane`; -1 before the first. */
  readonly followed: number
  /** The lane at its revision. It contains everything that this process has sent. */
  readonly lane?: LoadedLane | undefined
  /**
   * The lane after the last append of this process, for further appends only: if an earlier process had recorded a callback, recording it
   * again succeeds without a change, and the callback may have been delivered since.
   */
  readonly appended?: Loaded<Lane> | undefined
}

/**
 * The newest transfers and lanes, folded from the events that one holder of the lease follows and appends, so that a callback that succeeds
 * at the first attempt needs no read of a stream. Unknown or outdated states only cost a read: an append at an outdated revision conflicts.
 */
export class CallbackMemory {
  readonly #transfers = sizedCache<TransferChanges>(maxTransferBytes, ({ bytes }) => bytes)
  readonly #lanes = boundedCache<KnownLane>(maxLanes)
  readonly #turns = oneAtATime(maxWaitingAppends)
  /** The events that the sweep still has to record. */
  readonly unrecorded: UnrecordedEvents
  /** Ends the wait for the next page, which all recordings share. */
  #nextPage: { readonly taken: AbortController; readonly wait: Promise<void> } | undefined
  #hasEnded = false

  /** `through` is the position up to which everything is known or must be read: at first, where following starts. */
  constructor(
    public through: Position | undefined,
    private readonly maxWaitMs = defaultMaxWaitMs,
  ) {
    this.unrecorded = new UnrecordedEvents(through)
  }

  /** Returns false for an event that {@link CallbackMemory.take} would ignore: it triggers no callback, or this process appended it. */
  isNeeded(event: RecordedEvent): boolean {
    if (event.type !== 'CallbackDelivered') return !isSilentCreation(event)
    const { lane } = this.#lanes.get(event.stream.slice(streamPrefix.callback.length)) ?? unknownLane
    return lane === undefined || revisionOf(lane) < event.revision
  }

  /** Takes the next page of the streams in {@link rememberedPrefixes}. */
  take(page: Page): void {
    const { events, checkpoint = this.through } = page
    for (const event of events) {
      if (event.stream.startsWith(streamPrefix.transfer)) this.#takeOfTransfer(event)
      else if (event.stream.startsWith(streamPrefix.callback)) this.#takeOfLane(event)
      else if (event.stream === skippedEventsStream) {
        // A decision to skip an event changes the meaning of its stream.
        this.#transfers.clear()
        this.#lanes.clear()
      }
    }
    this.unrecorded.take(page)
    this.through = checkpoint
    this.#endWait()
  }

  /** No page follows, so nothing waits for one. Otherwise each recording in progress would delay a stop. */
  end(): void {
    this.#hasEnded = true
    this.#endWait()
  }

  /** Returns the changes of a transfer up to an event, or `undefined` if its stream must be read. Waits until the event is followed. */
  async changesUpTo({ stream, revision, position }: EventOfTransfer): Promise<readonly Change[] | undefined> {
    const waitUntilMs = performance.now() + this.maxWaitMs
    // A timer can fire up to a millisecond early, and the next wait would take as long as the first one.
    while (!this.#hasEnded && this.#isAhead(position) && waitUntilMs - performance.now() > 1) await this.#waitForPage()
    const known = this.#transfers.get(stream)
    return known && known.revision >= revision ? known.all.filter(({ event }) => event.revision <= revision) : undefined
  }

  /** Returns the lane to decide on the next attempt, or `undefined` if it must be read. */
  laneToSend(trackingId: string): LoadedLane | undefined {
    const { lane, followed } = this.#lanes.get(trackingId) ?? unknownLane
    if (!lane || revisionOf(lane) < followed) return undefined
    const next = nextDelivery(lane.state)
    // The cause is in an event that was appended, but not followed yet.
    return next && !lane.causes.has(next.webhookId) ? undefined : lane
  }

  /** Runs the appends to a lane one at a time. Each decides on the newest known state, or on `undefined`. */
  append<Appended extends Loaded<Lane>>(
    trackingId: string,
    work: (newest: Loaded<Lane> | undefined) => Promise<Appended>,
  ): Promise<Appended> {
    const known = () => this.#lanes.get(trackingId) ?? unknownLane
    return this.#turns.run(trackingId, async () => {
      const { lane, appended: before } = known()
      const appended = await work(lane && before && revisionOf(lane) < revisionOf(before) ? before : (lane ?? before))
      this.#lanes.set(trackingId, { ...known(), appended })
      return appended
    })
  }

  /** Keeps a lane that was read, or that the worker changed. */
  keep(trackingId: string, lane: LoadedLane): void {
    const known = this.#lanes.get(trackingId) ?? unknownLane
    if (known.lane && revisionOf(known.lane) > revisionOf(lane)) return
    const before = known.lane?.causes ?? lane.causes
    const causes = before === lane.causes ? before : new Map([...before, ...lane.causes])
    this.#lanes.set(trackingId, { ...known, lane: { ...lane, causes } })
  }

  #endWait(): void {
    this.#nextPage?.taken.abort()
    this.#nextPage = undefined
  }

  #waitForPage(): Promise<void> {
    if (!this.#nextPage) {
      const taken = new AbortController()
      const wait = pause(this.maxWaitMs, taken.signal).then(() => {
        // Otherwise a recording that began later would wait for a promise that has resolved, again and again, without any other work.
        if (this.#nextPage?.taken === taken) this.#nextPage = undefined
      })
      this.#nextPage = { taken, wait }
    }
    return this.#nextPage.wait
  }

  #isAhead(position: Position): boolean {
    return this.through === undefined || comparePositions(position, this.through) > 0
  }

  #takeOfTransfer(event: RecordedEvent): void {
    const { stream, revision } = event
    const known = revision === 0 ? new TransferChanges() : this.#transfers.get(stream)
    if (!known || revision <= known.revision) return
    this.#transfers.delete(stream)
    try {
      known.add(event)
      this.#transfers.set(stream, known)
    } catch {
      // Each reader of the stream reports the unreadable event.
    }
  }

  #takeOfLane(event: RecordedEvent): void {
    const { revision, type, metadata } = event
    const trackingId = event.stream.slice(streamPrefix.callback.length)
    const known = this.#lanes.get(trackingId) ?? unknownLane
    const followed = Math.max(revision, known.followed)
    let lane = known.lane ?? (revision === 0 ? { ...emptyStream(callbackDecider), causes: new Map() } : undefined)
    try {
      if (lane && type === 'CallbackRecorded')
        lane = { ...lane, causes: new Map(lane.causes).set(String(event.data.webhookId), metadata as EventMetadata) }
      if (lane && revision === revisionOf(lane) + 1)
        lane = { ...lane, state: foldEvent(callbackDecider.evolve, lane.state, event), revision }
    } catch {
      // Each reader of the stream reports the unreadable event.
      lane = undefined
    }
    this.#lanes.set(trackingId, { ...known, followed, lane })
  }
}

const unknownLane: KnownLane = { followed: -1 }

function revisionOf({ revision }: Loaded<Lane>): number {
  return revision === 'no_stream' ? -1 : revision
}
