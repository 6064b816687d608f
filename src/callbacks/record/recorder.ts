import type { Logger } from 'pino'
import { streamPrefix } from '../../domain/streams.js'
import { UnreadableEventError } from '../../event-store/event-codec.js'
import {
  defaultPersistentSubscriptionSettings,
  type EventStore,
  type PersistentConsumer,
  type PersistentDelivery,
  PersistentSubscriptionExistsError,
  PersistentSubscriptionMissingError,
  type PersistentSubscriptionSettings,
  type Position,
} from '../../event-store/event-store.js'
import { Batcher } from '../../kernel/batcher.js'
import { pause, retryWhileUnavailable } from '../../subscriptions/retry.js'
import type { CallbackMetrics } from '../callback-metrics.js'
import type { ChangeRecorder } from './change-recorder.js'

export const callbackGroup = 'callbacks'

const maxRecordingsInFlight = 64
const maxAckBatch = 500
const ackAfterMs = 20
/** A retry is delivered at once: without a pause, ten of them would park the event within milliseconds. */
const retryAfterMs = 1_000
const consumeAgainAfterMs = 250

/** Well above what is read per page: creations only pass through. The buffer of the consumer must not exceed what is read ahead. */
const bufferSize = 1_000
const settings: PersistentSubscriptionSettings = {
  ...defaultPersistentSubscriptionSettings,
  streamPrefixes: [streamPrefix.transfer],
  liveBufferSize: 5_000,
  readBatchSize: 1_000,
  historyBufferSize: 5_000,
  maxCheckpointCount: 5_000,
}

/**
 * Turns the events that the persistent subscription delivers into recorded callbacks and acknowledges them. It only ever
 * makes a callback sooner: what it misses, or gives up on, the sweep records.
 */
export class Recorder {
  constructor(
    private readonly deps: {
      readonly store: EventStore
      readonly changes: ChangeRecorder
      readonly metrics: CallbackMetrics
      readonly logger: Logger
      /** Where a group that is not there begins: everything before it is the sweep's. From the start when absent. */
      readonly sweptTo: () => Position | undefined
    },
  ) {}

  /** Consumes until the signal aborts, and again whenever the consumer was cut off. */
  async run(signal: AbortSignal): Promise<void> {
    const onUnavailable = (err: unknown) =>
      this.deps.logger.warn({ err, group: callbackGroup }, 'callbacks: the subscription broke off, trying again')
    const retried = { signal, onUnavailable, isRetried: () => true }
    while (!signal.aborted) {
      const consumer = await retryWhileUnavailable(() => this.consume(signal), retried)
      if (consumer) await this.consumeAll(consumer, signal).catch(onUnavailable)
      await pause(consumeAgainAfterMs, signal)
    }
  }

  private async consume(signal: AbortSignal): Promise<PersistentConsumer> {
    const groups = this.deps.store.persistentSubscriptions
    try {
      return await groups.consume(callbackGroup, { bufferSize, signal })
    } catch (error) {
      if (!(error instanceof PersistentSubscriptionMissingError)) throw error
    }
    try {
      await groups.create(callbackGroup, { ...settings, startFrom: this.deps.sweptTo() ?? 'start' })
    } catch (error) {
      if (!(error instanceof PersistentSubscriptionExistsError)) throw error
    }
    return await groups.consume(callbackGroup, { bufferSize, signal })
  }

  private async consumeAll(consumer: PersistentConsumer, signal: AbortSignal): Promise<void> {
    const acks = new Batcher<string>({
      maxItems: maxAckBatch,
      delayMs: ackAfterMs,
      // A dropped consumer fails where it is iterated, and its events are redelivered.
      process: (ackIds) => consumer.ack(...ackIds).catch(() => undefined),
    })
    const underWay = new Set<Promise<void>>()
    try {
      for await (const delivery of consumer) {
        if (!this.deps.changes.concerns(delivery.event)) {
          acks.add(delivery.ackId)
          continue
        }
        const recording = this.record(delivery, consumer, acks, signal).finally(() => underWay.delete(recording))
        underWay.add(recording)
        if (underWay.size >= maxRecordingsInFlight) await Promise.race(underWay)
      }
    } finally {
      await Promise.all(underWay)
      await acks.flush()
      await consumer.close()
    }
  }

  /** Never rejects. */
  private async record(
    { event, ackId, retryCount }: PersistentDelivery,
    consumer: PersistentConsumer,
    acks: Batcher<string>,
    signal: AbortSignal,
  ): Promise<void> {
    const { changes, metrics, logger } = this.deps
    const where = `${event.stream}@${event.revision}`
    try {
      metrics.recorded('subscription', await changes.recordUpTo(event, { isNew: retryCount === 0 }))
      acks.add(ackId)
    } catch (error) {
      const broken = error instanceof UnreadableEventError
      logger.error({ err: error, event: where }, 'callbacks: an event could not be recorded')
      // No repetition makes an unreadable event readable; parked, it can be seen and replayed.
      if (!broken) await pause(retryAfterMs, signal)
      await consumer
        .nack(broken ? 'park' : 'retry', broken ? 'unreadable event' : 'not recorded', ackId)
        .catch(() => undefined)
    }
  }
}
