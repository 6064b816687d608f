import type { Static } from '@sinclair/typebox'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import type { Currency } from '../../domain/money.js'
import { namesOf, type PaymentMethod } from '../../domain/payment-method.js'
import { type Deposit, hasExpired, type Transfer } from '../../domain/transfer/transfer.js'
import type { Clock } from '../../kernel/time.js'
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

/** How long a link still shows a deposit that has ended. */
const shownAfterEndMs = 24 * 3_600_000

/** `open`: can be paid now. `expired`: was not paid in time. `ended`: ended so long ago that nothing is shown. */
export type Phase = 'open' | 'paid' | 'checking' | 'cancelled' | 'failed' | 'expired' | 'ended'

export interface ManualPayment {
  /** The name of the payment method in each language. */
  readonly methodNames: { readonly [language in Language]: string }
  /** The merchant's instructions, if any. */
  readonly instructions: string | undefined
}

export interface Completion {
  /** ISO 8601. */
  readonly at: string
  /** The paying wallet account, or `undefined` if an operator confirmed the payment. */
  readonly accountNumber: number | undefined
}

export interface FoundDeposit {
  readonly deposit: Deposit
  readonly settings: MerchantSettings
  /** Whether the merchant is suspended: the state is shown, but nothing can be paid. */
  readonly suspended: boolean
  /** `undefined` for a payment from a wallet. */
  readonly manual: ManualPayment | undefined
  /** `undefined` unless it is completed. */
  readonly completion: Completion | undefined
  readonly currency: Currency
}

/**
 * Finds the hosted deposit of a link in the log. Native deposits have no link, because their merchants show their own pages.
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

/** Reads the time of payment from its event, because later events do not change it. */
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

/** Returns the phase at `now` (ISO 8601). */
export function phaseOf(deposit: Deposit, now: string): Phase {
  const { status, updatedAt } = deposit
  const overForLong = Date.parse(now) - Date.parse(updatedAt) > shownAfterEndMs
  switch (status) {
    case 'Pending':
      // The process that expires deposits records this a little later.
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

/** The state for the page's script: first in the page, then from `/pay/:link/state`. */
export const PageState = Type.Object(
  {
    phase: Type.Unsafe<Phase>({ type: 'string', examples: ['open'] }),
    status: Type.Unsafe<Deposit['status']>({ type: 'string', examples: ['Pending'] }),
    /** The whole seconds left to pay; 0 unless the phase is `open`. */
    secondsLeft: Type.Integer(),
    /** The paid amount in the format of the language; null unless the phase is `paid`. */
    paid: NullableString(),
    /** ISO 8601; null unless the phase is `paid`. */
    paidAt: NullableString(),
    /** The last four digits of the paying wallet account, or null. */
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
 * Returns the URL that leads the customer back. Its query contains the ids but no status, because an address can be forged: the
 * merchant learns the outcome from the callback or the API (specification, Events, rule 4).
 */
export function returnAddress({ deposit, settings }: FoundDeposit): string | undefined {
  if (settings.returnUrl === null) return undefined
  const url = new URL(settings.returnUrl)
  url.searchParams.set('trackingId', deposit.trackingId)
  url.searchParams.set('referenceId', deposit.referenceId)
  return url.href
}
