import type { CallbackCommands } from '../../commands/callbacks.js'
import type { Loaded } from '../../commands/handle-command.js'
import type { Lane } from '../../domain/callback/callback.js'
import { transferDecider } from '../../domain/transfer/decide.js'
import type { TransferEvent } from '../../domain/transfer/events.js'
import { statusCodes, type Transfer, type TransferState } from '../../domain/transfer/transfer.js'
import type { EventStore, RecordedEvent } from '../../event-store/event-store.js'
import { evolved, readEvent } from '../../event-store/read-event.js'

interface Change {
  readonly event: RecordedEvent
  /** As the transfer stood after the event. */
  readonly transfer: Transfer
}

/** Records the callbacks that a transfer's status changes call for: once each, and in order. */
export class ChangeRecorder {
  constructor(
    private readonly store: EventStore,
    private readonly commands: CallbackCommands,
  ) {}

  /**
   * False for an event that surely calls for no callback: a creation that its merchant did not want to hear of. Reads
   * nothing, as creations are most of the log.
   */
  concerns({ type, data }: RecordedEvent): boolean {
    const isCreation = type === 'DepositCreated' || type === 'WithdrawalCreated'
    return !isCreation || data.told === true
  }

  /**
   * Records what is not recorded yet of the transfer's changes up to and including `event`. The earlier ones too: events
   * may reach us in another order, and a callback that is recorded late would be sent late.
   * @returns how many were missing. @throws StoreUnavailableError, TooMuchContentionError, UnreadableEventError
   */
  async recordUpTo(event: RecordedEvent): Promise<number> {
    const changes = await this.changesUpTo(event)
    const last = changes.at(-1)
    if (!last) return 0
    const { trackingId } = last.transfer
    let lane = await this.commands.load(trackingId)
    const recorded = new Set(lane.state.deliveries.map(({ webhookId }) => webhookId))
    const missing = changes.filter((change) => !recorded.has(change.event.id))
    for (const change of missing) lane = await this.record(change, lane)
    return missing.length
  }

  private async changesUpTo(last: RecordedEvent): Promise<Change[]> {
    const events = await this.store.readStream(last.stream, { maxCount: last.revision + 1 })
    const changes: Change[] = []
    let before: TransferState = transferDecider.initialState
    for (const event of events) {
      const decoded = readEvent(event) as TransferEvent | undefined
      if (!decoded) continue
      const transfer = evolved(transferDecider.evolve, before, event, decoded)
      if (transfer.kind === 'none') throw new Error(`${event.stream}@${event.revision} left no transfer`)
      if (isTold(decoded, before, transfer)) changes.push({ event, transfer })
      before = transfer
    }
    return changes
  }

  /** The lane with the callback in it. */
  private async record({ event, transfer }: Change, lane: Loaded<Lane>): Promise<Loaded<Lane>> {
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
    if (!result.accepted) throw new Error(`${event.stream}@${event.revision}: ${result.refusal.message}`)
    return result
  }
}

/** By what the log says and not by today's settings: else one that is changed since would tell of old creations. */
function isTold(event: TransferEvent, before: TransferState, after: Transfer): boolean {
  if (event.type === 'DepositCreated' || event.type === 'WithdrawalCreated') return event.data.told
  return before.kind !== 'none' && before.status !== after.status
}
