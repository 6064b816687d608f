import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Logger } from 'pino'
import { passedOverStream, streamPrefix, transferStream } from '../../domain/streams.js'
import { UnreadableEventError } from '../../event-store/event-codec.js'
import type { EventStore, RecordedEvent } from '../../event-store/event-store.js'
import { decisionOf } from '../../event-store/passing-over.js'
import { BackOff, pause } from '../deliver/back-off.js'
import type { CallbackMetrics } from '../metrics.js'
import type { ChangeRecorder } from './change-recorder.js'
import type { SweepCheckpoint } from './sweep-checkpoint.js'

const pageSize = 500
const maxRecordingsInFlight = 32
const streamPrefixes = [streamPrefix.transfer, passedOverStream]

/**
 * Reads the log behind the persistent subscription and records what that has missed: a subscription is a convenience that
 * may be deleted, parked or pass over events when it is loaded again. Its own checkpoint is in the log.
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
      readonly everyMs: number
      /** What is younger is left to the subscription. */
      readonly behindMs: number
    },
  ) {}

  /** Sweeps at once and then regularly, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { checkpoint, logger, everyMs } = this.deps
    const backOff = new BackOff()
    while (!signal.aborted) {
      try {
        await this.pass(signal)
        await checkpoint.keep({ now: false })
        backOff.succeeded()
        await pause(everyMs, signal)
      } catch (error) {
        logger.warn({ err: error }, 'callbacks: the sweep broke off, trying again')
        await backOff.wait(signal)
      }
    }
    await checkpoint.keep({ now: true }).catch((error) => logger.warn({ err: error }, 'callbacks: checkpoint not kept'))
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const { store, checkpoint, clock, behindMs } = this.deps
    const untilMs = Date.parse(clock()) - behindMs
    while (!signal.aborted) {
      const after = checkpoint.position
      const page = await store.readAll({ ...(after && { after }), streamPrefixes, maxCount: pageSize })
      const tooYoung = page.events.findIndex((event) => event.recordedAtMs > untilMs)
      const events = tooYoung === -1 ? page.events : page.events.slice(0, tooYoung)
      await this.recordMissing(events)
      const reached = tooYoung === -1 ? page.checkpoint : events.at(-1)?.position
      if (reached) checkpoint.advance(reached, events)
      if (tooYoung !== -1 || page.atEnd) return
      await checkpoint.keep({ now: false })
      // Reads may be answered without leaving the thread: deliveries must not wait for the whole log.
      await yieldToOthers()
    }
  }

  private async recordMissing(events: readonly RecordedEvent[]): Promise<void> {
    const { changes } = this.deps
    const decisions = events.filter(({ stream }) => stream === passedOverStream)
    const freed = await Promise.all(decisions.map((decision) => this.freedBy(decision)))
    const wanted = events.filter((event) => event.stream !== passedOverStream && changes.concerns(event))
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
      logger.error(
        { err: error, event: `${event.stream}@${event.revision}` },
        'callbacks: the sweep passed over an event',
      )
    }
  }
}
