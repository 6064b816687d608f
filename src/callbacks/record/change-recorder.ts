import { LRUCache } from 'lru-cache'
import type { CallbackCommands } from '../../commands/callback/callback-commands.js'
import { emptyStream, type Loaded } from '../../commands/handle-command.js'
import { callbackDecider, type Lane } from '../../domain/callback/callback-decider.js'
import { statusCodes, type Transfer, type TransferState } from '../../domain/transfer/transfer.js'
import { transferDecider } from '../../domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../domain/transfer/transfer-events.js'
import type { EventStore, RecordedEvent } from '../../event-store/event-store.js'
import { evolved, readEvent } from '../../event-store/read-event.js'
import { streamAttributes } from '../../tracing/traced-store.js'
import { inSpanOf } from '../../tracing/tracing.js'

interface Change {
  readonly event: RecordedEvent
  /** As the transfer stood after the event. */
  readonly transfer: Transfer
}

/** What the sweep finds done without reading: as many events as a busy service records before the sweep comes by. */
const maxRemembered = 20_000

/** They leave the status as it is. */
const silentTypes: ReadonlySet<string> = new Set<TransferEvent['type']>([
  'LateFundsReceived',
  'FundsReturned',
  'AttentionResolved',
  'WithdrawalClaimed',
  'WithdrawalReleased',
  'WithdrawalApproved',
  'PersonalDataErased',
])

/** Records the callbacks that a transfer's status changes call for: once each, and in order. */
export class ChangeRecorder {
  /** By event id: everything up to there is recorded. */
  // By size: `max` would take the memory for all of them at once.
  private readonly done = new LRUCache<string, true>({ maxSize: maxRemembered, sizeCalculation: () => 1 })

  constructor(
    private readonly store: EventStore,
    private readonly commands: CallbackCommands,
  ) {}

  /**
   * False for an event that surely calls for no callback, such as a creation that its merchant did not want to hear of, or whose
   * callback was recorded here. Reads nothing, as creations are most of the log.
   */
  concerns({ id, type, data }: RecordedEvent): boolean {
    if (type === 'DepositCreated' || type === 'WithdrawalCreated') return data.told === true && !this.done.has(id)
    return !silentTypes.has(type) && !this.done.has(id)
  }

  /**
   * Records what is not recorded yet of the transfer's changes up to and including `event`. The earlier ones too: events
   * may reach us in another order, and a callback that is recorded late would be sent late.
   * `isNew`: nobody has recorded it as far as is known, and the lane of a first callback need not be read to append to it.
   * @returns how many were missing. @throws StoreUnavailableError, TooMuchContentionError, UnreadableEventError
   */
  async recordUpTo(event: RecordedEvent, { isNew = false } = {}): Promise<number> {
    const start = () => {
      const attributes = { ...streamAttributes(event.stream), 'transferd.event_type': event.type }
      return { name: 'callback record', kind: 'consumer', attributes } as const
    }
    const missing = await inSpanOf(event, start, async () => this.recordMissing(await this.changesUpTo(event), isNew))
    this.done.set(event.id, true)
    return missing
  }

  private async recordMissing(changes: readonly Change[], isNew: boolean): Promise<number> {
    const [first] = changes
    if (!first) return 0
    // Should there be a lane after all, the append is refused or done already, and it is read then.
    let lane: Loaded<Lane> =
      isNew && changes.length === 1 ? emptyStream(callbackDecider) : await this.commands.load(first.transfer.trackingId)
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
      if (triggersCallback(decoded, before, transfer)) changes.push({ event, transfer })
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
    if (!result.accepted) throw new Error(`${event.stream}@${event.revision}: ${result.refusal.rule}`)
    return result
  }
}

/** By what the log says and not by today's settings: else one that is changed since would tell of old creations. */
function triggersCallback(event: TransferEvent, before: TransferState, after: Transfer): boolean {
  if (event.type === 'DepositCreated' || event.type === 'WithdrawalCreated') return event.data.told
  return before.kind !== 'none' && before.status !== after.status
}
