import type { Logger } from 'pino'
import type { CallbackCommands } from '../../commands/callback/callback-commands.js'
import { emptyStream, type Loaded } from '../../commands/handle-command.js'
import { callbackDecider, type Lane } from '../../domain/callback.js'
import { scenarioOf } from '../../domain/scenarios.js'
import { streamPrefix } from '../../domain/streams.js'
import { statusCodes } from '../../domain/transfer/status.js'
import { UnreadableEventError } from '../../event-store/event-codec.js'
import {
  ConsumerDroppedError,
  defaultPersistentSubscriptionSettings,
  type EventStore,
  GroupHeldElsewhereError,
  type PersistentConsumer,
  type PersistentDelivery,
  PersistentSubscriptionExistsError,
  PersistentSubscriptionMissingError,
  type PersistentSubscriptionSettings,
  type Position,
} from '../../event-store/event-store.js'
import { Batcher } from '../../kernel/concurrency.js'
import { addMs } from '../../kernel/time.js'
import { pause, type RetryOptions, retryWhileUnavailable } from '../../subscriptions/retry.js'
import { inSpanOf, streamAttributes } from '../../tracing/tracing.js'
import { type CallbackMemory, type Change, TransferChanges } from '../callback-memory.js'
import type { CallbackMetrics } from '../callback-metrics.js'
import type { CallbackTiming } from '../callback-timing.js'
import { mayTriggerCallback, messageOf } from '../callback-trigger.js'
import type { EventOfTransfer } from './unrecorded-events.js'

/** Records the callbacks that a transfer's status changes trigger, once each and in order. */
export class CallbackRecorder {
  constructor(
    private readonly store: EventStore,
    private readonly commands: CallbackCommands,
    private readonly memory?: CallbackMemory,
    /** Returns whether a merchant is one of the sandbox, whose transfers can play scenarios. */
    private readonly isSandbox: (merchantId: string) => boolean = () => false,
  ) {}

  /**
   * Records the missing callbacks of the transfer's changes up to and including `event`. This includes earlier changes: events may arrive
   * out of order, and a callback that is recorded late would be sent late. Set `isNew` if the event is probably unrecorded; an unknown lane
   * of a first callback is then not read. Returns the number of recorded callbacks.
   * @throws StoreUnavailableError, TooMuchContentionError, UnreadableEventError
   */
  async recordUpTo(event: EventOfTransfer, { isNew = false } = {}): Promise<number> {
    const start = () => {
      const attributes = { ...streamAttributes(event.stream), 'transferd.event_type': event.type }
      return { name: 'callback record', kind: 'consumer', attributes } as const
    }
    const count = await inSpanOf(event, start, async () => this.#recordMissing(await this.#changesUpTo(event), isNew))
    this.memory?.unrecorded.remove(event)
    return count
  }

  async #recordMissing(changes: readonly Change[], isNew: boolean): Promise<number> {
    const [first] = changes
    if (!first) return 0
    const { trackingId } = first.transfer
    let count = 0
    const record = async (newest: Loaded<Lane> | undefined): Promise<Loaded<Lane>> => {
      // If the lane is different after all, the append changes nothing or conflicts, and the lane is read then.
      const assumed = isNew && changes.length === 1 ? emptyStream(callbackDecider) : undefined
      let lane: Loaded<Lane> = newest ?? assumed ?? (await this.commands.load(trackingId))
      const recorded = new Set(lane.state.deliveries.map(({ webhookId }) => webhookId))
      const missing = changes.filter((change) => !recorded.has(change.event.id))
      for (const change of missing) lane = await this.#record(change, lane)
      count = missing.length
      return lane
    }
    await (this.memory ? this.memory.append(trackingId, record) : record(undefined))
    return count
  }

  async #changesUpTo(last: EventOfTransfer): Promise<readonly Change[]> {
    const known = await this.memory?.changesUpTo(last)
    if (known) return known
    const changes = new TransferChanges()
    for (const event of await this.store.readStream(last.stream, { maxCount: last.revision + 1 })) changes.add(event)
    return changes.all
  }

  /** Returns the lane with the callback in it. */
  async #record({ event, transfer }: Change, lane: Loaded<Lane>): Promise<Loaded<Lane>> {
    const { trackingId, merchantId, referenceId, amountMinor, transactionAmountMinor } = transfer
    const { hasAmountMismatch, receiptUrl } = transfer
    const status = statusCodes[transfer.status]
    const message = messageOf(event.type, transfer)
    const payload = { status, referenceId, message, amountMinor, transactionAmountMinor, hasAmountMismatch, receiptUrl }
    const seconds = this.isSandbox(merchantId) ? scenarioOf(transfer)?.callbackDelaySeconds : undefined
    const due = seconds !== undefined && { dueAt: addMs(transfer.updatedAt, seconds * 1_000) }
    const callback = { webhookId: event.id, trackingId, merchantId, transferRevision: event.revision, payload, ...due }
    const $correlationId = String(event.metadata.$correlationId ?? event.id)
    const context = { actor: 'system:callbacks', $correlationId, $causationId: event.id }
    const result = await this.commands.record(callback, context, lane)
    if (!result.accepted) throw new Error(`${event.stream}@${event.revision}: ${result.refusal.rule}`)
    return result
  }
}

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

export interface SubscriptionDependencies {
  readonly store: EventStore
  readonly recorder: CallbackRecorder
  readonly metrics: CallbackMetrics
  readonly logger: Logger
  readonly timing: CallbackTiming
  readonly onUnavailable: RetryOptions['onUnavailable']
  /** A new group starts at the sweep's position, because the sweep has recorded everything before it. */
  readonly checkpoint: { readonly position: Position | undefined }
}

/** Records the callbacks of the events that the persistent subscription delivers. It only makes callbacks faster: the sweep records the missed ones. */
export async function recordFromSubscription(deps: SubscriptionDependencies, signal: AbortSignal): Promise<void> {
  const onUnavailable = (err: Error, failures: number) => {
    const isOfEngine = err instanceof ConsumerDroppedError || err instanceof GroupHeldElsewhereError
    if (isOfEngine) deps.logger.warn({ err, group: callbackGroup }, 'callbacks: the subscription is resumed')
    else deps.onUnavailable(err, failures)
  }
  const retried = { signal, onUnavailable, isRetried: () => true }
  while (!signal.aborted) {
    const consumer = await retryWhileUnavailable(() => openConsumer(deps, signal), retried)
    if (consumer) await consumeAll(deps, consumer, signal).catch((error) => onUnavailable(error, 1))
    await pause(deps.timing.consumeRetryMs, signal)
  }
}

async function openConsumer({ store, checkpoint }: SubscriptionDependencies, signal: AbortSignal) {
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

async function consumeAll(deps: SubscriptionDependencies, consumer: PersistentConsumer, signal: AbortSignal) {
  const acks = new Batcher<string>({
    maxItems: maxAckBatch,
    delayMs: ackDelayMs,
    // The iteration over a dropped consumer fails, and its events are redelivered.
    process: (ackIds) => consumer.ack(...ackIds).catch(() => undefined),
  })
  const inFlight = new Set<Promise<void>>()
  try {
    for await (const delivery of consumer) {
      if (!mayTriggerCallback(delivery.event)) {
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
    const [action, reason] = isUnreadable
      ? (['park', 'unreadable event'] as const)
      : (['retry', 'not recorded'] as const)
    await consumer.nack(action, reason, ackId).catch(() => undefined)
  }
}
