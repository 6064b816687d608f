import { hashedTexts, referencesIn, requestsIn } from '../../domain/hash-code.js'
import { integrityDecider } from '../../domain/integrity/integrity.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-settings.js'
import { formatShortest, formatTwoDecimals, parseAmount } from '../../domain/money.js'
import { openCollection, paymentDecider } from '../../domain/payment/payment.js'
import { hashStream, integrityStream, paymentStream, transferStream } from '../../domain/streams.js'
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
import type { TransferEvent, TransferKind } from '../../domain/transfer/transfer-events.js'
import { type EventData, encodeEvent } from '../../event-store/event-codec.js'
import { type Append, type EventStore, WrongExpectedRevisionError } from '../../event-store/event-store.js'
import { readEvent, whyUnreadable } from '../../event-store/read-event.js'
import type { Clock } from '../../kernel/clock.js'
import { type Refusal, refuse } from '../../kernel/decision.js'
import { later, minuteMs } from '../../kernel/time.js'
import {
  type CommandContext,
  type CommandResult,
  type HandleOptions,
  handleCommand,
  loadStream,
  unread,
} from '../handle-command.js'
import { derivedEventId, hashedTextStream, hashIdOf, trackingIdOf } from '../ids.js'
import { type HistoryEntry, readHistory } from '../stream-history.js'

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
  | RefusedTransfer

export interface RefusedTransfer {
  readonly accepted: false
  readonly refusal: Refusal
  /** As it was when this was decided; absent when there is none. */
  readonly transfer?: Transfer
  /** What has happened since the revision that was seen, where the refusal's rule is `changed-meanwhile`. */
  readonly since?: readonly HistoryEntry<TransferEvent>[]
}

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
    if (mayHaveUnclaimed && this.store.appendsInOneTransaction) {
      const hashId = hash && hashIdOf(command.merchantId, hash.hashCode)
      return this.#createUnclaimed(hashId === undefined ? command : { ...command, hashId }, texts, context)
    }
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

  /**
   * Claims nothing: the append that creates the transfer asks in the same moment that none is there which a hash of this request stands
   * for, too. One that is there was created with another amount for ever, or never will have been: it is asked for once.
   */
  async #createUnclaimed(
    command: CreateCommand,
    texts: readonly string[],
    context: CommandContext,
  ): Promise<TransferResult> {
    const others = othersMeant(command, texts)
    const stream = transferStream(command.trackingId)
    for (;;) {
      const before = [...others.keys()].map(
        (each): Append => ({ stream: each, expectedRevision: 'no_stream', events: [] }),
      )
      try {
        const options = { loaded: unread(transferDecider), before }
        return toResult(await handleCommand(this.store, transferDecider, stream, command, context, options))
      } catch (error) {
        const referenceId = error instanceof WrongExpectedRevisionError && others.get(error.stream)
        if (!referenceId) throw error
        if (await this.#isMeant(error.stream, referenceId, command, texts)) return this.#repeated(command, error.stream)
        others.delete(error.stream)
      }
    }
  }

  /** Its own transfer where that was created with this hash, or where nobody knows the hashes of the two: otherwise the hash is the other's. */
  async #repeated(command: CreateCommand, other: string): Promise<TransferResult> {
    const streams = [transferStream(command.trackingId), other]
    const [own, others] = await Promise.all(streams.map((stream) => this.#hashIdIn(stream)))
    const isOwn = own === (command.hashId ?? null) || (own === null && others === null)
    return isOwn ? this.#reused(command) : hashReused
  }

  /** A transfer that claimed nothing may go by a hash of this request: all that the texts may stand for is looked up. */
  async #isOfAnother(command: CreateCommand, texts: readonly string[]): Promise<boolean> {
    const others = [...othersMeant(command, texts)]
    const known = others.map(([stream, referenceId]) => this.#isMeant(stream, referenceId, command, texts))
    return (await Promise.all(known)).includes(true)
  }

  /** Whether there is such a transfer, with an amount that goes with its referenceId in one of the texts. */
  async #isMeant(
    stream: string,
    referenceId: string,
    command: CreateCommand,
    texts: readonly string[],
  ): Promise<boolean> {
    const { state } = await loadStream(this.store, transferDecider, stream)
    if (state.kind === 'none') return false
    const meant = texts.flatMap((text) => requestsIn(text + command.referenceId))
    return meant.some((request) => request.referenceId === referenceId && request.amountMinor === state.amountMinor)
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
    const hashId = hashIdOf(merchantId, hashCode)
    if ((await this.#hashIdIn(transferStream(transfer.trackingId))) === hashId) return true
    const texts = new Set([amountText, formatShortest(amountMinor), formatTwoDecimals(amountMinor)])
    const streams = [...texts].map((text) => hashedTextStream(merchantId, text + referenceId))
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

  /** Of the hashCode that the stream's transfer was created with; null when there was none or its event is older, undefined without a transfer. */
  async #hashIdIn(stream: string): Promise<string | null | undefined> {
    const created = (await this.store.readStream(stream)).map(readEvent).find((event) => event)
    const isCreation = created?.type === 'DepositCreated' || created?.type === 'WithdrawalCreated'
    return isCreation ? created.data.hashId : undefined
  }

  /** A command that depends on the settings of the transfer's merchant: the transfer is read once for both. */
  async #judged(
    trackingId: string,
    context: CommandContext,
    commandFor: (settings: MerchantSettings) => TransferCommand,
    options: Seen = {},
  ): Promise<TransferResult> {
    const loaded = await loadStream(this.store, transferDecider, transferStream(trackingId), options)
    if (loaded.state.kind === 'none') return refuse('not-found', 'There is no such transfer.')
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
    return { ...result, since: history.filter(({ revision }) => revision > options!.seenRevision!) }
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

const hashReused = refuse(
  'hash-reused',
  'This hashCode stands for another request: another kind, amount or referenceId.',
)

/** By their streams, the referenceIds of the transfers that a hash over these texts may stand for, beside the command's own. */
function othersMeant({ merchantId, referenceId, trackingId }: CreateCommand, texts: readonly string[]) {
  const meant = new Map<string, string>()
  for (const each of new Set(texts.flatMap((text) => referencesIn(text + referenceId)))) {
    meant.set(transferStream(trackingIdOf(merchantId, 'deposit', each)), each)
    meant.set(transferStream(trackingIdOf(merchantId, 'withdrawal', each)), each)
  }
  meant.delete(transferStream(trackingId))
  return meant
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
  const { state } = result
  if (!result.accepted)
    return { accepted: false, refusal: result.refusal, ...(state.kind !== 'none' && { transfer: state }) }
  const { revision, events } = result
  if (state.kind === 'none' || revision === 'no_stream') throw new Error('an accepted command left no transfer')
  return { accepted: true, transfer: state, changed: events.length > 0, revision }
}
