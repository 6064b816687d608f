import { integrityDecider } from '../../domain/integrity/integrity.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { openCollection, paymentDecider } from '../../domain/payment/payment.js'
import { integrityStream, paymentStream, transferStream } from '../../domain/streams.js'
import type { Transfer, TransferState } from '../../domain/transfer/transfer.js'
import type {
  Approve,
  ChangeStatus,
  Complete,
  CreateDeposit,
  CreateWithdrawal,
  MismatchPolicy,
  ReceiveFunds,
  ReturnFunds,
  Settler,
  TransferCommand,
} from '../../domain/transfer/transfer-commands.js'
import { transferDecider } from '../../domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../domain/transfer/transfer-events.js'
import type { EventStore } from '../../event-store/event-store.js'
import { whyUnreadable } from '../../event-store/read-event.js'
import type { Clock } from '../../kernel/clock.js'
import { type Refused, refuse } from '../../kernel/decision.js'
import { addMs, minuteMs } from '../../kernel/time.js'
import {
  type CommandContext,
  type CommandResult,
  type HandleOptions,
  handleCommand,
  loadStream,
} from '../handle-command.js'
import { derivedEventId, trackingIdOf } from '../ids.js'
import { type HistoryEntry, readHistory } from '../stream-history.js'
import { type CreateCommand, createWithUniqueHash, type RequestHash, wasCreatedWithHash } from './hash-uniqueness.js'

interface WithHash {
  /** The verified hashCode; omitted if the request has none. */
  readonly hash?: RequestHash | undefined
}

export type DepositRequest = Omit<CreateDeposit, 'type' | 'trackingId' | 'at' | 'expiresAt'> &
  WithHash & { readonly expiryMinutes: number }
export type WithdrawalRequest = Omit<CreateWithdrawal, 'type' | 'trackingId' | 'at'> & WithHash
/** What both have. */
export type TransferRequest = Omit<WithdrawalRequest, 'accountNumber' | 'identityNumber'>

export interface CompleteRequest {
  readonly transactionAmountMinor?: bigint
  /** The same amount once more, where it is unlikely. */
  readonly confirmedAmountMinor?: bigint
  readonly receiptUrl?: string
  readonly message?: string
  /** Why another amount than was received. */
  readonly reason?: string
}

/** How somebody acts who has looked at a transfer before. */
export interface Acting {
  /** Of the last event that they saw: where anything has happened since, nothing is done. */
  readonly revision?: number
  /** Settles a withdrawal under a claim of their own only. */
  readonly underClaim?: boolean
}

export type TransferResult =
  | {
      readonly accepted: true
      readonly transfer: Transfer
      readonly changed: boolean
      /** Of the last event when this was decided, or of the last one it led to. */
      readonly revision: number
    }
  | Refused

interface Found {
  readonly transfer: Transfer
  /** Of its last event. */
  readonly revision: number
}

export const defaultCompletionGuardFactor = 10
/** How many of the latest changes a refusal for a stale revision shows. */
const maxShownChanges = 5

/** All that is done to transfers. Every method may throw StoreUnavailableError or TooMuchContentionError. */
export class TransferCommands {
  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
    private readonly settingsOf: (merchantId: string) => Promise<MerchantSettings | undefined>,
    /** How many times the requested amount, or which fraction, a completion must confirm. */
    private readonly completionGuardFactor = defaultCompletionGuardFactor,
  ) {}

  createDeposit(request: DepositRequest, context: CommandContext): Promise<TransferResult> {
    return this.#create(this.#depositCommand(request), request, context)
  }

  createWithdrawal(request: WithdrawalRequest, context: CommandContext): Promise<TransferResult> {
    return this.#create(this.#withdrawalCommand(request), request, context)
  }

  /**
   * Returns the deposit that the same request created earlier, even if today's settings would reject it, or `undefined` if none exists.
   * Appends nothing. `unproven` is a hashCode that matches no valid secret: it must be the one that the deposit was created with.
   */
  findRepeatedDeposit(request: DepositRequest, unproven?: RequestHash): Promise<Transfer | undefined> {
    return this.#findRepeated(this.#depositCommand(request), unproven)
  }

  /** Does the same as {@link findRepeatedDeposit} for a withdrawal. */
  findRepeatedWithdrawal(request: WithdrawalRequest, unproven?: RequestHash): Promise<Transfer | undefined> {
    return this.#findRepeated(this.#withdrawalCommand(request), unproven)
  }

  /** Undefined when there is none. From the log, so never behind. */
  async find(trackingId: string): Promise<Found | undefined> {
    const { state, revision } = await loadStream(this.store, transferDecider, transferStream(trackingId))
    return state.kind === 'none' || revision === 'no_stream' ? undefined : { transfer: state, revision }
  }

  /** All that happened to it, oldest first; empty when there is none. */
  history(
    trackingId: string,
    unreadable: 'throw' | 'leave out' = 'throw',
  ): Promise<readonly HistoryEntry<TransferEvent>[]> {
    return readHistory(this.store, transferStream(trackingId), unreadable)
  }

  /** Whether an event is there that cannot be read, and that no one has decided to skip. @throws StoreUnavailableError */
  async isUnreadable(trackingId: string, revision: number): Promise<boolean> {
    const [recorded] = await this.store.readStream(transferStream(trackingId), { fromRevision: revision, maxCount: 1 })
    if (recorded?.revision !== revision || recorded.isSkipped) return false
    return whyUnreadable(recorded) !== undefined
  }

  /** Since the log did not verify and until a person says otherwise. From the log, so true on every node at once. */
  async arePayoutsStopped(): Promise<boolean> {
    const { state } = await loadStream(this.store, integrityDecider, integrityStream)
    return state.stoppedSince !== null
  }

  async complete(
    trackingId: string,
    request: CompleteRequest,
    context: CommandContext,
    acting: Acting = {},
  ): Promise<TransferResult> {
    const { receiptUrl = null, message = null, reason = null, ...amounts } = request
    const named = { ...amounts, type: 'Complete', receiptUrl, message, reason } as const
    const rules = { guardFactor: this.completionGuardFactor, payoutsStopped: await this.arePayoutsStopped() }
    const commandFor = (settings: MerchantSettings): Complete => {
      const { approvalAboveMinor } = settings
      const settler = this.#settler(context, acting)
      return { ...named, ...settler, ...rules, mismatchPolicy: mismatchPolicyOf(settings), approvalAboveMinor }
    }
    return this.#judged(trackingId, context, commandFor, seen(trackingId, acting, context, ['complete', request]))
  }

  changeStatus(
    trackingId: string,
    type: ChangeStatus['type'],
    message: string | null,
    context: CommandContext,
    acting: Acting = {},
  ): Promise<TransferResult> {
    const command = { type, message, ...this.#settler(context, acting) }
    return this.#execute(trackingId, command, context, seen(trackingId, acting, context, [type, message]))
  }

  /** Withdrawals only: for a quarter of an hour nobody else may settle it. */
  async claim(trackingId: string, context: CommandContext, acting: Acting = {}): Promise<TransferResult> {
    const payoutsStopped = await this.arePayoutsStopped()
    const command = { type: 'Claim', by: context.actor, payoutsStopped, at: this.clock() } as const
    return this.#execute(trackingId, command, context, seen(trackingId, acting, context, ['claim']))
  }

  release(trackingId: string, context: CommandContext, acting: Acting = {}): Promise<TransferResult> {
    const command = { type: 'Release', by: context.actor, at: this.clock() } as const
    return this.#execute(trackingId, command, context, seen(trackingId, acting, context, ['release']))
  }

  /** Withdrawals above the merchant's threshold only; of `amountMinor` to its account, or of the requested amount. */
  async approve(
    trackingId: string,
    request: { readonly amountMinor?: bigint },
    context: CommandContext,
    acting: Acting = {},
  ): Promise<TransferResult> {
    const payoutsStopped = await this.arePayoutsStopped()
    const commandFor = ({ approvalAboveMinor }: MerchantSettings): Approve => {
      return { ...request, type: 'Approve', by: context.actor, approvalAboveMinor, payoutsStopped, at: this.clock() }
    }
    return this.#judged(trackingId, context, commandFor, seen(trackingId, acting, context, ['approve', request]))
  }

  /**
   * Money of a deposit's `collection` (from 1) was taken: counted once, however often it is told. Completes a Pending deposit
   * (or has a person look at it); on any other the money is recorded and needs attention.
   */
  receiveFunds(
    trackingId: string,
    collection: number,
    received: { readonly receivedAmountMinor: bigint; readonly receiptUrl: string | null },
    context: CommandContext,
  ): Promise<TransferResult> {
    const onceId = derivedEventId(trackingId, `collection ${collection}`)
    const commandFor = (settings: MerchantSettings): ReceiveFunds => {
      const { manualControlAboveMinor } = settings
      const mismatchPolicy = mismatchPolicyOf(settings)
      return { type: 'ReceiveFunds', ...received, mismatchPolicy, manualControlAboveMinor, at: this.clock() }
    }
    return this.#judged(trackingId, context, commandFor, { onceId })
  }

  /** Money of a deposit was given back: recorded once for each receipt. */
  returnFunds(
    trackingId: string,
    returned: { readonly amountMinor: bigint; readonly receiptUrl: string },
    context: CommandContext,
    acting: Acting = {},
  ): Promise<TransferResult> {
    const commandFor = ({ mismatchToleranceMinor: toleranceMinor }: MerchantSettings): ReturnFunds => {
      return { type: 'ReturnFunds', ...returned, toleranceMinor, at: this.clock() }
    }
    return this.#judged(trackingId, context, commandFor, seen(trackingId, acting, context, ['return', returned]))
  }

  /** Nothing more has to be done about a deposit's money, which ends its need for attention. */
  resolveAttention(
    trackingId: string,
    reason: string,
    context: CommandContext,
    acting: Acting = {},
  ): Promise<TransferResult> {
    const command = { type: 'ResolveAttention', reason, at: this.clock() } as const
    return this.#execute(trackingId, command, context, seen(trackingId, acting, context, ['resolve', reason]))
  }

  /** Puts a cancelled or failed deposit into ManualControl. */
  reopen(trackingId: string, reason: string, context: CommandContext, acting: Acting = {}): Promise<TransferResult> {
    const command = { type: 'Reopen', reason, at: this.clock() } as const
    return this.#execute(trackingId, command, context, seen(trackingId, acting, context, ['reopen', reason]))
  }

  /** Follows from the erasure of its customer, whatever its status; nothing changes at a repeat. */
  erasePersonalData(trackingId: string, context: CommandContext): Promise<TransferResult> {
    // By its id and not by the state: once the key is destroyed the state says nothing of the customer before the event does.
    const onceId = derivedEventId(trackingId, 'erasure')
    return this.#execute(trackingId, { type: 'ErasePersonalData', at: this.clock() }, context, { onceId })
  }

  /** Cancels the deposit if its time is over and no money is being taken for it; otherwise nothing changes. */
  async expire(trackingId: string, context: CommandContext): Promise<TransferResult> {
    const payment = await loadStream(this.store, paymentDecider, paymentStream(trackingId))
    if (openCollection(payment.state)) {
      const found = await this.find(trackingId)
      if (found) return { accepted: true, ...found, changed: false }
    }
    return this.#execute(trackingId, { type: 'Expire', at: this.clock() }, context)
  }

  #depositCommand({ hash: _, expiryMinutes, ...request }: DepositRequest): CreateDeposit {
    const at = this.clock()
    const expiresAt = addMs(at, expiryMinutes * minuteMs)
    const trackingId = trackingIdOf(request.merchantId, 'deposit', request.referenceId)
    return { type: 'CreateDeposit', trackingId, at, expiresAt, ...request }
  }

  #withdrawalCommand({ hash: _, ...request }: WithdrawalRequest): CreateWithdrawal {
    const trackingId = trackingIdOf(request.merchantId, 'withdrawal', request.referenceId)
    return { type: 'CreateWithdrawal', trackingId, at: this.clock(), ...request }
  }

  async #create(command: CreateCommand, { hash }: WithHash, context: CommandContext): Promise<TransferResult> {
    return toResult(await createWithUniqueHash(this.store, command, hash, context))
  }

  async #findRepeated(command: CreateCommand, unproven?: RequestHash): Promise<Transfer | undefined> {
    const { transfer } = (await this.find(command.trackingId)) ?? {}
    if (!transfer || !transferDecider.decide(command, transfer).accepted) return undefined
    const isProven = !unproven || (await wasCreatedWithHash(this.store, transfer, unproven.hashCode))
    return isProven ? transfer : undefined
  }

  /** A command that depends on the settings of the transfer's merchant: the transfer is read once for both. */
  async #judged(
    trackingId: string,
    context: CommandContext,
    commandFor: (settings: MerchantSettings) => TransferCommand,
    options: Seen = {},
  ): Promise<TransferResult> {
    const loaded = await loadStream(this.store, transferDecider, transferStream(trackingId), options)
    if (loaded.state.kind === 'none') return refuse('not-found', 'unknown-transfer')
    const settings = await this.#settings(loaded.state.merchantId)
    return this.#execute(trackingId, commandFor(settings), context, { loaded, ...options })
  }

  async #execute(
    trackingId: string,
    command: TransferCommand,
    context: CommandContext,
    options?: HandleOptions<TransferState>,
  ): Promise<TransferResult> {
    const stream = transferStream(trackingId)
    const result = toResult(await handleCommand(this.store, transferDecider, stream, command, context, options))
    if (result.accepted || result.refusal.rule !== 'changed-meanwhile') return result
    const history = await this.history(trackingId)
    const changes = history
      .filter(({ revision }) => revision > options!.seenRevision!)
      .slice(-maxShownChanges)
      .map(({ event: { type, data }, metadata }) => ({ type, by: metadata.actor, at: data.at }))
    return refuse('conflict', 'changed-meanwhile', { changes })
  }

  #settler({ actor }: CommandContext, { underClaim = false }: Acting): Settler {
    return { by: actor, underClaim, at: this.clock() }
  }

  async #settings(merchantId: string): Promise<MerchantSettings> {
    const settings = await this.settingsOf(merchantId)
    if (!settings) throw new Error(`transfer of an unknown merchant ${merchantId}`)
    return settings
  }
}

type Seen = Pick<HandleOptions<TransferState>, 'onceId' | 'seenRevision'>

/**
 * What somebody does about a transfer as they saw it. The same done by the same on the same revision is one action, however often its
 * request arrives: who lost the answer asks again, and is told of no stranger.
 */
function seen(
  trackingId: string,
  { revision }: Acting,
  { actor }: CommandContext,
  action: readonly [name: string, ...words: unknown[]],
): Seen {
  if (revision === undefined) return {}
  const purpose = JSON.stringify([actor, revision, ...action], (_, value) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
  return { seenRevision: revision, onceId: derivedEventId(trackingId, purpose) }
}

function mismatchPolicyOf(settings: MerchantSettings): MismatchPolicy {
  return { toleranceMinor: settings.mismatchToleranceMinor, autoCancel: settings.autoCancelMismatch }
}

function toResult(result: CommandResult<TransferState, TransferEvent>): TransferResult {
  const { state } = result
  if (!result.accepted) return result
  const { revision, events } = result
  if (state.kind === 'none' || revision === 'no_stream') throw new Error('an accepted command left no transfer')
  return { accepted: true, transfer: state, changed: events.length > 0, revision }
}
