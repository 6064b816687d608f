import type { Logger } from 'pino'
import { skippedEventsStream, streamPrefix, transferStream } from '../../domain/streams.js'
import { UnreadableEventError } from '../../event-store/event-codec.js'
import type { EventStore, Page, RecordedEvent } from '../../event-store/event-store.js'
import { decisionOf } from '../../event-store/skipped-events.js'
import { follow } from '../../subscriptions/follow.js'
import { pause } from '../../subscriptions/retry.js'
import type { CallbackMetrics } from '../callback-metrics.js'
import type { ChangeRecorder } from './change-recorder.js'
import type { SweepCheckpoint } from './sweep-checkpoint.js'

const maxRecordingsInFlight = 32
const streamPrefixes = [streamPrefix.transfer, skippedEventsStream]

/**
 * Reads the log behind the persistent subscription and records what that has missed: a subscription is a convenience that
 * may be deleted, parked or skip events when it is loaded again. Its own checkpoint is in the log.
 */
export class Sweep {
  constructor(
    private readonly deps: {
      readonly store: EventStore
      readonly changes: ChangeRecorder
      readonly metrics: CallbackMetrics
      readonly logger: Logger
      readonly clock: () => string
      readonly checkpoint: SweepCheckpoint
      /** What is younger is left to the subscription. */
      readonly behindMs: number
    },
  ) {}

  /** Follows the log from its checkpoint until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, checkpoint, logger } = this.deps
    await follow({
      ...{ store, streamPrefixes, signal },
      after: checkpoint.position,
      isRetried: () => true,
      onUnavailable: (err) => logger.warn({ err }, 'callbacks: the sweep broke off, trying again'),
      handle: (page) => this.handle(page, signal),
    })
    await checkpoint.keep({ now: true }).catch((error) => logger.warn({ err: error }, 'callbacks: checkpoint not kept'))
  }

  private async handle({ events, checkpoint: reached }: Page, signal: AbortSignal): Promise<void> {
    const { checkpoint, clock, behindMs } = this.deps
    const ageMs = Date.parse(clock()) - (events.at(-1)?.recordedAtMs ?? 0)
    // No longer than that, however far the store's clock is ahead of ours.
    if (ageMs < behindMs) await pause(Math.min(behindMs - ageMs, behindMs), signal)
    if (signal.aborted) return
    await this.recordMissing(events)
    if (reached) checkpoint.advance(reached, events)
    await checkpoint.keep({ now: false })
  }

  private async recordMissing(events: readonly RecordedEvent[]): Promise<void> {
    const { changes } = this.deps
    const decisions = events.filter(({ stream }) => stream === skippedEventsStream)
    const freed = await Promise.all(decisions.map((decision) => this.freedBy(decision)))
    const wanted = events.filter((event) => event.stream !== skippedEventsStream && changes.concerns(event))
    wanted.push(...freed.flat())
    for (let from = 0; from < wanted.length; from += maxRecordingsInFlight) {
      await Promise.all(wanted.slice(from, from + maxRecordingsInFlight).map((event) => this.recordUpTo(event)))
    }
  }

  /** The latest event of a transfer that could not be read, or whose callbacks could not: all of them were left then. */
  private async freedBy(recorded: RecordedEvent): Promise<readonly RecordedEvent[]> {
    const { stream = '' } = decisionOf(recorded) ?? {}
    const [, trackingId] = /^(?:transfer|callback)-(.+)$/.exec(stream) ?? []
    return trackingId === undefined ? [] : (await this.deps.store.readStream(transferStream(trackingId))).slice(-1)
  }

  private async recordUpTo(event: RecordedEvent): Promise<void> {
    const { changes, metrics, logger } = this.deps
    try {
      const missing = await changes.recordUpTo(event)
      if (missing > 0) metrics.recorded('sweep', missing)
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error
      // The subscription has parked it. Staying here would leave every other transfer without the sweep.
      logger.error({ err: error, event: `${event.stream}@${event.revision}` }, 'callbacks: the sweep skipped an event')
    }
  }
}
