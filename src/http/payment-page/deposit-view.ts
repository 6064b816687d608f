import type { Static } from '@sinclair/typebox'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import type { Currency } from '../../domain/currency.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { namesOf, type PaymentMethod } from '../../domain/payment-method.js'
import { type Deposit, hasExpired, type Transfer } from '../../domain/transfer/transfer.js'
import type { Clock } from '../../kernel/clock.js'
import { Type } from '../../kernel/typebox.js'
import type { WalletPayments } from '../../wallet/payments/wallet-payments.js'
import { NullableString } from '../envelope.js'
import { RequestError } from '../refusals.js'
import { formatMoney, type Language } from './page-language.js'
import { type PayPageLinkOptions, trackingIdOfLink } from './pay-page-link.js'

export interface DepositOptions extends PayPageLinkOptions {
  readonly transfers: TransferCommands
  readonly directory: MerchantDirectory
  readonly walletPayments: WalletPayments
  readonly paymentMethods: readonly PaymentMethod[]
  readonly currency: Currency
  readonly clock: Clock
}

/** How long after its end a deposit is still shown to whoever holds the link. */
const shownAfterEndMs = 24 * 3_600_000

/** `open`: can be paid now. `expired`: its time ran out. `ended`: over for so long that nothing is shown any more. */
export type Phase = 'open' | 'paid' | 'checking' | 'cancelled' | 'failed' | 'expired' | 'ended'

export interface ManualPayment {
  /** The name of the payment method in each language. */
  readonly methodNames: { readonly [language in Language]: string }
  /** The merchant's own words; undefined when it has given none. */
  readonly instructions: string | undefined
}

export interface Completion {
  /** ISO 8601. */
  readonly at: string
  /** Of the wallet; undefined when an operator said that the money came. */
  readonly accountNumber: number | undefined
}

export interface FoundDeposit {
  readonly deposit: Deposit
  readonly settings: MerchantSettings
  /** The merchant is suspended: the state is shown, and nothing more is paid. */
  readonly suspended: boolean
  /** Undefined where a wallet pays. */
  readonly manual: ManualPayment | undefined
  /** Undefined unless it is completed. */
  readonly completion: Completion | undefined
  readonly currency: Currency
}

/**
 * The hosted deposit that a link leads to, from the log. The merchant of a native deposit shows its own pages, so its deposits have
 * no link. @throws RequestError, UnreadableEventError
 */
export async function depositOfLink(deps: DepositOptions, link: string): Promise<FoundDeposit> {
  const trackingId = trackingIdOfLink(deps, link)
  const transfer = trackingId === undefined ? undefined : (await deps.transfers.find(trackingId))?.transfer
  const merchant =
    transfer && deps.directory.settingsOf(transfer.merchantId) && deps.directory.byId(transfer.merchantId)
  if (!merchant || !isHosted(transfer)) throw new RequestError('unknown-transfer')
  const { settings, suspended } = merchant
  const manual = manualPayment(deps, transfer, settings)
  const completion = transfer.status === 'Completed' ? await completionOf(deps, transfer) : undefined
  return { deposit: transfer, settings, suspended, manual, completion, currency: deps.currency }
}

/** From the event itself: what is recorded later does not change when it was paid. */
async function completionOf(
  { transfers, walletPayments }: DepositOptions,
  { trackingId, updatedAt }: Deposit,
): Promise<Completion> {
  const [history, accountNumber] = await Promise.all([
    transfers.history(trackingId),
    walletPayments.paidFrom(trackingId),
  ])
  const completed = history.findLast(({ event }) => event.type === 'TransferCompleted')
  return { at: completed?.event.data.at ?? updatedAt, accountNumber }
}

function manualPayment(
  { paymentMethods }: DepositOptions,
  { paymentMethod }: Deposit,
  { paymentInstructions }: MerchantSettings,
): ManualPayment | undefined {
  const method = paymentMethods.find(({ code }) => code === paymentMethod)
  if (method?.paidBy !== 'manual') return undefined
  const instructions = paymentInstructions.find((each) => each.paymentMethod === paymentMethod)?.text
  return { methodNames: namesOf(method), instructions }
}

function isHosted(transfer: Transfer): transfer is Deposit {
  return transfer.kind === 'deposit' && transfer.channel === 'hosted'
}

/** `now`: ISO 8601. */
export function phaseOf(deposit: Deposit, now: string): Phase {
  const { status, updatedAt } = deposit
  const overForLong = Date.parse(now) - Date.parse(updatedAt) > shownAfterEndMs
  switch (status) {
    case 'Pending':
      // Expiry itself follows a moment later.
      return hasExpired(deposit, now) ? 'expired' : 'open'
    case 'ManualControl':
      return 'checking'
    case 'Completed':
      return overForLong ? 'ended' : 'paid'
    case 'Failed':
      return overForLong ? 'ended' : 'failed'
    case 'Cancelled':
      if (overForLong) return 'ended'
      return hasExpired(deposit, now) ? 'expired' : 'cancelled'
    default:
      return status satisfies never
  }
}

/** What the page's script is told, at first in the page and then by `/pay/:link/state`. */
export const PageState = Type.Object(
  {
    phase: Type.Unsafe<Phase>({ type: 'string', examples: ['open'] }),
    status: Type.Unsafe<Deposit['status']>({ type: 'string', examples: ['Pending'] }),
    /** Whole seconds in which it can still be paid; 0 unless the phase is `open`. */
    secondsLeft: Type.Integer(),
    /** What was paid, as this language writes it; null unless the phase is `paid`. */
    paid: NullableString(),
    /** ISO 8601; null unless the phase is `paid`. */
    paidAt: NullableString(),
    /** The last four digits of the wallet account that paid; null when none did. */
    accountDigits: NullableString(),
    hasAmountMismatch: Type.Boolean(),
    receiptUrl: NullableString(),
  },
  { description: 'The state, from the log.' },
)
export type PageState = Static<typeof PageState>

export function pageState({ deposit, completion, currency }: FoundDeposit, language: Language, now: string): PageState {
  const phase = phaseOf(deposit, now)
  const { status, expiresAt, transactionAmountMinor, hasAmountMismatch, receiptUrl } = deposit
  const msLeft = phase === 'open' ? Date.parse(expiresAt) - Date.parse(now) : 0
  const paid = phase === 'paid'
  return {
    phase,
    status,
    secondsLeft: Math.ceil(msLeft / 1000),
    paid: paid ? formatMoney(language, currency, transactionAmountMinor) : null,
    paidAt: paid ? (completion?.at ?? null) : null,
    accountDigits: paid ? (completion?.accountNumber?.toString().slice(-4) ?? null) : null,
    hasAmountMismatch: paid && hasAmountMismatch,
    receiptUrl: paid && receiptUrl?.startsWith('https://') ? receiptUrl : null,
  }
}

/**
 * Where the customer goes back to. The merchant gets the ids in the query, and no status: an address can be made up, so the
 * callback or the API tells how it ended (specification, Events, rule 4).
 */
export function returnAddress({ deposit, settings }: FoundDeposit): string | undefined {
  if (settings.returnUrl === null) return undefined
  const url = new URL(settings.returnUrl)
  url.searchParams.set('trackingId', deposit.trackingId)
  url.searchParams.set('referenceId', deposit.referenceId)
  return url.href
}
