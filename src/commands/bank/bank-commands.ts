import {
  type BankAccount,
  type BankAccountEvent,
  bankAccountDecider,
  type ImportedStatement,
} from '../../domain/bank/bank-account.js'
import {
  type BankEntries,
  bankEntriesDecider,
  entriesIdIn,
  type FoundPayment,
  matchedAs,
  type PaymentUse,
  paymentIn,
} from '../../domain/bank/bank-entries.js'
import type { Mac } from '../../domain/bank/bank-imports.js'
import type { CsvMapping, PaymentStatus as Rejection } from '../../domain/bank/bank-records.js'
import { type Refused, refuse } from '../../domain/decider.js'
import { bankAccountStream, bankEntriesStream } from '../../domain/streams.js'
import type { BankEffect } from '../../domain/transfer/transfer-events.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import { type CommandContext, handleCommand, type Loaded, loadStream, StreamCache } from '../handle-command.js'
import type { BankMatch, TransferCommands } from '../transfer/transfers.js'

export type UseResult = { readonly accepted: true; readonly effect: BankEffect } | Refused

const maxKnownAccounts = 100

/** Runs every command on the statements of banks. Each method may throw StoreUnavailableError, TooMuchContentionError, UnreadableEventError. */
export class BankCommands {
  /** An account has an event for each of its statements, and is read for each payment. */
  readonly #accounts: StreamCache<BankAccount, Parameters<typeof bankAccountDecider.decide>[0], BankAccountEvent>

  constructor(
    readonly store: EventStore,
    readonly clock: Clock,
    readonly mac: Mac,
    private readonly transfers: TransferCommands,
  ) {
    this.#accounts = new StreamCache(store, bankAccountDecider, maxKnownAccounts)
  }

  async account(accountId: string): Promise<BankAccount> {
    return (await this.#accounts.load(bankAccountStream(accountId))).state
  }

  /** Records whose transfers an account pays and receives; null for all merchants. */
  async assignAccount(
    accountId: string,
    merchantIds: readonly string[] | null,
    context: CommandContext,
  ): Promise<void> {
    const command = { type: 'Assign', accountId, merchantIds, by: context.actor, at: this.clock() } as const
    await handleCommand(this.store, bankAccountDecider, bankAccountStream(accountId), command, context)
  }

  /** Records how the bank's CSV files are read. */
  async mapCsv(accountId: string, csv: CsvMapping, context: CommandContext): Promise<void> {
    const command = { type: 'MapCsv', accountId, csv, by: context.actor, at: this.clock() } as const
    await handleCommand(this.store, bankAccountDecider, bankAccountStream(accountId), command, context)
  }

  /** Records that every booked entry of a statement is recorded. */
  async recordStatement(statement: Omit<ImportedStatement, 'by' | 'at'>, context: CommandContext): Promise<void> {
    const command = { type: 'Import', ...statement, by: context.actor, at: this.clock() } as const
    await handleCommand(this.store, bankAccountDecider, bankAccountStream(statement.accountId), command, context)
  }

  entries(entriesId: string): Promise<Loaded<BankEntries>> {
    return loadStream(this.store, bankEntriesDecider, bankEntriesStream(entriesId))
  }

  async payment(paymentId: string): Promise<FoundPayment | undefined> {
    return paymentIn((await this.entries(entriesIdIn(paymentId))).state, paymentId)
  }

  /**
   * Uses a payment for a transfer: assigns it, so that no other transfer can use it, then records it on the transfer, and then the effect. If the
   * transfer rejects it, the payment is open again. A repeat continues an interrupted one.
   */
  async use(paymentId: string, trackingId: string, context: CommandContext, amountMinor?: bigint): Promise<UseResult> {
    const found = await this.payment(paymentId)
    if (!found) return refuse('not-found', 'bank-payment-unknown')
    if (!matchedAs(found)) return refuse('conflict', 'bank-payment-taken-back')
    const own = found.uses.find((each) => each.trackingId === trackingId)
    if (own?.effect) return { accepted: true, effect: own.effect }
    const { transfer } = (await this.transfers.find(trackingId)) ?? {}
    if (!transfer) return refuse('not-found', 'unknown-transfer')
    const { merchantIds = null } = await this.account(found.payment.accountId)
    if (merchantIds?.includes(transfer.merchantId) === false) return refuse('conflict', 'bank-account-other-merchant')
    const match = matchOf(found, amountMinor ?? own?.amountMinor)!
    // Without this, each attempt that the transfer rejects would be two events.
    const { refusal } = await this.transfers.tryMatch(transfer, match, context)
    if (refusal && !own) return { accepted: false, refusal }
    const assigned = { amountMinor: amountMinor ?? own?.amountMinor ?? found.payment.paidAmountMinor }
    const command = { type: 'Assign', paymentId, trackingId, ...assigned, by: context.actor, at: this.clock() } as const
    const result = await handleCommand(this.store, bankEntriesDecider, streamOf(paymentId), command, context)
    if (!result.accepted) return result as Refused
    const use = paymentIn(result.state, paymentId)!.uses.find((each) => each.trackingId === trackingId)!
    return this.#apply(found, use, context)
  }

  /** Finishes the uses of a payment that a process left after it had assigned them. */
  async resume(paymentId: string, context: CommandContext): Promise<void> {
    const found = await this.payment(paymentId)
    for (const use of found?.uses ?? [])
      if (use.effect === null) await this.#apply(found!, use, { ...context, actor: use.by })
  }

  /** Records what money is that belongs to no transfer. It can still be used later. */
  async explain(
    paymentId: string,
    explanation: string,
    context: CommandContext,
  ): Promise<{ readonly accepted: true } | Refused> {
    const command = { type: 'Explain', paymentId, explanation, by: context.actor, at: this.clock() } as const
    const result = await handleCommand(this.store, bankEntriesDecider, streamOf(paymentId), command, context)
    return result.accepted ? { accepted: true } : (result as Refused)
  }

  async eraseCounterparty(paymentId: string, context: CommandContext): Promise<void> {
    const command = { type: 'Erase', paymentId, at: this.clock() } as const
    await handleCommand(this.store, bankEntriesDecider, streamOf(paymentId), command, context)
  }

  async #apply(found: FoundPayment, use: PaymentUse, context: CommandContext): Promise<UseResult> {
    const { paymentId } = found.payment
    const { trackingId } = use
    const match = matchOf(found, use.amountMinor)!
    const result = await this.transfers.matchBankPayment(trackingId, match, context)
    const common = { paymentId, trackingId, by: context.actor, at: this.clock() }
    if (!result.accepted) {
      const release = { type: 'Release', ...common, rule: result.refusal.rule } as const
      await handleCommand(this.store, bankEntriesDecider, streamOf(paymentId), release, context)
      return result
    }
    const { effect } = result.transfer.bankPayments.find(({ bankPaymentId }) => bankPaymentId === paymentId)!
    await handleCommand(
      this.store,
      bankEntriesDecider,
      streamOf(paymentId),
      { type: 'Apply', ...common, effect },
      context,
    )
    return { accepted: true, effect }
  }
}

const streamOf = (paymentId: string) => bankEntriesStream(entriesIdIn(paymentId))

/** Returns a payment as its transfer records it; `undefined` if it takes money of a customer back. */
export function matchOf(
  found: FoundPayment,
  matchedAmountMinor = found.payment.paidAmountMinor,
): BankMatch | undefined {
  const { payment } = found
  const matched = matchedAs(found)
  if (!matched) return undefined
  const { paymentId: bankPaymentId, bankReference, returnReasonCode, returnReasonText } = payment
  const reason = { bankReasonCode: returnReasonCode, bankReasonText: returnReasonText }
  return { matched, bankPaymentId, matchedAmountMinor, bookedOn: payment.date, bankReference, ...reason }
}

/** Returns a rejection as its withdrawal records it. The same rejection in another file is the same one. */
export function rejectionMatch({ fileId, endToEndId, statusCode, reasonCode, reasonText }: Rejection): BankMatch {
  const bankPaymentId = ['rejection', fileId, endToEndId, reasonCode ?? statusCode].map((part) => part ?? '').join(' ')
  const nothing = { matchedAmountMinor: 0n, bookedOn: null, bankReference: null }
  return {
    matched: 'rejection',
    bankPaymentId: bankPaymentId.slice(0, 128),
    ...nothing,
    bankReasonCode: reasonCode,
    bankReasonText: reasonText,
  }
}
