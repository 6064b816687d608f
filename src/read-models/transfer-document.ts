import { erasedText } from '../domain/erased-data.js'
import { needsAttention, noFunds, noPayout, type Transfer } from '../domain/transfer/transfer.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { searchable } from '../kernel/text.js'
import type { FundsOf, PayoutOf, TransferDocument } from './documents.js'

/** Returns the document of a transfer; {@link transferOf} is the inverse. Amounts stay far below 2^53 minor units. */
export function documentOf(transfer: Transfer, position: number, revision: number): TransferDocument {
  const { trackingId, amountMinor, transactionAmountMinor, receiptUrl, message } = transfer
  // One literal, because combining several objects would cost a rebuild a third more time.
  return {
    _id: trackingId,
    position,
    merchantId: transfer.merchantId,
    kind: transfer.kind,
    status: transfer.status,
    referenceId: transfer.referenceId,
    amountMinor: Number(amountMinor),
    transactionAmountMinor: Number(transactionAmountMinor),
    hasAmountMismatch: transfer.hasAmountMismatch,
    ...(receiptUrl !== null && { receiptUrl }),
    ...(message !== null && { message }),
    userId: transfer.userId,
    name: transfer.name,
    username: transfer.username,
    paymentMethod: transfer.paymentMethod,
    ...fieldsOfKind(transfer),
    createdAt: transfer.createdAt,
    updatedAt: transfer.updatedAt,
    revision,
  }
}

function fieldsOfKind(transfer: Transfer): Partial<TransferDocument> {
  if (transfer.kind === 'withdrawal') {
    const { accountNumber, identityNumber, payout } = transfer
    return {
      accountNumber,
      ...(identityNumber !== null && { identityNumber }),
      ...(payout.steps.length > 0 && { payout: payoutWith(payout, Number) }),
    }
  }
  const { channel, expiresAt, funds, autoCancelledAmountMinor, cancelReason, reopened } = transfer
  return {
    channel,
    expiresAt,
    ...(funds.receivedMinor > 0n && { funds: fundsWith(funds, Number) }),
    ...(autoCancelledAmountMinor !== null && { autoCancelledAmountMinor: Number(autoCancelledAmountMinor) }),
    ...(cancelReason !== null && { cancelReason }),
    ...(reopened && { reopened }),
    ...(transfer.status === 'Pending' && { openUntil: expiresAt }),
    ...(needsAttention(transfer) && { attention: 'open', attentionOf: transfer.merchantId }),
  }
}

export function transferOf(document: TransferDocument): Transfer {
  const { autoCancelledAmountMinor, cancelReason = null, reopened = false } = document
  const existing = {
    trackingId: document._id,
    merchantId: document.merchantId,
    referenceId: document.referenceId,
    status: document.status,
    amountMinor: BigInt(document.amountMinor),
    transactionAmountMinor: BigInt(document.transactionAmountMinor),
    hasAmountMismatch: document.hasAmountMismatch,
    receiptUrl: document.receiptUrl ?? null,
    message: document.message ?? null,
    userId: document.userId,
    name: document.name,
    username: document.username,
    paymentMethod: document.paymentMethod,
    createdAt: document.createdAt,
    updatedAt: document.updatedAt,
  }
  if (document.kind === 'withdrawal') {
    const { accountNumber, identityNumber = null } = document
    const payout = document.payout ? payoutWith(document.payout, BigInt) : noPayout
    return { kind: 'withdrawal', accountNumber: accountNumber!, identityNumber, payout, ...existing }
  }
  return {
    kind: 'deposit',
    channel: document.channel!,
    expiresAt: document.expiresAt!,
    funds: document.funds ? fundsWith(document.funds, BigInt) : noFunds,
    autoCancelledAmountMinor: autoCancelledAmountMinor === undefined ? null : BigInt(autoCancelledAmountMinor),
    cancelReason,
    reopened,
    ...existing,
  }
}

function fundsWith<From, To>(funds: FundsOf<From>, convert: (amount: From) => To): FundsOf<To> {
  return {
    receivedMinor: convert(funds.receivedMinor),
    returns: funds.returns.map(({ amountMinor, receiptUrl }) => ({ amountMinor: convert(amountMinor), receiptUrl })),
    resolvedMinor: convert(funds.resolvedMinor),
    vouchedMinor: convert(funds.vouchedMinor),
  }
}

function payoutWith<From, To>(payout: PayoutOf<From>, convert: (amount: From) => To): PayoutOf<To> {
  const { approval } = payout
  const converted = approval && { ...approval, amountMinor: convert(approval.amountMinor) }
  return { ...payout, approval: converted }
}

/**
 * The terms by which transfers can be found in addition to the indexes of their list. They are set at the creation and never change. Each
 * term is one document whose `_id` consists of merchant, kind, term, time and transfer in this order, so that a search reads a range of ids.
 */

interface Searched {
  readonly referenceId: string
  readonly userId: string
  readonly name: string
  readonly paymentMethod: number
  /** Withdrawals only. */
  readonly accountNumber?: string
}

const maxCharacters = 60

/** Returns the term of a text, normalized by {@link searchable} and shortened. */
export function textTerm(text: string): string {
  const characters = searchable(text)
  // A text never has more characters than UTF-16 units.
  return `t${characters.length <= maxCharacters ? characters : Array.from(characters).slice(0, maxCharacters).join('')}`
}

export function methodTerm(paymentMethod: number): string {
  return `m${paymentMethod}`
}

export function textTermsOf({ referenceId, userId, name, accountNumber = '' }: Searched): readonly string[] {
  const terms = new Set([referenceId, userId, name, accountNumber].filter((text) => text !== erasedText).map(textTerm))
  terms.delete(textTerm(''))
  return [...terms].sort()
}

/** Returns the prefix of the ids of a merchant's terms; a {@link termKey} follows. */
export function termsPrefix(merchantId: string, kind: TransferKind): string {
  return `${shortMerchant(merchantId)}|${kind === 'deposit' ? 'd' : 'w'}`
}

/** Returns the key of a transfer under a term. Keys sort by term, then newest first. */
export function termKey(term: string, createdAt: string, trackingId: string): string {
  return termSince(term, createdAt) + digitsOf(trackingId)
}

/** Returns a key that sorts before all transfers of a term created at this time or earlier, and after all that were created later. */
export function termSince(term: string, time: string): string {
  return `${term}${termEnd}${(latestMs - Date.parse(time)).toString(36).padStart(timeDigits, '0')}`
}

/** Occurs in no term and sorts before every character of a term, so that `ada` comes before `adam`. */
const termEnd = '\t'
/** The last time with a year of four digits. */
const latestMs = Date.parse('9999-12-31T23:59:59.999Z')
const timeDigits = latestMs.toString(36).length

/** Returns the term and the transfer of a key. */
export function parseTermKey(key: string): { readonly term: string; readonly trackingId: string } {
  const end = key.indexOf(termEnd)
  return { term: key.slice(0, end), trackingId: idOf(key.slice(end + termEnd.length + timeDigits)) }
}

/** Returns whether a text from a cursor is a valid key for {@link parseTermKey}. */
export function isTermKey(text: string): boolean {
  return keyPattern.test(text)
}

const keyPattern = new RegExp(`^[^\\t]+${termEnd}[0-9a-z]{${timeDigits}}[0-9a-f]{32}$`)
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** Marks an id that is not a UUID; the short form of a UUID never contains it. */
const longMark = '='

/** The short form of a merchant's id, with which each of its terms starts. */
function shortMerchant(id: string): string {
  return uuid.test(id) ? Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url') : longMark + id
}

/** Keeps transfers of the same time in the order of their ids. */
function digitsOf(id: string): string {
  return uuid.test(id) ? id.replaceAll('-', '') : longMark + id
}

function idOf(digits: string): string {
  if (digits.startsWith(longMark)) return digits.slice(longMark.length)
  const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)]
  return parts.join('-')
}
