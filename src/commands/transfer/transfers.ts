import { hash } from 'node:crypto'
import { bankAccountId } from '../../domain/bank/bank-account.js'
import { bankFile } from '../../domain/bank-file.js'
import { type Refusal, refuse, refuseField, violate } from '../../domain/decider.js'
import { integrityDecider } from '../../domain/integrity.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { maxWalletExpiryMinutes } from '../../domain/merchant/merchant-settings.js'
import type { Currency } from '../../domain/money.js'
import { collectedFrom, collectedMinor, openCollection, paymentDecider } from '../../domain/payment.js'
import { isManual, type PaymentMethod } from '../../domain/payment-method.js'
import { integrityStream, paymentStream, transferStream } from '../../domain/streams.js'
import { targetDate, targetDayFrom } from '../../domain/target-days.js'
import { activeClaim } from '../../domain/transfer/payout.js'
import { isTerminal } from '../../domain/transfer/status.js'
import {
  type Deposit,
  isErased,
  type Refund,
  type Transfer,
  type TransferState,
} from '../../domain/transfer/transfer.js'
import type {
  CreateWithdrawal,
  MatchBankPayment,
  MismatchPolicy,
  TransferCommand,
} from '../../domain/transfer/transfer-commands.js'
import { transferDecider } from '../../domain/transfer/transfer-decider.js'
import type { RepaymentOutcome, TransferEvent } from '../../domain/transfer/transfer-events.js'
import type { ExceededLimit, WithdrawalLimit } from '../../domain/withdrawal-limits.js'
import { limitsOf } from '../../domain/withdrawal-limits.js'
import { encodeEvent, UnreadableEventError } from '../../event-store/event-codec.js'
import { type EventStore, StoreUnavailableError } from '../../event-store/event-store.js'
import { addMs, type Clock, dateIn, minuteMs } from '../../kernel/time.js'
import {
  type CommandContext,
  type CommandResult,
  type HandleOptions,
  type HistoryEntry,
  handleCommand,
  loadStream,
  onSeen,
  readHistory,
  retryOnConflict,
  TooMuchContentionError,
} from '../handle-command.js'
import { derivedEventId, trackingIdOf, uuidV5 } from '../ids.js'
import {
  type CreateCommand,
  createWithUniqueHash,
  hashIdOf,
  type RequestHash,
  wasCreatedWithHash,
} from './create-transfer.js'
import { type Counting, notCounted, type PayoutCounts } from './payout-counts.js'
import {
  type Acting,
  type BankFileRequest,
  type CreateRequest,
  type FoundTransfer,
  hasEffect,
  type ProducedFile,
  type TransferAction,
  type TransferResult,
} from './transfer-requests.js'

/** The installation's rules for settling transfers. */
export interface SettlementRules {
  /** A completion must be confirmed if its amount is this many times, or this fraction of, the requested amount. */
  readonly completionGuardFactor: number
  /** How many days after its completion a transfer can be corrected. */
  readonly correctionDays: number
  readonly paymentMethods: readonly PaymentMethod[]
  /** Whether the wallet can return money. */
  readonly walletRefunds: boolean
}

export const defaultRules = {
  completionGuardFactor: 10,
  correctionDays: 30,
  walletRefunds: true,
} as const satisfies Partial<SettlementRules>

/** Runs every command on transfers. Each method may throw StoreUnavailableError, TooMuchContentionError or UnreadableEventError. */
export class TransferCommands {
  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
    private readonly settingsOf: (merchantId: string) => Promise<MerchantSettings | undefined>,
    readonly rules: SettlementRules,
    readonly payouts: PayoutCounts,
  ) {}

  /** Creates a transfer, or returns the one that the same request created earlier. */
  async create(request: CreateRequest, context: CommandContext): Promise<TransferResult> {
    const amountText = request.hash?.amountText
    return toResult(await createWithUniqueHash(this.store, this.#createCommand(request), amountText, context))
  }

  /** Returns the transfer of the same request, even if today's settings would reject it. `unproven` must be the hashCode of its creation. */
  async findRepeated(request: CreateRequest, unproven?: RequestHash): Promise<Transfer | undefined> {
    const command = this.#createCommand(request)
    const { transfer } = (await this.find(command.trackingId)) ?? {}
    if (!transfer || !transferDecider.decide(command, transfer).accepted) return undefined
    const isProven = !unproven || (await wasCreatedWithHash(this.store, transfer, unproven.hashCode))
    return isProven ? transfer : undefined
  }

  async find(trackingId: string): Promise<FoundTransfer | undefined> {
    const { state, revision } = await loadStream(this.store, transferDecider, transferStream(trackingId))
    return state.kind === 'none' || revision === 'no_stream' ? undefined : { transfer: state, revision }
  }

  history(trackingId: string): Promise<readonly HistoryEntry<TransferEvent>[]> {
    return readHistory(this.store, transferStream(trackingId))
  }

  /** Returns whether payouts are stopped. Reads the log, so every node knows it immediately. */
  async arePayoutsStopped(): Promise<boolean> {
    const { state } = await loadStream(this.store, integrityDecider, integrityStream)
    return state.stoppedSince !== null
  }

  /**
   * Applies an action of the context's actor. A claim lasts 15 minutes. A return is recorded once for each receipt. An action that was done
   * before is a conflict, because its caller may have paid a second time, unless the same caller repeats the same request.
   */
  async act(
    trackingId: string,
    given: TransferAction,
    context: CommandContext,
    acting: Acting = {},
  ): Promise<TransferResult> {
    const action = withTrimmedReference(given)
    const result = await this.#withPayouts(action, await this.#act(trackingId, action, context, acting), context)
    if (!result.accepted || result.changed || result.isRepeat) return result
    const history = await this.history(trackingId)
    const done = history.findLast(({ revision, event }) => revision <= result.revision && hasEffect(action, event))
    // A reference identifies the payment, the correction or the return, so its repeat is not another user's action on an older state.
    const isIdentified = 'referenceId' in action || ('reference' in action && action.reference !== undefined)
    const isOwn = done?.metadata.actor === context.actor && (acting.revision === undefined || isIdentified)
    if (!done || isOwn) return result
    return refuse('conflict', 'done-before', { by: done.metadata.actor, done: done.event.data.at })
  }

  async #act(
    trackingId: string,
    action: TransferAction,
    context: CommandContext,
    acting: Acting,
  ): Promise<TransferResult> {
    const options = onSeen(transferStream(trackingId), acting.revision, context, action)
    const settler = () => ({ by: context.actor, underClaim: acting.underClaim ?? false, at: this.clock() })
    switch (action.type) {
      case 'Claim':
      case 'Complete': {
        const payoutsStopped = await this.arePayoutsStopped()
        return this.#payOut(trackingId, action, context, options, (settings, exceeded) => {
          const payout = { ...settler(), payoutsStopped }
          if (action.type === 'Claim') return { ...action, ...payout }
          const { approvalAboveMinor } = settings
          const { receiptUrl = null, message = null, reason = null } = action
          const guard = { guardFactor: this.rules.completionGuardFactor, mismatchPolicy: mismatchPolicyOf(settings) }
          return { ...action, receiptUrl, message, reason, ...payout, approvalAboveMinor, exceeded, ...guard }
        })
      }
      case 'Approve': {
        const payoutsStopped = await this.arePayoutsStopped()
        return this.#withSettings(trackingId, context, options, async (settings, transfer) => {
          const { amountMinor = transfer.amountMinor } = action
          const payout = settler()
          await this.payouts.refresh(transfer.merchantId, settings)
          const exceeded = this.payouts.knownExceeded(transfer, settings, amountMinor, payout.at)
          return { ...action, ...payout, payoutsStopped, approvalAboveMinor: settings.approvalAboveMinor, exceeded }
        })
      }
      case 'ReceivePart':
      case 'Correct':
      case 'ApproveCorrection': {
        const { transfer } = (await this.find(trackingId)) ?? {}
        // A repeat succeeds, also after later events than its caller saw.
        const seen = transfer && isRecorded(action, transfer, context.actor) ? {} : options
        return this.#withSettings(trackingId, context, seen, async (settings, { kind, paymentMethod }) => {
          const { approvalAboveMinor, manualControlAboveMinor, mismatchToleranceMinor: toleranceMinor } = settings
          const { completionGuardFactor: guardFactor, correctionDays, paymentMethods } = this.rules
          const common = { toleranceMinor, guardFactor, by: context.actor, at: this.clock() }
          if (action.type === 'ReceivePart') {
            const { receiptUrl = null } = action
            return {
              ...action,
              ...common,
              receiptUrl,
              manualControlAboveMinor,
              isManual: isManual(paymentMethods, paymentMethod),
            }
          }
          const load = () => loadStream(this.store, paymentDecider, paymentStream(trackingId))
          const collected = kind === 'deposit' ? collectedMinor((await load()).state) : 0n
          const correction = { ...common, correctionDays, collectedMinor: collected }
          if (action.type === 'ApproveCorrection') return { ...action, ...correction }
          return { ...action, ...correction, reference: action.reference ?? null, approvalAboveMinor }
        })
      }
      case 'ReturnFunds':
        return this.#withSettings(trackingId, context, options, async (settings, transfer) => {
          const { mismatchToleranceMinor: toleranceMinor, approvalAboveMinor, callbackOnMoney } = settings
          const earlier = transfer.kind === 'deposit' ? transfer.refunds.length : 0
          const refundId = derivedEventId(trackingId, `return ${earlier + 1}`)
          const { amountMinor, receiptUrl } = action
          const returned = { type: 'ReturnFunds', amountMinor, receiptUrl, refundId } as const
          const rules = { toleranceMinor, approvalAboveMinor, callbackOnMoney }
          return { ...returned, ...rules, by: context.actor, at: this.clock() }
        })
      case 'ReturnPayout': {
        const { transfer } = (await this.find(trackingId)) ?? {}
        // A repeat succeeds, also after later events than its caller saw.
        const seen = transfer && isRecorded(action, transfer, context.actor) ? {} : options
        return this.#withSettings(trackingId, context, seen, async ({ callbackOnMoney }) => {
          const { receiptUrl = null } = action
          return { ...action, receiptUrl, callbackOnMoney, by: context.actor, at: this.clock() }
        })
      }
      case 'RequestRefund':
        return this.#requestRefund(trackingId, action, context, options)
      case 'RequestRepayment':
        return this.#requestRepayment(trackingId, action, context, options)
      case 'ApproveRefund':
        return this.#withSettings(trackingId, context, options, async (settings) => {
          const { mismatchToleranceMinor: toleranceMinor, callbackOnMoney } = settings
          return { ...action, toleranceMinor, callbackOnMoney, ...settler() }
        })
      case 'RejectRefund': {
        const { refundId } = action
        const ending = { type: 'EndRefund', refundId, outcome: 'rejected', ...settler() } as const
        return this.#execute(trackingId, ending, context, options)
      }
      default: {
        const result = await this.#execute(trackingId, { ...action, ...settler() }, context, options)
        if (action.type === 'Cancel' || action.type === 'Fail') await this.#endPayout(result, context)
        return result
      }
    }
  }

  async #requestRefund(
    trackingId: string,
    action: Extract<TransferAction, { type: 'RequestRefund' }>,
    context: CommandContext,
    options: ActionOptions,
  ): Promise<TransferResult> {
    const { transfer } = (await this.find(trackingId)) ?? {}
    if (transfer?.kind !== 'deposit') return refuse('conflict', 'deposit-required')
    const { referenceId, to, accountNumber = null, identityNumber = null } = action
    const refundMethod = to === 'account' ? this.#payoutMethod(action.paymentMethod, transfer) : null
    if (refundMethod === undefined) return methodUnavailable()
    const refundId = trackingIdOf(transfer.merchantId, 'withdrawal', referenceId)
    if (await this.#isTaken(refundId, transfer)) return refuse('conflict', 'reference-reused')
    const payment = await loadStream(this.store, paymentDecider, paymentStream(trackingId))
    const paidFrom = collectedFrom(payment.state)
    const { walletRefunds } = this.rules
    const refund = { ...action, refundId, refundMethod, accountNumber, identityNumber, paidFrom, walletRefunds }
    // A repeat succeeds, also after later events than its caller saw.
    const seen = transfer.refunds.some((each) => each.refundId === refundId) ? {} : options
    return this.#withSettings(trackingId, context, seen, async ({ approvalAboveMinor }) => {
      return { ...refund, approvalAboveMinor, by: context.actor, at: this.clock() }
    })
  }

  async #requestRepayment(
    trackingId: string,
    action: Extract<TransferAction, { type: 'RequestRepayment' }>,
    context: CommandContext,
    options: ActionOptions,
  ): Promise<TransferResult> {
    const { transfer } = (await this.find(trackingId)) ?? {}
    if (transfer?.kind !== 'withdrawal') return refuse('conflict', 'withdrawal-required')
    const { referenceId, identityNumber = null } = action
    const repaymentMethod = this.#payoutMethod(action.paymentMethod, transfer)
    if (repaymentMethod === undefined) return methodUnavailable()
    const repaymentId = trackingIdOf(transfer.merchantId, 'withdrawal', referenceId)
    if (await this.#isTaken(repaymentId, transfer)) return refuse('conflict', 'reference-reused')
    const seen = transfer.repayments.some((each) => each.repaymentId === repaymentId) ? {} : options
    const payment = { repaymentId, repaymentMethod, identityNumber, by: context.actor, at: this.clock() }
    return this.#execute(trackingId, { ...action, ...payment }, context, seen)
  }

  /** Returns the given method, or that of the transfer, or the first one, of those for withdrawals; `undefined` if none is. */
  #payoutMethod(given: number | undefined, { paymentMethod }: Transfer): number | undefined {
    const codes = this.rules.paymentMethods.filter(({ kinds }) => kinds.includes('withdrawal')).map(({ code }) => code)
    if (given !== undefined) return codes.find((code) => code === given)
    return codes.find((code) => code === paymentMethod) ?? codes[0]
  }

  /** Returns whether the referenceId belongs to a withdrawal that another transfer or request created. */
  async #isTaken(trackingId: string, source: Transfer): Promise<boolean> {
    const other = (await this.find(trackingId))?.transfer
    return other !== undefined && !isLinkedTo(source, other)
  }

  /** Continues the refund or repayment that an accepted action concerns, and returns its result with the transfer as it is then. */
  async #withPayouts(action: TransferAction, result: TransferResult, context: CommandContext): Promise<TransferResult> {
    if (!result.accepted) return result
    const { transfer } = result
    if (action.type !== 'RequestRefund' && action.type !== 'RequestRepayment') {
      const source = transfer.kind === 'withdrawal' ? (transfer.refundOf ?? transfer.repaymentOf) : null
      if (source !== null && isTerminal(transfer.status)) await this.continuePayouts(source, context)
      return result
    }
    await this.continuePayouts(transfer.trackingId, context)
    const found = (await this.find(transfer.trackingId))!
    const payouts = found.transfer.kind === 'deposit' ? found.transfer.refunds : found.transfer.repayments
    const isRefused = payouts.some((each) => each.referenceId === action.referenceId && each.state === 'refused')
    return isRefused ? refuse('conflict', 'refund-refused') : { ...result, ...found }
  }

  /**
   * Takes the next step of each open refund or repayment of a transfer, of which every step can be repeated: creates its withdrawal, records
   * the outcome of the withdrawal, or has the wallet credit the customer. Without `credit`, refunds to a wallet stay open. @throws as `credit`
   * does
   */
  async continuePayouts(trackingId: string, context: CommandContext, credit?: CreditRefund): Promise<void> {
    const { transfer: source } = (await this.find(trackingId)) ?? {}
    const settings = source && (await this.settingsOf(source.merchantId))
    if (!source || !settings) throw new Error(`no merchant or transfer of ${trackingId}`)
    const by = { by: context.actor, at: this.clock() }
    const record = async (command: TransferCommand) => {
      const result = await this.#execute(trackingId, command, context)
      if (!result.accepted) throw new Error(`${command.type} of ${trackingId}: ${result.refusal.rule}`)
    }
    if (source.kind === 'withdrawal') {
      for (const { repaymentId, repaymentMethod: paymentMethod, state, ...payout } of source.repayments) {
        if (state !== 'open') continue
        const create = { ...payout, trackingId: repaymentId, paymentMethod, repaymentOf: trackingId }
        const outcome = await this.#outcomeOf(create, source, settings, context)
        if (outcome) await record({ type: 'EndRepayment', repaymentId, outcome, ...by })
      }
      return
    }
    const { mismatchToleranceMinor: toleranceMinor, callbackOnMoney } = settings
    for (const refund of source.refunds.filter(({ state }) => state === 'open')) {
      const { refundId } = refund
      const outcome =
        refund.to === 'account'
          ? await this.#outcomeOf(refundCreation(refund, trackingId), source, settings, context)
          : await credit?.(refund, source)
      if (outcome === 'paid') await record({ type: 'CompleteRefund', refundId, toleranceMinor, callbackOnMoney, ...by })
      else if (outcome) await record({ type: 'EndRefund', refundId, outcome, ...by })
    }
  }

  /** Returns the outcome of a linked withdrawal, or `undefined` while it is open. Creates it if it does not exist. */
  async #outcomeOf(
    payout: LinkedPayout,
    source: Transfer,
    { callbackOnCreate }: MerchantSettings,
    context: CommandContext,
  ): Promise<RepaymentOutcome | undefined> {
    const { transfer: existing } = (await this.find(payout.trackingId)) ?? {}
    if (!existing) {
      // The account is unknown after an erasure.
      if (isErased(source)) return 'refused'
      const { trackingId, referenceId, amountMinor, paymentMethod, accountNumber, identityNumber } = payout
      const { refundOf = null, repaymentOf = null } = payout
      const { merchantId, userId, name, username } = source
      const requested = { userId, name, username, metadata: null, paymentMethod, accountNumber, identityNumber }
      const identity = { trackingId, merchantId, referenceId, amountMinor, refundOf, repaymentOf, callbackOnCreate }
      const command = { type: 'CreateWithdrawal', ...identity, ...requested, at: this.clock() } as const
      const created = await createWithUniqueHash(this.store, command, undefined, context)
      return created.accepted ? undefined : 'refused'
    }
    if (!isLinkedTo(source, existing)) return 'refused'
    switch (existing.status) {
      case 'Completed':
        return 'paid'
      case 'Cancelled':
        return 'cancelled'
      case 'Failed':
        return 'failed'
      default:
        return undefined
    }
  }

  /** Returns the limits that each open withdrawal is beyond ({@link PayoutCounts.knownExceeded}), by its trackingId. */
  async exceededLimits(transfers: readonly Transfer[]): Promise<ReadonlyMap<string, readonly ExceededLimit[]>> {
    const open = transfers.filter(({ kind, status }) => kind === 'withdrawal' && !isTerminal(status))
    const settingsOf = new Map<string, MerchantSettings>()
    for (const merchantId of new Set(open.map((transfer) => transfer.merchantId))) {
      const settings = await this.settingsOf(merchantId)
      await this.payouts.refresh(merchantId, settings)
      if (settings) settingsOf.set(merchantId, settings)
    }
    const at = this.clock()
    const entries = open.flatMap((transfer) => {
      const settings = settingsOf.get(transfer.merchantId)
      const { trackingId, amountMinor } = transfer
      return settings ? [[trackingId, this.payouts.knownExceeded(transfer, settings, amountMinor, at)] as const] : []
    })
    return new Map(entries)
  }

  /**
   * Produces a file from which a bank pays withdrawals, and records it on each of them, or on none. The file exists for its caller only once
   * every record is in the log, so no two files contain the same withdrawal without a reason.
   */
  produceBankFile(request: BankFileRequest, currency: Currency, context: CommandContext): Promise<ProducedFile> {
    const { format, trackingIds, debtor, repeat = null, underClaim } = request
    return retryOnConflict('bank file', async () => {
      const [at, payoutsStopped] = [this.clock(), await this.arePayoutsStopped()]
      const found = await Promise.all(trackingIds.map((trackingId) => this.find(trackingId)))
      const existing = await Promise.all(
        found.map(async (each, n) => {
          const settings = each && (await this.settingsOf(each.transfer.merchantId))
          if (!settings) throw new Error(`no merchant or transfer of ${trackingIds[n]}`)
          return { ...each, settings }
        }),
      )
      const counts = await this.payouts.countAll(existing, at, context)
      const withdrawals = existing.map(({ settings: { approvalAboveMinor }, ...each }) => {
        return { ...each, approvalAboveMinor, exceeded: counts.exceeded.get(each.transfer.trackingId) ?? [] }
      })
      // Each record changes a revision, so no two files have the same id. Banks reject an id that they have seen.
      const seen = withdrawals.map(({ transfer, revision }) => `${transfer.trackingId}@${revision}`).sort()
      const messageId = uuidV5(JSON.stringify([format, debtor?.iban, seen]), trackingIds[0]!).replaceAll('-', '')
      const settler = { by: context.actor, underClaim, payoutsStopped, at }
      const payingAccountId = debtor === undefined ? null : (bankAccountId(debtor.iban) ?? null)
      const addition = { type: 'AddToBankFile', ...settler, messageId, format, payingAccountId, repeat } as const
      const date = dateOf(request, at)
      const file = bankFile({ addition, withdrawals, debtor, currency, date })
      if (!file.accepted) return file
      const sha256 = hash('sha256', file.text)
      const appends = withdrawals.map(({ transfer, revision, approvalAboveMinor, exceeded }) => {
        const command = { ...addition, approvalAboveMinor, exceeded, sha256 }
        const decision = transferDecider.decide(command, transfer)
        if (!decision.accepted) throw new Error('a withdrawal of an accepted file was refused')
        const events = decision.events.map((event) => encodeEvent(event, context))
        return { stream: transferStream(transfer.trackingId), expectedRevision: revision, events }
      })
      // An engine with one transaction rejects a changed withdrawal before it writes any record.
      const checks = appends.map((append) => ({ ...append, events: [] }))
      await this.store.appendInOrder([...checks, ...counts.appends, ...appends])
      return { ...file, messageId, date, sha256 }
    })
  }

  /** Records a bank's payment or rejection on its transfer, once. The claim of another user holds the transfer only if it is in no bank file. */
  async matchBankPayment(trackingId: string, match: BankMatch, context: CommandContext): Promise<TransferResult> {
    const payoutsStopped = await this.arePayoutsStopped()
    if (match.matched !== 'debit') {
      return this.#withSettings(trackingId, context, {}, async (settings, transfer) =>
        this.#matchCommand(match, transfer, settings, { exceeded: [], payoutsStopped }, context),
      )
    }
    const completion = { type: 'Complete', transactionAmountMinor: match.matchedAmountMinor } as const
    const result = await this.#payOut(trackingId, completion, context, {}, (settings, exceeded) =>
      this.#matchCommand(match, undefined, settings, { exceeded, payoutsStopped }, context),
    )
    return this.#withPayouts(completion, result, context)
  }

  /** Returns the transfer as it would be after a bank's payment or rejection, or why it would reject that. Nothing is recorded. */
  async tryMatch(
    transfer: Transfer,
    match: BankMatch,
    context: CommandContext,
  ): Promise<{ readonly after: Transfer; readonly refusal: Refusal | undefined }> {
    const settings = await this.#knownSettings(transfer)
    await this.payouts.refresh(transfer.merchantId, settings)
    const exceeded = this.payouts.knownExceeded(transfer, settings, match.matchedAmountMinor, this.clock())
    const payoutsStopped = await this.arePayoutsStopped()
    const command = this.#matchCommand(match, transfer, settings, { exceeded, payoutsStopped }, context)
    const decision = transferDecider.decide(command, transfer)
    if (!decision.accepted) return { after: transfer, refusal: decision.refusal }
    return { after: decision.events.reduce(transferDecider.evolve, transfer) as Transfer, refusal: undefined }
  }

  #matchCommand(
    match: BankMatch,
    transfer: Transfer | undefined,
    settings: MerchantSettings,
    payout: { readonly exceeded: readonly ExceededLimit[]; readonly payoutsStopped: boolean },
    { actor: by }: CommandContext,
  ): MatchBankPayment {
    const { approvalAboveMinor, callbackOnMoney, manualControlAboveMinor } = settings
    const isPaidManually = transfer !== undefined && isManual(this.rules.paymentMethods, transfer.paymentMethod)
    const rules = { approvalAboveMinor, callbackOnMoney, manualControlAboveMinor, isManual: isPaidManually }
    const settler = { by, underClaim: false, at: this.clock() }
    return {
      type: 'MatchBankPayment',
      ...match,
      ...payout,
      ...rules,
      mismatchPolicy: mismatchPolicyOf(settings),
      ...settler,
    }
  }

  /** Records the money of a `collection` (from 1) once. It completes a Pending deposit or sends it to ManualControl, or needs attention. */
  receiveFunds(
    trackingId: string,
    collection: number,
    received: { readonly receivedAmountMinor: bigint; readonly receiptUrl: string | null },
    context: CommandContext,
  ): Promise<TransferResult> {
    const onceId = derivedEventId(trackingId, `collection ${collection}`)
    return this.#withSettings(trackingId, context, { onceId }, async (settings) => {
      const { manualControlAboveMinor } = settings
      const mismatchPolicy = mismatchPolicyOf(settings)
      return { type: 'ReceiveFunds', ...received, mismatchPolicy, manualControlAboveMinor, at: this.clock() }
    })
  }

  /** Records the erasure of the customer, regardless of the status. A repeat changes nothing. */
  erasePersonalData(trackingId: string, context: CommandContext): Promise<TransferResult> {
    // The id detects the repeat. The state cannot: once the key is destroyed, it is erased even without the event.
    const onceId = derivedEventId(trackingId, 'erasure')
    return this.#execute(trackingId, { type: 'ErasePersonalData', at: this.clock() }, context, { onceId })
  }

  /** Cancels the deposit if it has expired and no collection of its money is in progress. */
  async expire(trackingId: string, context: CommandContext): Promise<TransferResult> {
    const payment = await loadStream(this.store, paymentDecider, paymentStream(trackingId))
    if (openCollection(payment.state)) {
      const found = await this.find(trackingId)
      if (found) return { accepted: true, ...found, changed: false }
    }
    return this.#execute(trackingId, { type: 'Expire', at: this.clock() }, context)
  }

  #createCommand({ hash, ...request }: CreateRequest): CreateCommand {
    const at = this.clock()
    const { merchantId, referenceId } = request
    const hashId = hash ? hashIdOf(merchantId, hash.hashCode) : null
    if (!('channel' in request)) {
      const trackingId = trackingIdOf(merchantId, 'withdrawal', referenceId)
      return { type: 'CreateWithdrawal', trackingId, at, hashId, ...request }
    }
    const { expiryMinutes, ...deposit } = request
    const trackingId = trackingIdOf(merchantId, 'deposit', referenceId)
    const isPaidManually = isManual(this.rules.paymentMethods, request.paymentMethod)
    const minutes = isPaidManually ? expiryMinutes : Math.min(expiryMinutes, maxWalletExpiryMinutes)
    const expiresAt = addMs(at, minutes * minuteMs)
    return { type: 'CreateDeposit', trackingId, at, hashId, expiresAt, ...deposit }
  }

  /** Executes a command that depends on the settings of the transfer's merchant, and reads the transfer once for both. */
  async #withSettings(
    trackingId: string,
    context: CommandContext,
    options: ActionOptions,
    commandFor: (settings: MerchantSettings, transfer: Transfer) => Promise<TransferCommand>,
  ): Promise<TransferResult> {
    const loaded = await loadStream(this.store, transferDecider, transferStream(trackingId), options)
    if (loaded.state.kind === 'none') return refuse('not-found', 'unknown-transfer')
    const settings = await this.#knownSettings(loaded.state)
    const command = await commandFor(settings, loaded.state)
    return this.#execute(trackingId, command, context, { loaded, ...options })
  }

  async #knownSettings({ merchantId }: Transfer): Promise<MerchantSettings> {
    const settings = await this.settingsOf(merchantId)
    if (!settings) throw new Error(`transfer of an unknown merchant ${merchantId}`)
    return settings
  }

  /**
   * Executes a command with which the payout of a withdrawal can start. If the merchant has limits, the payout is counted before the command's
   * own event, so a process that ends in between leaves a count without a payout, and never the reverse. A refused command counts nothing.
   */
  async #payOut(
    trackingId: string,
    action: PayoutAction,
    context: CommandContext,
    options: ActionOptions,
    commandFor: (settings: MerchantSettings, exceeded: readonly ExceededLimit[]) => TransferCommand,
  ): Promise<TransferResult> {
    const stream = transferStream(trackingId)
    const load = () => loadStream(this.store, transferDecider, stream, options)
    const loaded = await load()
    if (loaded.state.kind === 'none') return refuse('not-found', 'unknown-transfer')
    const settings = await this.#knownSettings(loaded.state)
    const limits = limitsOf(settings)
    if (loaded.state.kind === 'deposit' || limits.length === 0)
      return this.#execute(trackingId, commandFor(settings, []), context, { loaded, ...options })

    const attempt = async () => {
      const current = await load()
      const counting = await this.#counting(action, current.state, limits, context)
      const counted = { loaded: current, ...options, appendsBefore: () => counting.appends, isTriedOnce: true }
      const command = commandFor(settings, counting.exceeded)
      return handleCommand(this.store, transferDecider, stream, command, context, counted)
    }
    const { merchantId } = loaded.state
    return toResult(await this.payouts.inTurn(merchantId, () => retryOnConflict(stream, attempt)))
  }

  async #counting(
    action: PayoutAction,
    state: TransferState,
    limits: readonly WithdrawalLimit[],
    context: CommandContext,
  ): Promise<Counting> {
    const at = this.clock()
    if (state.kind !== 'withdrawal' || isTerminal(state.status)) return notCounted
    // A claim that is only renewed starts no payout.
    if (action.type === 'Claim' && activeClaim(state, at)) return notCounted
    const { transactionAmountMinor: amountMinor = state.amountMinor } = action.type === 'Complete' ? action : {}
    return this.payouts.count(state, limits, { amountMinor, continues: action.type === 'Complete', at }, context)
  }

  /** Without this, a cancelled withdrawal counts, so others may need an approval that they could do without. A repeat does it again. */
  async #endPayout(result: TransferResult, context: CommandContext): Promise<void> {
    if (!result.accepted || result.transfer.kind === 'deposit') return
    const settings = await this.#knownSettings(result.transfer)
    if (limitsOf(settings).length === 0) return
    try {
      await this.payouts.uncount(result.transfer, this.clock(), context)
    } catch (error) {
      // The cancellation is in the log, so its caller must not take this for a failure of the cancellation.
      const isForeseen = error instanceof StoreUnavailableError || error instanceof TooMuchContentionError
      if (!isForeseen && !(error instanceof UnreadableEventError)) throw error
    }
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
}

function dateOf({ format, date, timeZone }: BankFileRequest, at: string): string {
  return format === 'csv' ? dateIn(timeZone, at) : (date ?? targetDayFrom(targetDate(at)))
}

/** A bank's payment or rejection for a transfer, without the rules of the transfer's merchant. */
export type BankMatch = Pick<
  MatchBankPayment,
  | 'matched'
  | 'bankPaymentId'
  | 'matchedAmountMinor'
  | 'bookedOn'
  | 'bankReference'
  | 'bankReasonCode'
  | 'bankReasonText'
>

/** Has the wallet credit the customer once, regardless of how often it is called for a refund. */
export type CreditRefund = (refund: Refund, deposit: Deposit) => Promise<'paid' | 'refused'>

/** A withdrawal that returns money of a deposit, or pays again the returned money of another withdrawal. */
type LinkedPayout = Pick<CreateWithdrawal, 'trackingId' | 'referenceId' | 'amountMinor' | 'paymentMethod'> &
  Pick<CreateWithdrawal, 'accountNumber' | 'identityNumber' | 'refundOf' | 'repaymentOf'>

function refundCreation({ refundId, refundMethod, accountNumber, ...refund }: Refund, refundOf: string): LinkedPayout {
  return { ...refund, trackingId: refundId, paymentMethod: refundMethod!, accountNumber: accountNumber!, refundOf }
}

function isLinkedTo({ trackingId }: Transfer, other: Transfer): boolean {
  return other.kind === 'withdrawal' && (other.refundOf === trackingId || other.repaymentOf === trackingId)
}

const methodUnavailable = () => refuseField('paymentMethod', violate('method-unavailable', { kind: 'withdrawal' }))

/** An action with which the payout of a withdrawal can start. */
type PayoutAction = Extract<TransferAction, { type: 'Claim' | 'Complete' }>
type ActionOptions = Pick<HandleOptions<TransferState>, 'onceId' | 'seenRevision'>

/** A copied reference often has a space at an end, and would otherwise be a different one. */
function withTrimmedReference(action: TransferAction): TransferAction {
  if (!('reference' in action) || action.reference === undefined) return action
  return { ...action, reference: action.reference.trim() }
}

/** Returns whether a payment, a correction or a return with the reference of the action is recorded. */
function isRecorded(action: TransferAction, transfer: Transfer, actor: string): boolean {
  if (!('reference' in action) || action.reference === undefined) return false
  const { reference } = action
  if (action.type === 'ReceivePart')
    return transfer.kind === 'deposit' && transfer.funds.payments.some((payment) => payment.reference === reference)
  if (action.type === 'ReturnPayout')
    return transfer.kind === 'withdrawal' && transfer.returns.some((each) => each.reference === reference)
  const { corrections, proposedCorrection: proposed } = transfer
  const isProposed = proposed?.reference === reference && proposed.by === actor
  return isProposed || corrections.some((correction) => correction.reference === reference)
}

function mismatchPolicyOf(settings: MerchantSettings): MismatchPolicy {
  return { toleranceMinor: settings.mismatchToleranceMinor, autoCancel: settings.autoCancelMismatch }
}

function toResult(result: CommandResult<TransferState, TransferEvent>): TransferResult {
  if (!result.accepted) return result
  const { state, revision, events, isRepeat = false } = result
  if (state.kind === 'none' || revision === 'no_stream') throw new Error('an accepted command left no transfer')
  return { accepted: true, transfer: state, changed: events.length > 0, revision, isRepeat }
}
