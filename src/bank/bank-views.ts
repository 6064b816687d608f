import type { StatementSummary } from '../commands/bank/import-statements.js'
import type { ProposedUse } from '../commands/bank/propose.js'
import type { StatementProblem } from '../domain/bank/bank-account.js'
import { type FoundPayment, type KnownPayment, statusOf } from '../domain/bank/bank-entries.js'
import type { MatchReason } from '../domain/bank/match-reasons.js'
import type { Violation } from '../domain/rules.js'
import type { BankEffect, TransferKind } from '../domain/transfer/transfer-events.js'
import type { BankDayDocument } from '../read-models/documents.js'
import type { FileResult, PaymentResult, RejectionResult } from './bank-statements.js'

/** Returns a payment in the form of JSON documents. Amounts are integers of minor units. */
export function paymentView(found: FoundPayment) {
  const { payment, uses, explained } = found
  const status = statusOf(found)
  const { paymentId, accountId, date, direction, currency, name, accountNumber, remittance } = payment
  const { bankReference, endToEndId, isReversal, isReturn, returnReasonCode, returnReasonText } = payment
  return {
    ...{ paymentId, accountId, date, direction, amountMinor: Number(payment.paidAmountMinor), currency },
    ...{ status, name, accountNumber, remittance, bankReference, endToEndId },
    ...{ isReversal, isReturn, returnReasonCode, returnReasonText },
    uses: uses.map(({ trackingId, amountMinor, effect, by }) => ({
      trackingId,
      amountMinor: Number(amountMinor),
      effect,
      by,
    })),
    explanation: status === 'explained' ? explained!.explanation : null,
    explainedBy: status === 'explained' ? explained!.by : null,
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
  readonly requestedAmountMinor: number
  /** The amount of the payment that it would use. */
  readonly amountMinor: number
  readonly reasons: readonly MatchReason[]
  readonly isCertain: boolean
  /** Why the transfer would reject it now. */
  readonly refusal: Violation | null
}

export function proposalView({ transfer, reasons, isCertain, amountMinor, refusal }: ProposedUse): ProposalView {
  const { trackingId, merchantId, kind, referenceId, name, status } = transfer
  const amounts = { requestedAmountMinor: Number(transfer.amountMinor), amountMinor: Number(amountMinor) }
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
  const balance = (each: typeof opening) => each && { balanceMinor: Number(each.balanceMinor), date: each.date }
  return {
    ...{ accountId, importId, format, statementId, number, currency, firstDate, lastDate },
    ...{ entries, newEntries, pendingEntries, opening: balance(opening), closing: balance(closing) },
    ...{ creditMinor: Number(creditMinor), debitMinor: Number(debitMinor) },
    problems: problems.map(({ differenceMinor, ...problem }) => ({
      ...{ after: null, ...problem },
      differenceMinor: Number(differenceMinor),
    })),
  }
}

/** Returns what an account booked on a day. Amounts are decimal digits of minor units, because sums can exceed exact numbers. */
export function bankDayView({ accountId, bookedAt, files: filesMinor, credit, debit }: BankDayDocument) {
  return {
    ...{
      accountId,
      date: bookedAt.slice(0, 10),
      filesMinor,
      debitBookedMinor: debit.booked,
      debitCompletedMinor: debit.completed,
    },
    ...{ debitExplainedMinor: debit.explained, debitOpenMinor: debit.open, creditBookedMinor: credit.booked },
    ...{ creditReceivedMinor: credit.received, creditReturnedMinor: credit.returned },
    ...{ creditExplainedMinor: credit.explained, creditOpenMinor: credit.open },
  }
}

export function fileView(result: Extract<FileResult, { accepted: true }>) {
  const statements = result.statements.map(statementView)
  const { counts, payments, rejections } = result
  return { statements, counts, payments: payments.map(resultView), rejections: rejections.map(rejectionView) }
}
export type BankFileView = ReturnType<typeof fileView>
