import type { Refusal } from '../domain/decision.js'
import type { MerchantSettings } from '../domain/merchant/events.js'
import { openCollection, paymentDecider } from '../domain/payment/payment.js'
import type { MismatchPolicy, TransferCommand } from '../domain/transfer/commands.js'
import { transferDecider } from '../domain/transfer/decide.js'
import type { DepositChannel, TransferEvent } from '../domain/transfer/events.js'
import type { Transfer, TransferState } from '../domain/transfer/transfer.js'
import { encodeEvent } from '../event-store/event-codec.js'
import { type Append, type EventStore, WrongExpectedRevisionError } from '../event-store/event-store.js'
import {
  type Clock,
  type CommandContext,
  type CommandResult,
  type HistoryEntry,
  handleCommand,
  loadStream,
  readHistory,
} from './handle-command.js'
import { derivedEventId, hashCodeStream, paymentStream, trackingIdOf, transferStream } from './ids.js'

export interface TransferRequest {
  readonly merchantId: string
  readonly referenceId: string
  readonly amountMinor: bigint
  readonly userId: string
  readonly name: string
  readonly username: string
  readonly paymentMethod: number
  /** The merchant wants a callback of the creation. */
  readonly told: boolean
  /** The verified hashCode and the amount text it was made of; absent when the request carried none. */
  readonly hash?: { readonly hashCode: string; readonly amountText: string } | undefined
}

export interface DepositRequest extends TransferRequest {
  readonly channel: DepositChannel
  readonly expiryMinutes: number
}

export interface WithdrawalRequest extends TransferRequest {
  readonly accountNumber: string
  readonly identityNumber: string | null
}

export interface CompleteRequest {
  readonly transactionAmountMinor?: bigint
  readonly receiptUrl?: string
  readonly message?: string
}

export type TransferResult =
  | { readonly accepted: true; readonly transfer: Transfer; readonly changed: boolean }
  | {
      readonly accepted: false
      readonly refusal: Refusal | { readonly reason: 'hash-reused'; readonly message: string }
    }

/** All that is done to transfers. Every method may throw StoreUnavailableError or TooMuchContentionError. */
export class TransferCommands {
  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
    private readonly settingsOf: (merchantId: string) => Promise<MerchantSettings | undefined>,
  ) {}

  createDeposit(request: DepositRequest, context: CommandContext): Promise<TransferResult> {
    const { hash, expiryMinutes, ...rest } = request
    const at = this.clock()
    const expiresAt = new Date(Date.parse(at) + expiryMinutes * 60_000).toISOString()
    const trackingId = trackingIdOf(request.merchantId, 'deposit', request.referenceId)
    return this.create({ type: 'CreateDeposit', trackingId, at, expiresAt, ...rest }, hash, context)
  }

  createWithdrawal(request: WithdrawalRequest, context: CommandContext): Promise<TransferResult> {
    const { hash, ...rest } = request
    const trackingId = trackingIdOf(request.merchantId, 'withdrawal', request.referenceId)
    return this.create({ type: 'CreateWithdrawal', trackingId, at: this.clock(), ...rest }, hash, context)
  }

  /** Undefined when there is none. From the log, so never behind. */
  async find(trackingId: string): Promise<{ readonly transfer: Transfer; readonly revision: number } | undefined> {
    const { state, revision } = await loadStream(this.store, transferDecider, transferStream(trackingId))
    return state.kind === 'none' || revision === 'no_stream' ? undefined : { transfer: state, revision }
  }

  /** All that happened to it, oldest first; empty when there is none. */
  history(trackingId: string): Promise<readonly HistoryEntry<TransferEvent>[]> {
    return readHistory(this.store, transferStream(trackingId))
  }

  async complete(trackingId: string, request: CompleteRequest, context: CommandContext): Promise<TransferResult> {
    const found = await this.find(trackingId)
    if (!found) return { accepted: false, refusal: { reason: 'not-found', message: 'There is no such transfer.' } }
    const { receiptUrl = null, message = null, ...amount } = request
    const mismatchPolicy = mismatchPolicyOf(await this.settings(found.transfer.merchantId))
    const command = { type: 'Complete', ...amount, receiptUrl, message, mismatchPolicy, at: this.clock() } as const
    return this.execute(trackingId, command, context)
  }

  changeStatus(
    trackingId: string,
    type: 'SendToManualControl' | 'Cancel' | 'Fail',
    message: string | null,
    context: CommandContext,
  ): Promise<TransferResult> {
    return this.execute(trackingId, { type, message, at: this.clock() }, context)
  }

  /**
   * Money of a deposit's `collection` (from 1) was taken: counted once, however often it is told. Completes a Pending deposit
   * (or has a person look at it); on any other the money is recorded and needs attention.
   */
  async receiveFunds(
    trackingId: string,
    collection: number,
    received: { readonly receivedAmountMinor: bigint; readonly receiptUrl: string | null },
    context: CommandContext,
  ): Promise<TransferResult> {
    const found = await this.find(trackingId)
    if (!found) return { accepted: false, refusal: { reason: 'not-found', message: 'There is no such transfer.' } }
    const settings = await this.settings(found.transfer.merchantId)
    const mismatchPolicy = mismatchPolicyOf(settings)
    const { manualControlAboveMinor } = settings
    const at = this.clock()
    const command = { type: 'ReceiveFunds', ...received, mismatchPolicy, manualControlAboveMinor, at } as const
    const onceId = derivedEventId(trackingId, `collection ${collection}`)
    return this.execute(trackingId, command, context, { onceId })
  }

  /** Puts a cancelled or failed deposit into ManualControl. */
  reopen(trackingId: string, reason: string, context: CommandContext): Promise<TransferResult> {
    return this.execute(trackingId, { type: 'Reopen', reason, at: this.clock() }, context)
  }

  /** Cancels the deposit if its time is over and no money is being taken for it; otherwise nothing changes. */
  async expire(trackingId: string, context: CommandContext): Promise<TransferResult> {
    const payment = await loadStream(this.store, paymentDecider, paymentStream(trackingId))
    if (openCollection(payment.state)) {
      const found = await this.find(trackingId)
      if (found) return { accepted: true, transfer: found.transfer, changed: false }
    }
    return this.execute(trackingId, { type: 'Expire', at: this.clock() }, context)
  }

  private async create(
    command: TransferCommand & { type: 'CreateDeposit' | 'CreateWithdrawal' },
    hash: TransferRequest['hash'],
    context: CommandContext,
  ): Promise<TransferResult> {
    const before = hash ? [hashCodeSeen(command.merchantId, command.referenceId, hash, command.at, context)] : []
    const stream = transferStream(command.trackingId)
    try {
      return toResult(
        await handleCommand(this.store, transferDecider, stream, command, context, { assumeNew: true, before }),
      )
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError) || error.stream !== before[0]?.stream) throw error
      const message = 'This hashCode was used before, for another amount and referenceId.'
      return { accepted: false, refusal: { reason: 'hash-reused', message } }
    }
  }

  private async execute(
    trackingId: string,
    command: TransferCommand,
    context: CommandContext,
    options: { readonly onceId?: string } = {},
  ): Promise<TransferResult> {
    const stream = transferStream(trackingId)
    return toResult(await handleCommand(this.store, transferDecider, stream, command, context, options))
  }

  private async settings(merchantId: string): Promise<MerchantSettings> {
    const settings = await this.settingsOf(merchantId)
    if (!settings) throw new Error(`transfer of an unknown merchant ${merchantId}`)
    return settings
  }
}

function mismatchPolicyOf(settings: MerchantSettings): MismatchPolicy {
  return { toleranceMinor: settings.mismatchToleranceMinor, autoCancel: settings.autoCancelMismatch }
}

/** The id derives from the pair, so a repeat of the same request is already done and any other pair is a conflict. */
function hashCodeSeen(
  merchantId: string,
  referenceId: string,
  { hashCode, amountText }: NonNullable<TransferRequest['hash']>,
  at: string,
  context: CommandContext,
): Append {
  const event = { type: 'HashCodeSeen', data: { merchantId, amountText, referenceId, at } } as const
  const id = derivedEventId(merchantId, `hashCode:${hashCode.toUpperCase()}:${amountText}|${referenceId}`)
  return {
    stream: hashCodeStream(merchantId, hashCode),
    expectedRevision: 'no_stream',
    events: [encodeEvent(event, context, id)],
  }
}

function toResult(result: CommandResult<TransferState, TransferEvent>): TransferResult {
  if (!result.accepted) return { accepted: false, refusal: result.refusal }
  if (result.state.kind === 'none') throw new Error('an accepted command left no transfer')
  return { accepted: true, transfer: result.state, changed: result.events.length > 0 }
}
