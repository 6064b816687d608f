import { appendToEnd } from '../../commands/handle-command.js'
import { callbackSweepStream, skippedEventsStream, streamPrefix, transferStream } from '../../domain/streams.js'
import { encodeEvent, UnreadableEventError } from '../../event-store/event-codec.js'
import {
  comparePositions,
  type EventStore,
  logPages,
  type Position,
  type RecordedEvent,
} from '../../event-store/event-store.js'
import { decisionOf, readableEvent } from '../../event-store/read-event.js'
import type { Clock } from '../../kernel/time.js'
import type { Checkpoint, CheckpointStorage } from '../../subscriptions/checkpoint.js'
import { pause, retryWhileUnavailable } from '../../subscriptions/retry.js'
import { mayTriggerCallback } from '../callback-trigger.js'
import type { SubscriptionDependencies } from './callback-recorder.js'
import type { EventOfTransfer, FollowedPart, UnrecordedEvents } from './unrecorded-events.js'

const maxRecordingsInFlight = 32

/**
 * Stores the sweep's checkpoint in the log, so that it is not lost with a read model or a subscription, and so that a restored log never has
 * a checkpoint after callbacks that it lacks. An unreadable one is ignored: the sweep then starts at the start of the log.
 */
export function sweepCheckpoint(store: EventStore, clock: Clock): CheckpointStorage {
  const stream = callbackSweepStream
  return {
    // Limits the growth of the stream to one small event in this time.
    saveEveryMs: 60_000,
    async find() {
      const [last] = await store.readStream(stream, { direction: 'backwards', maxCount: 1 })
      const event = last && readableEvent(last)
      return event?.type === 'CallbackSweepAdvanced' ? event.data.event : undefined
    },
    // At the end of the stream regardless of its revision, because a process that has lost its lease saves its checkpoint when it ends.
    save({ stream: of, revision }) {
      const metadata = { actor: 'system:callbacks', $correlationId: stream, $causationId: stream }
      const data = { event: { stream: of, revision }, at: clock() }
      return appendToEnd(store, stream, encodeEvent({ type: 'CallbackSweepAdvanced', data }, metadata))
    },
  }
}

const streamPrefixes = [streamPrefix.transfer, skippedEventsStream]

interface SweepDependencies extends SubscriptionDependencies {
  readonly clock: Clock
  readonly checkpoint: Checkpoint
  readonly unrecorded: UnrecordedEvents
}

/**
 * Records the callbacks that the persistent subscription missed, some seconds after it and from a checkpoint in the log: a group can be
 * deleted, park events, or skip events on a reload. Reads the log only up to the part that the delivery follows, because the unrecorded
 * events of that part are known. Runs until the signal aborts.
 */
export async function sweepCallbacks(deps: SweepDependencies, signal: AbortSignal): Promise<void> {
  const { checkpoint, unrecorded, logger, onUnavailable } = deps
  const sweepNext = () => {
    const { from } = unrecorded
    return from && isBefore(checkpoint.position, from) ? sweepLog(deps, from, signal) : sweepFollowed(deps, signal)
  }
  while (!signal.aborted) await retryWhileUnavailable(sweepNext, { signal, onUnavailable, isRetried: () => true })
  await checkpoint
    .save({ now: true })
    .catch((error) => logger.warn({ err: error }, "callbacks: the sweep's checkpoint was not saved"))
}

/** Sweeps the log up to `from`, which was at or before its end. */
async function sweepLog(deps: SweepDependencies, from: Position, signal: AbortSignal): Promise<void> {
  const range = { after: deps.checkpoint.position, until: from, streamPrefixes }
  const isDue = (event: RecordedEvent) => event.stream === skippedEventsStream || mayTriggerCallback(event)
  for await (const { events, through = from, atEnd } of logPages(deps.store, range)) {
    const part = { through: atEnd ? from : through, last: events.at(-1) }
    await sweepThrough(deps, part, () => events.filter(isDue), signal)
    if (signal.aborted) return
  }
}

async function sweepFollowed(deps: SweepDependencies, signal: AbortSignal): Promise<void> {
  const part = await deps.unrecorded.nextPart(signal)
  if (part) await sweepThrough(deps, part, () => deps.unrecorded.upTo(part.through), signal)
}

async function sweepThrough(
  deps: SweepDependencies,
  { through, last }: FollowedPart,
  /** Returns the events that may be unrecorded, or `undefined` if they must be read again. */
  due: () => readonly (EventOfTransfer | RecordedEvent)[] | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { checkpoint, unrecorded, clock, timing } = deps
  const ageMs = Date.parse(clock()) - (last?.recordedAtMs ?? 0)
  // The store's clock may be ahead, so the pause is bounded.
  if (ageMs < timing.sweepDelayMs) await pause(Math.min(timing.sweepDelayMs - ageMs, timing.sweepDelayMs), signal)
  const events = due()
  if (signal.aborted || !events) return
  await recordMissing(deps, events)
  unrecorded.removeParts(through)
  if (isBefore(checkpoint.position, through)) checkpoint.advance(through, last)
  await checkpoint.save({ now: false })
}

async function recordMissing(
  deps: SweepDependencies,
  events: readonly (EventOfTransfer | RecordedEvent)[],
): Promise<void> {
  const due: EventOfTransfer[] = []
  for (const event of events) {
    if ('data' in event && event.stream === skippedEventsStream) due.push(...(await unblockedBy(deps.store, event)))
    else due.push(event)
  }
  for (let from = 0; from < due.length; from += maxRecordingsInFlight) {
    await Promise.all(due.slice(from, from + maxRecordingsInFlight).map((event) => recordEvent(deps, event)))
  }
  for (const event of events) deps.unrecorded.remove(event)
}

/** Returns the latest event of the transfer that the decision made readable. Its callbacks were skipped while it was unreadable. */
async function unblockedBy(store: EventStore, decision: RecordedEvent): Promise<readonly RecordedEvent[]> {
  const { stream = '' } = decisionOf(decision) ?? {}
  const [, trackingId] = /^(?:transfer|callback)-(.+)$/.exec(stream) ?? []
  return trackingId === undefined ? [] : (await store.readStream(transferStream(trackingId))).slice(-1)
}

async function recordEvent({ recorder, metrics, logger }: SweepDependencies, event: EventOfTransfer): Promise<void> {
  try {
    const missing = await recorder.recordUpTo(event)
    if (missing > 0) metrics.countRecorded('sweep', missing)
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error
    // The subscription has parked it. If the sweep stopped here, every other transfer would be without one.
    logger.error({ err: error, event: `${event.stream}@${event.revision}` }, 'callbacks: the sweep skipped an event')
  }
}

function isBefore(a: Position | undefined, b: Position): boolean {
  return a === undefined || comparePositions(a, b) < 0
}
