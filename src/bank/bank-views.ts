import type { StatementSummary } from '../commands/bank/import-statements.js'
import type { ProposedUse } from '../commands/bank/propose.js'
import type { StatementProblem } from '../domain/bank/bank-account.js'
import { type FoundPayment, type KnownPayment, statusOf } from '../domain/bank/bank-entries.js'
import type { MatchReason } from '../domain/bank/matching.js'
import { formatTwoDecimals, toJsonNumber } from '../domain/money.js'
import type { Violation } from '../domain/rules.js'
import type { BankEffect, TransferKind } from '../domain/transfer/transfer-events.js'
import type { BankDayDocument } from '../read-models/documents.js'
import type { FileResult, PaymentResult, RejectionResult } from './bank-statements.js'

/** Returns a payment in the form of JSON documents. Amounts are numbers in the units of the currency. */
export function paymentView(found: FoundPayment) {
  const { payment, uses, explained } = found
  const { paymentId, accountId, date, direction, currency, name, accountNumber, remittance } = payment
  const { bankReference, endToEndId, isReversal, isReturn, returnReasonCode, returnReasonText } = payment
  return {
    ...{ paymentId, accountId, date, direction, amount: toJsonNumber(payment.paidAmountMinor), currency },
    ...{ status: statusOf(found), name, accountNumber, remittance, bankReference, endToEndId },
    ...{ isReversal, isReturn, returnReasonCode, returnReasonText },
    uses: uses.map(({ trackingId, amountMinor, effect, by }) => ({
      trackingId,
      amount: toJsonNumber(amountMinor),
      effect,
      by,
    })),
    explanation: explained?.explanation ?? null,
    explainedBy: explained?.by ?? null,
    recordedAt: payment.at,
  }
}
export type BankPaymentView = ReturnType<typeof paymentView>

/** Returns a payment of a read model, which contains none of the other payments of its entry. */
export const listedPaymentView = (known: KnownPayment): BankPaymentView => paymentView({ ...known, siblings: [known] })

export interface ProposalView {
  readonly trackingId: string
  readonly merchantId: string
  readonly kind: TransferKind
  readonly referenceId: string
  readonly name: string
  readonly transferStatus: string
  readonly requestedAmount: number
  /** The amount of the payment that it would use. */
  readonly amount: number
  readonly reasons: readonly MatchReason[]
  readonly isCertain: boolean
  /** Why the transfer would reject it now. */
  readonly refusal: Violation | null
}

export function proposalView({ transfer, reasons, isCertain, amountMinor, refusal }: ProposedUse): ProposalView {
  const { trackingId, merchantId, kind, referenceId, name, status } = transfer
  const amounts = { requestedAmount: toJsonNumber(transfer.amountMinor), amount: toJsonNumber(amountMinor) }
  const identity = { trackingId, merchantId, kind, referenceId, name, transferStatus: status }
  return {
    ...identity,
    ...amounts,
    reasons,
    isCertain,
    refusal: refusal ? { rule: refusal.rule, values: refusal.values } : null,
  }
}

export function resultView({ found, proposals, results }: PaymentResult) {
  return { ...paymentView(found), proposals: proposals.map(proposalView), applied: results.map(appliedView) }
}

function appliedView(result: PaymentResult['results'][number]): {
  effect: BankEffect | null
  refusal: Violation | null
} {
  if (result.accepted) return { effect: result.effect, refusal: null }
  return { effect: null, refusal: { rule: result.refusal.rule, values: result.refusal.values } }
}

function rejectionView({ rejection, proposals, isApplied }: RejectionResult) {
  const { fileId, endToEndId, reasonCode, reasonText } = rejection
  return { fileId, endToEndId, reasonCode, reasonText, isApplied, proposals: proposals.map(proposalView) }
}

export function statementView({
  opening,
  closing,
  creditMinor,
  debitMinor,
  problems,
  ...statement
}: StatementSummary & { readonly problems: readonly StatementProblem[] }) {
  const { accountId, importId, format, statementId, number, currency, firstDate, lastDate } = statement
  const { entries, newEntries, pendingEntries } = statement
  const balance = (each: typeof opening) => each && { balance: toJsonNumber(each.balanceMinor), date: each.date }
  return {
    ...{ accountId, importId, format, statementId, number, currency, firstDate, lastDate },
    ...{ entries, newEntries, pendingEntries, opening: balance(opening), closing: balance(closing) },
    ...{ creditAmount: toJsonNumber(creditMinor), debitAmount: toJsonNumber(debitMinor) },
    problems: problems.map(({ differenceMinor, ...problem }) => ({
      ...{ after: null, ...problem },
      difference: toJsonNumber(differenceMinor),
    })),
  }
}

/** Returns what an account booked on a day. Amounts are in decimal digits, because sums can exceed exact numbers. */
export function bankDayView({ accountId, bookedAt, credit, debit }: BankDayDocument) {
  const digits = (minor: string) => formatTwoDecimals(BigInt(minor))
  return {
    ...{ accountId, date: bookedAt.slice(0, 10) },
    ...{ debitBooked: digits(debit.booked), debitCompleted: digits(debit.completed), debitOpen: digits(debit.open) },
    ...{
      debitExplained: digits(debit.explained),
      creditBooked: digits(credit.booked),
      creditReceived: digits(credit.received),
    },
    ...{
      creditReturned: digits(credit.returned),
      creditExplained: digits(credit.explained),
      creditOpen: digits(credit.open),
    },
  }
}

export function fileView(result: Extract<FileResult, { accepted: true }>) {
  const statements = result.statements.map(statementView)
  const { counts, payments, rejections } = result
  return { statements, counts, payments: payments.map(resultView), rejections: rejections.map(rejectionView) }
}
export type BankFileView = ReturnType<typeof fileView>
