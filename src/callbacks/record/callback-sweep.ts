import type { Logger } from 'pino'
import { skippedEventsStream, streamPrefix, transferStream } from '../../domain/streams.js'
import { UnreadableEventError } from '../../event-store/event-codec.js'
import type { EventStore, Page, RecordedEvent } from '../../event-store/event-store.js'
import { decisionOf } from '../../event-store/skipped-events.js'
import type { Clock } from '../../kernel/clock.js'
import { follow } from '../../subscriptions/follow.js'
import { pause } from '../../subscriptions/retry.js'
import type { CallbackMetrics } from '../callback-metrics.js'
import type { CallbackTiming } from '../callback-timing.js'
import type { CallbackRecorder } from './callback-recorder.js'
import type { SweepCheckpoint } from './sweep-checkpoint.js'

const maxRecordingsInFlight = 32
const streamPrefixes = [streamPrefix.transfer, skippedEventsStream]

interface SweepDependencies {
  readonly store: EventStore
  readonly recorder: CallbackRecorder
  readonly metrics: CallbackMetrics
  readonly logger: Logger
  readonly clock: Clock
  readonly timing: Pick<CallbackTiming, 'sweepDelayMs'>
  readonly checkpoint: SweepCheckpoint
}

/**
 * Follows the log some seconds after the persistent subscription, from its own checkpoint in the log, and records the callbacks that the
 * subscription missed: a group can be deleted, park events, or skip events on a reload. Runs until the signal aborts.
 */
export async function sweepCallbacks(deps: SweepDependencies, signal: AbortSignal): Promise<void> {
  const { store, checkpoint, logger } = deps
  await follow({
    ...{ store, streamPrefixes, signal },
    after: checkpoint.position,
    isRetried: () => true,
    onUnavailable: (err) => logger.warn({ err }, 'callbacks: the sweep failed and will be retried'),
    handle: (page) => sweepPage(deps, page, signal),
  })
  await checkpoint
    .save({ now: true })
    .catch((error) => logger.warn({ err: error }, "callbacks: the sweep's checkpoint was not saved"))
}

async function sweepPage(deps: SweepDependencies, page: Page, signal: AbortSignal): Promise<void> {
  const { checkpoint, clock, timing } = deps
  const { events } = page
  const ageMs = Date.parse(clock()) - (events.at(-1)?.recordedAtMs ?? 0)
  // The store's clock may be ahead, so the pause is bounded.
  if (ageMs < timing.sweepDelayMs) await pause(Math.min(timing.sweepDelayMs - ageMs, timing.sweepDelayMs), signal)
  if (signal.aborted) return
  await recordMissing(deps, events)
  if (page.checkpoint) checkpoint.advance(page.checkpoint, events)
  await checkpoint.save({ now: false })
}

async function recordMissing(deps: SweepDependencies, events: readonly RecordedEvent[]): Promise<void> {
  const decisions = events.filter(({ stream }) => stream === skippedEventsStream)
  const unblocked = await Promise.all(decisions.map((decision) => unblockedBy(deps.store, decision)))
  const due = events.filter((event) => event.stream !== skippedEventsStream && deps.recorder.mayTriggerCallback(event))
  due.push(...unblocked.flat())
  for (let from = 0; from < due.length; from += maxRecordingsInFlight) {
    await Promise.all(due.slice(from, from + maxRecordingsInFlight).map((event) => recordEvent(deps, event)))
  }
}

/** Returns the latest event of the transfer that the decision made readable. Its callbacks were skipped while it was unreadable. */
async function unblockedBy(store: EventStore, decision: RecordedEvent): Promise<readonly RecordedEvent[]> {
  const { stream = '' } = decisionOf(decision) ?? {}
  const [, trackingId] = /^(?:transfer|callback)-(.+)$/.exec(stream) ?? []
  return trackingId === undefined ? [] : (await store.readStream(transferStream(trackingId))).slice(-1)
}

async function recordEvent({ recorder, metrics, logger }: SweepDependencies, event: RecordedEvent): Promise<void> {
  try {
    const missing = await recorder.recordUpTo(event)
    if (missing > 0) metrics.countRecorded('sweep', missing)
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error
    // The subscription has parked it. If the sweep stopped here, every other transfer would be without one.
    logger.error({ err: error, event: `${event.stream}@${event.revision}` }, 'callbacks: the sweep skipped an event')
  }
}
