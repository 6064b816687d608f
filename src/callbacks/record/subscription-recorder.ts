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
import type { CallbackTiming } from '../callback-timing.js'
import type { CallbackRecorder } from './callback-recorder.js'

export const callbackGroup = 'callbacks'

const maxRecordingsInFlight = 64
const maxAckBatch = 500
const ackDelayMs = 20

/** Far above the number of events per page, because creations only pass through. Must not exceed the subscription's read-ahead. */
const bufferSize = 1_000
const settings: PersistentSubscriptionSettings = {
  ...defaultPersistentSubscriptionSettings,
  streamPrefixes: [streamPrefix.transfer],
  liveBufferSize: 5_000,
  readBatchSize: 1_000,
  historyBufferSize: 5_000,
  maxCheckpointCount: 5_000,
}

interface SubscriptionDependencies {
  readonly store: EventStore
  readonly recorder: CallbackRecorder
  readonly metrics: CallbackMetrics
  readonly logger: Logger
  readonly timing: Pick<CallbackTiming, 'consumeRetryMs' | 'recordRetryMs'>
  /** A new group starts at the sweep's position, because the sweep has recorded everything before it. */
  readonly checkpoint: { readonly position: Position | undefined }
}

/**
 * Records the callbacks of the events that the persistent subscription delivers, and acknowledges the events. Consumes until the signal
 * aborts. The subscription only makes callbacks faster: the sweep records the callbacks that it misses.
 */
export async function recordFromSubscription(deps: SubscriptionDependencies, signal: AbortSignal): Promise<void> {
  const onUnavailable = (err: unknown) =>
    deps.logger.warn({ err, group: callbackGroup }, 'callbacks: the subscription failed and will be retried')
  const retried = { signal, onUnavailable, isRetried: () => true }
  while (!signal.aborted) {
    const consumer = await retryWhileUnavailable(() => openConsumer(deps, signal), retried)
    if (consumer) await consumeAll(deps, consumer, signal).catch(onUnavailable)
    await pause(deps.timing.consumeRetryMs, signal)
  }
}

async function openConsumer(
  { store, checkpoint }: SubscriptionDependencies,
  signal: AbortSignal,
): Promise<PersistentConsumer> {
  const groups = store.persistentSubscriptions
  try {
    return await groups.consume(callbackGroup, { bufferSize, signal })
  } catch (error) {
    if (!(error instanceof PersistentSubscriptionMissingError)) throw error
  }
  try {
    await groups.create(callbackGroup, { ...settings, startFrom: checkpoint.position ?? 'start' })
  } catch (error) {
    if (!(error instanceof PersistentSubscriptionExistsError)) throw error
  }
  return await groups.consume(callbackGroup, { bufferSize, signal })
}

async function consumeAll(
  deps: SubscriptionDependencies,
  consumer: PersistentConsumer,
  signal: AbortSignal,
): Promise<void> {
  const acks = new Batcher<string>({
    maxItems: maxAckBatch,
    delayMs: ackDelayMs,
    // The iteration over a dropped consumer fails, and its events are redelivered.
    process: (ackIds) => consumer.ack(...ackIds).catch(() => undefined),
  })
  const inFlight = new Set<Promise<void>>()
  try {
    for await (const delivery of consumer) {
      if (!deps.recorder.mayTriggerCallback(delivery.event)) {
        acks.add(delivery.ackId)
        continue
      }
      const recording = record(deps, delivery, consumer, acks, signal).finally(() => inFlight.delete(recording))
      inFlight.add(recording)
      if (inFlight.size >= maxRecordingsInFlight) await Promise.race(inFlight)
    }
  } finally {
    await Promise.all(inFlight)
    await acks.flush()
    await consumer.close()
  }
}

/** Never rejects. */
async function record(
  { recorder, metrics, logger, timing }: SubscriptionDependencies,
  { event, ackId, retryCount }: PersistentDelivery,
  consumer: PersistentConsumer,
  acks: Batcher<string>,
  signal: AbortSignal,
): Promise<void> {
  try {
    metrics.countRecorded('subscription', await recorder.recordUpTo(event, { isNew: retryCount === 0 }))
    acks.add(ackId)
  } catch (error) {
    const isUnreadable = error instanceof UnreadableEventError
    logger.error({ err: error, event: `${event.stream}@${event.revision}` }, 'callbacks: an event was not recorded')
    // Retries do not make an event readable. A parked event can be listed and replayed.
    if (!isUnreadable) await pause(timing.recordRetryMs, signal)
    const nacked = isUnreadable
      ? consumer.nack('park', 'unreadable event', ackId)
      : consumer.nack('retry', 'not recorded', ackId)
    await nacked.catch(() => undefined)
  }
}
