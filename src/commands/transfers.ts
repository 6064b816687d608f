import { type Refusal, refuse } from '../domain/decision.js'
import { type HashedRequest, hashedTexts, requestsIn } from '../domain/hash-code.js'
import type { MerchantSettings } from '../domain/merchant/settings.js'
import { formatShortest, formatTwoDecimals, parseAmount } from '../domain/money.js'
import { openCollection, paymentDecider } from '../domain/payment/payment.js'
import { hashStream, paymentStream, transferStream } from '../domain/streams.js'
import { later, minuteMs } from '../domain/time.js'
import type {
  CreateDeposit,
  CreateWithdrawal,
  MismatchPolicy,
  ReceiveFunds,
  TransferCommand,
} from '../domain/transfer/commands.js'
import { transferDecider } from '../domain/transfer/decide.js'
import type { TransferEvent, TransferKind } from '../domain/transfer/events.js'
import type { Transfer, TransferState } from '../domain/transfer/transfer.js'
import { type EventData, encodeEvent } from '../event-store/event-codec.js'
import { type Append, type EventStore, WrongExpectedRevisionError } from '../event-store/event-store.js'
import { readEvent, whyUnreadable } from '../event-store/read-event.js'
import {
  type Clock,
  type CommandContext,
  type CommandResult,
  type HandleOptions,
  handleCommand,
  loadStream,
  unread,
} from './handle-command.js'
import { type HistoryEntry, readHistory } from './history.js'
import { derivedEventId, hashedTextStream, hashIdOf, trackingIdOf } from './ids.js'

/** A hashCode and the amount text it was made of, or is said to be. */
export interface HashOfRequest {
  readonly hashCode: string
  readonly amountText: string
}

interface Hashed {
  /** Verified; absent when the request carried none. */
  readonly hash?: HashOfRequest | undefined
  /** The merchant may have transfers created before requests claimed their hashed texts: those are looked at, too. */
  readonly mayHaveUnclaimed?: boolean
}

export type DepositRequest = Omit<CreateDeposit, 'type' | 'trackingId' | 'at' | 'expiresAt'> &
  Hashed & { readonly expiryMinutes: number }
export type WithdrawalRequest = Omit<CreateWithdrawal, 'type' | 'trackingId' | 'at'> & Hashed
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

export type TransferResult =
  | {
      readonly accepted: true
      readonly transfer: Transfer
      readonly changed: boolean
      /** Of the last event when this was decided, or of the last one it led to. */
      readonly revision: number
    }
  | { readonly accepted: false; readonly refusal: Refusal }

type CreateCommand = CreateDeposit | CreateWithdrawal

interface Found {
  readonly transfer: Transfer
  /** Of its last event. */
  readonly revision: number
}

export const defaultCompletionGuardFactor = 10

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
   * The deposit that the same request made before, whatever would be refused today; undefined when there is none. Appends nothing.
   * `unproven`: a hashCode that no secret of today makes; then it must be the one that was accepted at first.
   */
  async depositBefore(request: DepositRequest, unproven?: HashOfRequest): Promise<Transfer | undefined> {
    return (await this.#before(this.#depositCommand(request), unproven))?.transfer
  }

  /** As {@link depositBefore}. */
  async withdrawalBefore(request: WithdrawalRequest, unproven?: HashOfRequest): Promise<Transfer | undefined> {
    return (await this.#before(this.#withdrawalCommand(request), unproven))?.transfer
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

  /** Whether an event is there that cannot be read, and that nobody has decided to pass over. @throws StoreUnavailableError */
  async isUnreadable(trackingId: string, revision: number): Promise<boolean> {
    const [recorded] = await this.store.readStream(transferStream(trackingId), { fromRevision: revision, maxCount: 1 })
    if (recorded?.revision !== revision || recorded.isPassedOver) return false
    return whyUnreadable(recorded) !== undefined
  }

  complete(trackingId: string, request: CompleteRequest, context: CommandContext): Promise<TransferResult> {
    const { receiptUrl = null, message = null, reason = null, ...amounts } = request
    const named = { type: 'Complete', ...amounts, receiptUrl, message, reason } as const
    const guardFactor = this.completionGuardFactor
    return this.#judged(trackingId, context, (settings) => {
      return { ...named, mismatchPolicy: mismatchPolicyOf(settings), guardFactor, at: this.clock() }
    })
  }

  changeStatus(
    trackingId: string,
    type: 'SendToManualControl' | 'Cancel' | 'Fail',
    message: string | null,
    context: CommandContext,
  ): Promise<TransferResult> {
    return this.#execute(trackingId, { type, message, at: this.clock() }, context)
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
    return this.#judged(trackingId, context, commandFor, onceId)
  }

  /** Money of a deposit was given back: recorded once for each receipt. */
  returnFunds(
    trackingId: string,
    returned: { readonly amountMinor: bigint; readonly receiptUrl: string },
    context: CommandContext,
  ): Promise<TransferResult> {
    return this.#judged(trackingId, context, ({ mismatchToleranceMinor: toleranceMinor }) => {
      return { type: 'ReturnFunds', ...returned, toleranceMinor, at: this.clock() }
    })
  }

  /** Nothing more has to be done about a deposit's money, which ends its need for attention. */
  resolveAttention(trackingId: string, reason: string, context: CommandContext): Promise<TransferResult> {
    return this.#execute(trackingId, { type: 'ResolveAttention', reason, at: this.clock() }, context)
  }

  /** Puts a cancelled or failed deposit into ManualControl. */
  reopen(trackingId: string, reason: string, context: CommandContext): Promise<TransferResult> {
    return this.#execute(trackingId, { type: 'Reopen', reason, at: this.clock() }, context)
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

  #depositCommand(request: DepositRequest): CreateDeposit {
    const { hash: _hash, mayHaveUnclaimed: _unclaimed, expiryMinutes, ...rest } = request
    const at = this.clock()
    const expiresAt = later(at, expiryMinutes * minuteMs)
    const trackingId = trackingIdOf(request.merchantId, 'deposit', request.referenceId)
    return { type: 'CreateDeposit', trackingId, at, expiresAt, ...rest }
  }

  #withdrawalCommand(request: WithdrawalRequest): CreateWithdrawal {
    const { hash: _hash, mayHaveUnclaimed: _unclaimed, ...rest } = request
    const trackingId = trackingIdOf(request.merchantId, 'withdrawal', request.referenceId)
    return { type: 'CreateWithdrawal', trackingId, at: this.clock(), ...rest }
  }

  async #create(
    command: CreateCommand,
    { hash, mayHaveUnclaimed }: Hashed,
    context: CommandContext,
  ): Promise<TransferResult> {
    const texts = hashedTexts(command.amountMinor, hash?.amountText)
    if (mayHaveUnclaimed && (await this.#isOfAnother(command, texts))) return this.#reused(command)
    let claims = texts.map((amountText) => claim(command, amountText, hash?.hashCode, context))
    const stream = transferStream(command.trackingId)
    for (let attempt = 0; attempt <= claims.length; attempt++) {
      try {
        const options = { loaded: unread(transferDecider), before: claims }
        return toResult(await handleCommand(this.store, transferDecider, stream, command, context, options))
      } catch (error) {
        if (!(error instanceof WrongExpectedRevisionError)) throw error
        const refused = claims.find((each) => each.stream === error.stream)
        if (!refused) throw error
        const free = await this.#afterSkipped(refused)
        if (!free) return (await this.#isKnownAnothers(refused)) ? hashReused : this.#reused(command)
        claims = claims.map((each) => (each === refused ? free : each))
      }
    }
    return this.#reused(command)
  }

  /** The claim after events that are skipped, when nothing else is in its stream; undefined when another request's is. @throws UnreadableEventError */
  async #afterSkipped(claim: Append): Promise<Append | undefined> {
    const events = await this.store.readStream(claim.stream)
    const made = events.find(({ id }) => id === claim.events[0]?.id)
    if (!made && events.some((event) => readEvent(event))) return undefined
    const revision = made ? made.revision - 1 : (events.at(-1)?.revision ?? -1)
    return revision < 0 ? undefined : { ...claim, expectedRevision: revision }
  }

  /** A claim that knows its kind and is not this request's is another's; of an older one this cannot be said. */
  async #isKnownAnothers({ stream }: Append): Promise<boolean> {
    const claimed = (await this.store.readStream(stream)).map(readEvent).find((event) => event !== undefined)
    return claimed?.type === 'HashCodeSeen' && claimed.data.kind !== null
  }

  /** A transfer created before requests claimed texts may go by a hash of this request: all that the texts may stand for is looked up. */
  async #isOfAnother(command: CreateCommand, texts: readonly string[]): Promise<boolean> {
    const own = transferStream(command.trackingId)
    const meant = new Map<string, HashedRequest>()
    for (const request of texts.flatMap((text) => requestsIn(text + command.referenceId))) {
      for (const kind of ['deposit', 'withdrawal'] as const) {
        meant.set(transferStream(trackingIdOf(command.merchantId, kind, request.referenceId)), request)
      }
    }
    meant.delete(own)
    const known = [...meant].map(async ([stream, { amountMinor }]) => {
      const { state } = await loadStream(this.store, transferDecider, stream)
      return state.kind !== 'none' && state.amountMinor === amountMinor
    })
    return (await Promise.all(known)).includes(true)
  }

  /** What two kinds could share before may have made this very transfer: then it is answered. */
  async #reused(command: CreateCommand): Promise<TransferResult> {
    const found = await this.#before(command)
    return found ? { accepted: true, ...found, changed: false } : hashReused
  }

  async #before(command: CreateCommand, unproven?: HashOfRequest): Promise<Found | undefined> {
    const found = await this.find(command.trackingId)
    if (!found || !transferDecider.decide(command, found.transfer).accepted) return undefined
    return unproven && !(await this.#wasAccepted(unproven, found.transfer)) ? undefined : found
  }

  /** Whether this is the hashCode that the transfer's request was first accepted with. */
  async #wasAccepted({ hashCode, amountText }: HashOfRequest, transfer: Transfer): Promise<boolean> {
    const { merchantId, kind, referenceId, amountMinor } = transfer
    const texts = new Set([amountText, formatShortest(amountMinor), formatTwoDecimals(amountMinor)])
    const streams = [...texts].map((text) => hashedTextStream(merchantId, text + referenceId))
    const hashId = hashIdOf(merchantId, hashCode)
    const isThis = (claimed: EventData<'HashCodeSeen'>) =>
      claimed.referenceId === referenceId &&
      parseAmount(claimed.amountText) === amountMinor &&
      // An older claim is found by the hashCode alone, and knows no kind.
      (claimed.kind === null || (claimed.kind === kind && claimed.hashId === hashId))
    const claims = [hashStream(hashId), ...streams].map(async (stream) => {
      const claimed = (await this.store.readStream(stream)).map(readEvent).find((event) => event !== undefined)
      return claimed?.type === 'HashCodeSeen' && isThis(claimed.data)
    })
    return (await Promise.all(claims)).includes(true)
  }

  /** A command that depends on the settings of the transfer's merchant: the transfer is read once for both. */
  async #judged(
    trackingId: string,
    context: CommandContext,
    commandFor: (settings: MerchantSettings) => TransferCommand,
    onceId?: string,
  ): Promise<TransferResult> {
    const loaded = await loadStream(this.store, transferDecider, transferStream(trackingId), { onceId })
    if (loaded.state.kind === 'none') return refuse('not-found', 'There is no such transfer.')
    const settings = await this.#settings(loaded.state.merchantId)
    return this.#execute(trackingId, commandFor(settings), context, { loaded, onceId })
  }

  async #execute(
    trackingId: string,
    command: TransferCommand,
    context: CommandContext,
    options?: HandleOptions<TransferState>,
  ): Promise<TransferResult> {
    const stream = transferStream(trackingId)
    return toResult(await handleCommand(this.store, transferDecider, stream, command, context, options))
  }

  async #settings(merchantId: string): Promise<MerchantSettings> {
    const settings = await this.settingsOf(merchantId)
    if (!settings) throw new Error(`transfer of an unknown merchant ${merchantId}`)
    return settings
  }
}

const hashReused = refuse(
  'hash-reused',
  'This hashCode stands for another request: another kind, amount or referenceId.',
)

function mismatchPolicyOf(settings: MerchantSettings): MismatchPolicy {
  return { toleranceMinor: settings.mismatchToleranceMinor, autoCancel: settings.autoCancelMismatch }
}

/** The id derives from the request, so a repeat of it is already done, and any other request is a conflict. */
function claim(
  { type, merchantId, referenceId, at }: CreateCommand,
  amountText: string,
  hashCode: string | undefined,
  context: CommandContext,
): Append {
  const kind: TransferKind = type === 'CreateDeposit' ? 'deposit' : 'withdrawal'
  const hashId = hashCode === undefined ? null : hashIdOf(merchantId, hashCode)
  const event = { type: 'HashCodeSeen', data: { merchantId, kind, amountText, referenceId, hashId, at } } as const
  return {
    stream: hashedTextStream(merchantId, amountText + referenceId),
    expectedRevision: 'no_stream',
    events: [encodeEvent(event, context, derivedEventId(merchantId, `request:${kind}:${amountText}|${referenceId}`))],
  }
}

function toResult(result: CommandResult<TransferState, TransferEvent>): TransferResult {
  if (!result.accepted) return result
  const { state, revision, events } = result
  if (state.kind === 'none' || revision === 'no_stream') throw new Error('an accepted command left no transfer')
  return { accepted: true, transfer: state, changed: events.length > 0, revision }
}
