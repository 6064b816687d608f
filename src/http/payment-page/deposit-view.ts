import type { Static } from '@sinclair/typebox'
import { epcCode } from '../../domain/epc-code.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { namesOf } from '../../domain/payment-method.js'
import { availableMinor, type Deposit, hasExpired } from '../../domain/transfer/transfer.js'
import { ibanIn, plainAccountNumber } from '../../kernel/account-number.js'
import { Type } from '../../kernel/typebox.js'
import { NullableString } from '../envelope.js'
import { RequestError } from '../refusals.js'
import type { HttpServices } from '../services.js'
import { formatMoney, type Language } from './page-language.js'
import { trackingIdOfLink } from './pay-page-link.js'

/** How long a link still shows a deposit that has ended. */
const shownAfterEndMs = 24 * 3_600_000

/** `open`: can be paid now. `expired`: was not paid in time. `ended`: ended so long ago that nothing is shown. */
export type Phase = 'open' | 'paid' | 'checking' | 'cancelled' | 'failed' | 'expired' | 'ended'

export type FoundDeposit = Awaited<ReturnType<typeof depositOfLink>>

/**
 * Finds the hosted deposit of a link in the log. Native deposits have no link, because their merchants show their own pages. A suspended
 * merchant's deposit is shown but cannot be paid. `manual`: `undefined` for a payment from a wallet. `completion`: `undefined` unless it is
 * completed. @throws RequestError, UnreadableEventError
 */
export async function depositOfLink(services: HttpServices, link: string) {
  const trackingId = trackingIdOfLink(services, link)
  const transfer = trackingId === undefined ? undefined : (await services.transfers.find(trackingId))?.transfer
  const merchant =
    transfer && services.directory.settingsOf(transfer.merchantId) && services.directory.byId(transfer.merchantId)
  if (!merchant || transfer.kind !== 'deposit' || transfer.channel !== 'hosted')
    throw new RequestError('unknown-transfer')
  const { settings, suspended, logoSha256 } = merchant
  const manual = manualPayment(services, transfer, settings)
  const completion = transfer.status === 'Completed' ? await completionOf(services, transfer) : undefined
  return { deposit: transfer, settings, suspended, logoSha256, manual, completion, currency: services.currency }
}

/**
 * Returns the time of payment (ISO 8601), read from its event, because later events do not change it, and the paying wallet account, or
 * `undefined` if an operator confirmed the payment.
 */
async function completionOf({ transfers, walletPayments }: HttpServices, { trackingId, updatedAt }: Deposit) {
  const [history, accountNumber] = await Promise.all([
    transfers.history(trackingId),
    walletPayments.paidFrom(trackingId),
  ])
  const completed = history.findLast(({ event }) => event.type === 'TransferCompleted')
  return { at: completed?.event.data.at ?? updatedAt, accountNumber }
}

/**
 * Returns the names of the payment method, the merchant's instructions, if any, and the account of the method. Instructions with a different
 * IBAN replace the account, because a page must not show two.
 */
function manualPayment(
  { paymentMethods }: HttpServices,
  { paymentMethod }: Deposit,
  { paymentInstructions }: MerchantSettings,
) {
  const method = paymentMethods.find(({ code }) => code === paymentMethod)
  if (method?.paidBy !== 'manual') return undefined
  const instructions = paymentInstructions.find((each) => each.paymentMethod === paymentMethod)?.text
  const ownIban = ibanIn(instructions ?? '')
  const isOther = ownIban !== undefined && plainAccountNumber(ownIban) !== method.account?.iban
  return { methodNames: namesOf(method), instructions, account: isOther ? undefined : method.account }
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

/** Returns the amount that the customer still has to pay. */
export function dueMinor({ amountMinor, funds }: Deposit): bigint {
  const missing = amountMinor - availableMinor(funds)
  return missing > 0n ? missing : amountMinor
}

/**
 * Returns the content of the QR code with which a banking app fills in the rest of the payment, or `undefined` without an account, in a
 * currency other than the euro, or after the whole amount has arrived.
 */
export function scannedTransfer({ deposit, manual, currency }: FoundDeposit): string | undefined {
  if (currency.code !== 'EUR' || !manual?.account) return undefined
  const { amountMinor, funds, referenceId } = deposit
  return epcCode(manual.account, amountMinor - availableMinor(funds), referenceId)
}

/** The state for the page's script: first in the page, then from `/pay/:link/state`. */
export const PageState = Type.Object(
  {
    phase: Type.Unsafe<Phase>({ type: 'string', examples: ['open'] }),
    status: Type.Unsafe<Deposit['status']>({ type: 'string', examples: ['Pending'] }),
    /** The whole seconds left to pay; 0 unless the phase is `open`. */
    secondsLeft: Type.Integer(),
    /** The part of the amount that has arrived, in the format of the language; null unless the phase is `open` and a part has. */
    received: NullableString(),
    /** The paid amount in the format of the language; null unless the phase is `paid`. */
    paid: NullableString(),
    /** ISO 8601; null unless the phase is `paid`. */
    paidAt: NullableString(),
    /** The last four digits of the paying wallet account, or null. */
    accountDigits: NullableString(),
    hasAmountMismatch: Type.Boolean(),
    receiptUrl: NullableString(),
  },
  { title: 'PaymentState', description: 'The state, from the log.' },
)
export type PageState = Static<typeof PageState>

export function pageState({ deposit, completion, currency }: FoundDeposit, language: Language, now: string): PageState {
  const phase = phaseOf(deposit, now)
  const { status, expiresAt, transactionAmountMinor, hasAmountMismatch, receiptUrl } = deposit
  const msLeft = phase === 'open' ? Date.parse(expiresAt) - Date.parse(now) : 0
  const paid = phase === 'paid'
  const heldMinor = availableMinor(deposit.funds)
  return {
    phase,
    status,
    secondsLeft: Math.ceil(msLeft / 1000),
    received: phase === 'open' && heldMinor > 0n ? formatMoney(language, currency, heldMinor) : null,
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
  const { trackingId, referenceId } = deposit
  return withQuery(settings.returnUrl, `trackingId=${trackingId}&referenceId=${encodeURIComponent(referenceId)}`)
}

/** Adds to a query without rewriting the rest of the URL, over which the merchant may have computed a signature. */
function withQuery(url: string, added: string): string {
  const end = url.includes('#') ? url.indexOf('#') : url.length
  const before = url.slice(0, end)
  const endsWithSeparator = /^[^?]*\?(.*&)?$/s.test(before)
  const separator = before.includes('?') ? '&' : '?'
  return `${before}${endsWithSeparator ? '' : separator}${added}${url.slice(end)}`
}
