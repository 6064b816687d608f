import type { CallbackCommands } from '../../commands/callback/callback-commands.js'
import { emptyStream, type Loaded } from '../../commands/handle-command.js'
import { callbackDecider, type Lane } from '../../domain/callback.js'
import { statusCodes, type Transfer, type TransferState } from '../../domain/transfer/transfer.js'
import { transferDecider } from '../../domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../domain/transfer/transfer-events.js'
import type { EventStore, RecordedEvent } from '../../event-store/event-store.js'
import { evolved, readEvent } from '../../event-store/read-event.js'
import { boundedCache } from '../../kernel/bounded-cache.js'
import { inSpanOf, streamAttributes } from '../../tracing/tracing.js'

interface Change {
  readonly event: RecordedEvent
  /** The transfer's state after the event. */
  readonly transfer: Transfer
}

/** Covers the events that a busy service records before the sweep reaches them. The sweep then skips them without reading. */
const maxRemembered = 20_000

/** Events that leave the status unchanged. */
const silentTypes: ReadonlySet<string> = new Set<TransferEvent['type']>([
  'LateFundsReceived',
  'FundsReturned',
  'AttentionResolved',
  'WithdrawalClaimed',
  'WithdrawalReleased',
  'WithdrawalApproved',
  'PersonalDataErased',
])

/** Records the callbacks that a transfer's status changes trigger, once each and in order. */
export class CallbackRecorder {
  /** The ids of events up to which everything is recorded. */
  readonly #done = boundedCache<true>(maxRemembered)

  constructor(
    private readonly store: EventStore,
    private readonly commands: CallbackCommands,
  ) {}

  /**
   * Returns false for an event that certainly needs no recording: a creation that triggers no callback, or an event whose callback was
   * recorded here. Reads nothing, because creations are most of the log.
   */
  mayTriggerCallback({ id, type, data }: RecordedEvent): boolean {
    if (type === 'DepositCreated' || type === 'WithdrawalCreated') return data.told === true && !this.#done.has(id)
    return !silentTypes.has(type) && !this.#done.has(id)
  }

  /**
   * Records the missing callbacks of the transfer's changes up to and including `event`. This includes earlier changes: events may arrive
   * out of order, and a callback that is recorded late would be sent late. Set `isNew` if the event is probably unrecorded; the lane of a
   * first callback is then not read. Returns the number of recorded callbacks.
   * @throws StoreUnavailableError, TooMuchContentionError, UnreadableEventError
   */
  async recordUpTo(event: RecordedEvent, { isNew = false } = {}): Promise<number> {
    const start = () => {
      const attributes = { ...streamAttributes(event.stream), 'transferd.event_type': event.type }
      return { name: 'callback record', kind: 'consumer', attributes } as const
    }
    const count = await inSpanOf(event, start, async () => this.#recordMissing(await this.#changesUpTo(event), isNew))
    this.#done.set(event.id, true)
    return count
  }

  async #recordMissing(changes: readonly Change[], isNew: boolean): Promise<number> {
    const [first] = changes
    if (!first) return 0
    // If the lane exists after all, the append changes nothing or conflicts, and the lane is read then.
    let lane: Loaded<Lane> =
      isNew && changes.length === 1 ? emptyStream(callbackDecider) : await this.commands.load(first.transfer.trackingId)
    const recorded = new Set(lane.state.deliveries.map(({ webhookId }) => webhookId))
    const missing = changes.filter((change) => !recorded.has(change.event.id))
    for (const change of missing) lane = await this.#record(change, lane)
    return missing.length
  }

  async #changesUpTo(last: RecordedEvent): Promise<Change[]> {
    const events = await this.store.readStream(last.stream, { maxCount: last.revision + 1 })
    const changes: Change[] = []
    let before: TransferState = transferDecider.initialState
    for (const event of events) {
      const decoded = readEvent(event) as TransferEvent | undefined
      if (!decoded) continue
      const transfer = evolved(transferDecider.evolve, before, event, decoded)
      if (transfer.kind === 'none') throw new Error(`${event.stream}@${event.revision} left no transfer`)
      if (triggersCallback(decoded, before, transfer)) changes.push({ event, transfer })
      before = transfer
    }
    return changes
  }

  /** Returns the lane with the callback in it. */
  async #record({ event, transfer }: Change, lane: Loaded<Lane>): Promise<Loaded<Lane>> {
    const { trackingId, merchantId, referenceId, message, amountMinor, transactionAmountMinor } = transfer
    const { hasAmountMismatch, receiptUrl } = transfer
    const status = statusCodes[transfer.status]
    const result = await this.commands.record(
      {
        webhookId: event.id,
        trackingId,
        merchantId,
        transferRevision: event.revision,
        payload: { status, referenceId, message, amountMinor, transactionAmountMinor, hasAmountMismatch, receiptUrl },
      },
      {
        actor: 'system:callbacks',
        $correlationId: String(event.metadata.$correlationId ?? event.id),
        $causationId: event.id,
      },
      lane,
    )
    if (!result.accepted) throw new Error(`${event.stream}@${event.revision}: ${result.refusal.rule}`)
    return result
  }
}

/** Decides by the event alone. By the current settings, a merchant that enables callbacks for creations would receive old ones. */
function triggersCallback(event: TransferEvent, before: TransferState, after: Transfer): boolean {
  if (event.type === 'DepositCreated' || event.type === 'WithdrawalCreated') return event.data.told
  return before.kind !== 'none' && before.status !== after.status
}
