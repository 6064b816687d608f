import { plainAccountNumber } from '../../kernel/account-number.js'
import { sepaText } from '../sepa-text.js'
import { isTerminal } from '../transfer/status.js'
import { availableMinor, keptMinor, type Transfer } from '../transfer/transfer.js'
import type { MatchBankPayment } from '../transfer/transfer-commands.js'
import { doubts, type MatchReason } from './match-reasons.js'

// Which transfer a payment of the bank belongs to. The result is a proposal: the transfer decides about its money.

/** The facts of a payment that are compared with transfers. */
export interface MatchedFacts {
  readonly matched: MatchBankPayment['matched']
  readonly amountMinor: bigint
  /** The payer's ids, which for our payments are the trackingId without hyphens. */
  readonly endToEndIds: readonly string[]
  /** The id of our bank file, if the payment is the whole file or a part of it. */
  readonly fileId: string | null
  /** The lines of text, in which a reference can be split anywhere. */
  readonly lines: readonly string[]
  readonly account: string | null
}

export interface Proposal {
  readonly trackingId: string
  readonly reasons: readonly MatchReason[]
  /** Higher is more likely. */
  readonly score: number
  readonly isCertain: boolean
}

const scores: { readonly [reason in MatchReason]: number } = {
  ...({ 'end-to-end-id': 100, 'bank-file': 80, 'tracking-id': 90, reference: 60, 'short-reference': 25 } as const),
  ...({ 'part-of-word': 10, account: 30, amount: 20, part: 5, 'other-amount': -10, 'other-account': -40 } as const),
  ...({ ended: -30, 'several-transfers': -5, 'received-before': -10 } as const),
}
/** The reasons that identify a transfer, by how exactly they do. */
const identities: { readonly [reason in MatchReason]?: number } = {
  ...{ 'end-to-end-id': 3, 'tracking-id': 2, 'bank-file': 1, reference: 1 },
}
const identityOf = (reasons: readonly MatchReason[]) => Math.max(0, ...reasons.map((reason) => identities[reason] ?? 0))

/** A shorter reference can be in a text by accident. */
const leastLength = 6
/** A reference of this length identifies a deposit also if only a part of its amount arrives. */
const partLength = 8

/**
 * Returns the transfers that a payment can belong to, the most likely one first. None is proposed for its amount alone. One is certain if its id
 * or reference is in the payment and nothing speaks against it.
 */
export function proposalsFor(facts: MatchedFacts, transfers: readonly Transfer[]): readonly Proposal[] {
  const text = comparableText(facts.lines)
  const found = transfers
    .map((transfer) => ({ transfer, reasons: reasonsFor(facts, text, transfer) }))
    .filter(({ reasons }) => reasons.length > 0)
  const identified = found.filter(({ reasons }) => identityOf(reasons) > 0)
  // A reference within another one that is in the text, too, was not meant.
  const isWithin = (one: Transfer, other: Transfer) =>
    one !== other && plainReference(other.referenceId).includes(plainReference(one.referenceId))
  const clear = identified.filter(
    ({ transfer, reasons }) =>
      !reasons.includes('reference') || !identified.some((other) => isWithin(transfer, other.transfer)),
  )
  return found
    .map(({ transfer, reasons: own }): Proposal => {
      const rivals = clear.filter((each) => each.transfer !== transfer)
      // The rejection of a file concerns each of its withdrawals.
      const isOfFile = facts.matched === 'rejection' && own.includes('bank-file')
      const isUnique = isOfFile || rivals.every((each) => identityOf(each.reasons) < Math.max(1, identityOf(own)))
      const reasons: readonly MatchReason[] = isUnique ? own : [...own, 'several-transfers']
      const isCertain = identityOf(reasons) > 0 && !reasons.some((reason) => doubts.has(reason))
      const score = reasons.reduce((sum, reason) => sum + scores[reason], 0)
      return { trackingId: transfer.trackingId, reasons, score, isCertain }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.trackingId < b.trackingId ? -1 : 1))
}

function reasonsFor(facts: MatchedFacts, text: ComparableText, transfer: Transfer): MatchReason[] {
  const { matched, amountMinor, endToEndIds, fileId, account } = facts
  if ((matched === 'credit') !== (transfer.kind === 'deposit')) return []
  const reasons: MatchReason[] = []
  const id = transfer.trackingId.replaceAll('-', '').toUpperCase()
  const isFile =
    transfer.kind === 'withdrawal' && transfer.payout.files.some(({ messageId }) => sameId(messageId, fileId))
  if (endToEndIds.some((each) => sameId(each, id))) reasons.push('end-to-end-id')
  else if (isFile) reasons.push('bank-file')
  else if (text.plain.includes(id)) reasons.push('tracking-id')
  const reference =
    transfer.kind === 'deposit' || reasons.length === 0 ? referenceIn(text, transfer.referenceId) : undefined
  if (reference && reasons.length === 0) reasons.push(reference)
  const isSameAccount =
    transfer.kind === 'withdrawal' &&
    account !== null &&
    plainAccountNumber(transfer.accountNumber) === plainAccountNumber(account)
  const amount = amountReason(facts, transfer)
  // Neither the account nor the amount alone identifies a payment.
  if (reasons.length === 0 && !(isSameAccount && amount === 'amount' && !isTerminal(transfer.status))) return []
  if (isSameAccount) reasons.push('account')
  // A bank can return a payment from another account than the one that it was sent to.
  else if (transfer.kind === 'withdrawal' && account !== null && matched === 'debit') reasons.push('other-account')
  if (amount && amountMinor > 0n) reasons.push(amount)
  if (hasEnded(matched, transfer)) reasons.push('ended')
  // It can be the same payment, which another format dates differently.
  const isKnown = transfer.bankPayments.some((each) => each.amountMinor === amountMinor && each.effect === 'received')
  if (matched === 'credit' && isKnown) reasons.push('received-before')
  return reasons
}

/** Returns how the amount fits to the amount that the transfer still expects. */
function amountReason({ matched, amountMinor }: MatchedFacts, transfer: Transfer): MatchReason | undefined {
  if (matched === 'rejection') return undefined
  if (transfer.kind === 'withdrawal') {
    const isPaid = transfer.status === 'Completed'
    const expected =
      matched === 'return' ? keptMinor(transfer) : isPaid ? transfer.transactionAmountMinor : transfer.amountMinor
    if (amountMinor === expected) return 'amount'
    return matched === 'return' && amountMinor < expected ? 'part' : 'other-amount'
  }
  if (transfer.status === 'Completed') {
    return amountMinor === transfer.transactionAmountMinor && transfer.bankPayments.length === 0
      ? 'amount'
      : 'other-amount'
  }
  const left = transfer.amountMinor - availableMinor(transfer.funds)
  if (amountMinor === left) return 'amount'
  const isLong = plainReference(transfer.referenceId).length >= partLength
  return amountMinor < left && isLong ? 'part' : 'other-amount'
}

function hasEnded(matched: MatchedFacts['matched'], transfer: Transfer): boolean {
  const { status } = transfer
  if (matched === 'return') return status !== 'Completed'
  if (status === 'Completed') {
    // Paid by hand before the statement arrived.
    const isConfirmable = transfer.bankPayments.every(({ effect }) => effect === 'rejected')
    return matched !== 'rejection' && !isConfirmable
  }
  return isTerminal(status)
}

interface ComparableText {
  /** Capital letters and digits. */
  readonly plain: string
  /** For each character of `plain`, whether a letter or digit is directly before it in the payment's text. */
  readonly isWithinWord: readonly boolean[]
}

export function comparableText(lines: readonly string[]): ComparableText {
  const isWithinWord: boolean[] = []
  let plain = ''
  // A line break can be within a reference, but a reference does not begin or end within a word.
  for (const line of lines.map(asciiText)) {
    let isWord = false
    for (const character of line) {
      const isPart = /[A-Z0-9]/.test(character)
      if (isPart) {
        plain += character
        isWithinWord.push(isWord)
      }
      isWord = isPart
    }
  }
  return { plain, isWithinWord }
}

/** Returns how surely a text contains a reference: regardless of spaces, punctuation, case, and of how a bank writes letters such as ü. */
export function referenceIn(text: ComparableText, referenceId: string): MatchReason | undefined {
  let best: MatchReason | undefined
  for (const reference of referenceForms(referenceId)) {
    if (reference.length < 3) continue
    for (let at = text.plain.indexOf(reference); at >= 0; at = text.plain.indexOf(reference, at + 1)) {
      const end = at + reference.length
      const isWhole = !text.isWithinWord[at] && !text.isWithinWord[end]
      if (!isWhole) best ??= reference.length < leastLength ? undefined : 'part-of-word'
      else if (reference.length < leastLength) best = 'short-reference'
      else return 'reference'
    }
  }
  return best
}

/** Returns the letters and digits of a reference in the forms in which it can be in a statement. */
export function referenceForms(referenceId: string): readonly string[] {
  const sharp = referenceId.replaceAll('ß', 'ss')
  const german = sharp.replaceAll(/[äöüÄÖÜ]/gu, (letter) => `${letter.normalize('NFD')[0]}e`)
  const without = referenceId.replaceAll(/[^\x20-\x7e]/gu, '')
  return [...new Set([referenceId, sharp, german, without].map(plainReference))].filter((form) => form !== '')
}

function plainReference(referenceId: string): string {
  return asciiText(referenceId).replaceAll(/[^A-Z0-9]/g, '')
}

function asciiText(text: string): string {
  return (sepaText(text, text.length * 4) ?? '').toUpperCase()
}

const sameId = (a: string, b: string | null): boolean =>
  b !== null && a.replaceAll('-', '').toUpperCase() === b.replaceAll('-', '').toUpperCase()
