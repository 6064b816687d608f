import { type MatchReason, matchReasons } from '../../../domain/bank/match-reasons.js'
import type { RuleName } from '../../../domain/rules.js'
import { Type } from '../../../kernel/typebox.js'
import { BankEffectName, Items, List, Nullable, OneOf, Reason, Text } from '../api.js'

/** The API of the pages *Bank statements* and *Reconciliation*, as in `api.ts`: amounts are integers of minor units, sums their digits. */

const Minor = Type.Integer()
const SumMinor = Type.String({ pattern: '^-?[0-9]+$' })
const Direction = OneOf(['credit', 'debit'] as const)
const PaymentStatus = OneOf(['open', 'applying', 'used', 'explained', 'superseded'] as const)
const Day = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' })
/** Why a transfer rejects a payment. The pages format the values. */
const Refusal = Type.Object({ rule: Type.Unsafe<RuleName>(Text), values: Type.Record(Text, Type.Unknown()) })

/** A transfer that a payment can be used for. */
const Proposal = Type.Object({
  trackingId: Text,
  merchantId: Text,
  kind: OneOf(['deposit', 'withdrawal'] as const),
  referenceId: Text,
  name: Text,
  transferStatus: Text,
  requestedAmountMinor: Minor,
  /** The amount of the payment that it would use. */
  amountMinor: Minor,
  reasons: List(OneOf(Object.keys(matchReasons) as MatchReason[])),
  isCertain: Type.Boolean(),
  /** Why the transfer would reject it now, for example because it needs an approval. */
  refusal: Nullable(Refusal),
})
export type BankProposal = (typeof Proposal)['static']

const payment = {
  paymentId: Text,
  accountId: Text,
  date: Text,
  direction: Direction,
  amountMinor: Minor,
  currency: Text,
  status: PaymentStatus,
  name: Nullable(Text),
  accountNumber: Nullable(Text),
  /** Lines. */
  remittance: Nullable(Text),
  bankReference: Nullable(Text),
  endToEndId: Nullable(Text),
  isReversal: Type.Boolean(),
  isReturn: Type.Boolean(),
  returnReasonCode: Nullable(Text),
  returnReasonText: Nullable(Text),
  uses: List(Type.Object({ trackingId: Text, amountMinor: Minor, effect: Nullable(BankEffectName), by: Text })),
  explanation: Nullable(Text),
  explainedBy: Nullable(Text),
  recordedAt: Text,
}
/** A payment of a statement with the transfers that it can belong to, the most likely one first. Only open ones have any. */
export const BankPayment = Type.Object({ ...payment, proposals: List(Proposal) })
export type BankPayment = (typeof BankPayment)['static']

const Balance = Nullable(Type.Object({ balanceMinor: Minor, date: Text }))
const Statement = Type.Object({
  accountId: Text,
  importId: Text,
  format: Text,
  statementId: Nullable(Text),
  number: Nullable(Text),
  currency: Text,
  firstDate: Nullable(Text),
  lastDate: Nullable(Text),
  entries: Type.Integer(),
  newEntries: Type.Integer(),
  pendingEntries: Type.Integer(),
  opening: Balance,
  closing: Balance,
  creditMinor: Minor,
  debitMinor: Minor,
  problems: List(
    Type.Object({
      problem: OneOf(['sum-differs', 'gap'] as const),
      /** The last day before a gap; null for other problems. */
      after: Nullable(Text),
      differenceMinor: Minor,
    }),
  ),
})
export type BankStatement = (typeof Statement)['static']

/** The body is the file. `preview` records nothing; `apply` records every booked entry and carries out the certain matches. */
export const BankFileQuery = Type.Object({
  mode: OneOf(['preview', 'apply'] as const),
  /** The account of a file that does not state it. */
  account: Type.Optional(Text),
})
export const BankFileResponse = Type.Object({
  statements: List(Statement),
  /** `used` and `explained` were decided before; `certain`, `uncertain` and `unknown` were open; `applied` are those of the certain ones that were carried out. */
  counts: Type.Object({
    used: Type.Integer(),
    explained: Type.Integer(),
    certain: Type.Integer(),
    uncertain: Type.Integer(),
    unknown: Type.Integer(),
    applied: Type.Integer(),
  }),
  /** The payments that were open, at most 1000. */
  payments: List(
    Type.Object({
      ...payment,
      proposals: List(Proposal),
      applied: List(Type.Object({ effect: Nullable(BankEffectName), refusal: Nullable(Refusal) })),
    }),
  ),
  rejections: List(
    Type.Object({
      fileId: Nullable(Text),
      endToEndId: Nullable(Text),
      reasonCode: Nullable(Text),
      reasonText: Nullable(Text),
      isApplied: Type.Boolean(),
      proposals: List(Proposal),
    }),
  ),
})
export type BankFileResponse = (typeof BankFileResponse)['static']

export const BankPaymentsQuery = Type.Object({
  /** `open`: only those that no one has decided about. */
  show: OneOf(['open', 'all'] as const),
  account: Type.Optional(Text),
  from: Type.Optional(Day),
  to: Type.Optional(Day),
  limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,2}$' })),
  cursor: Type.Optional(Type.String({ maxLength: 400 })),
})
/** The latest day first. */
export const BankPaymentsResponse = Type.Object({ items: List(BankPayment), nextCursor: Nullable(Text) })
export const BankPaymentParams = Type.Object({ paymentId: Text })

/** Uses each payment for a transfer, as a person decided. `amountMinor` is the part of an entry whose payments the bank did not name. */
export const BankUses = Type.Object({
  items: Type.Array(
    Type.Object({
      paymentId: Text,
      trackingId: Text,
      amountMinor: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
    { minItems: 1, maxItems: 200 },
  ),
})
export type BankUses = (typeof BankUses)['static']
/** Each payment after its use, with the effect, or why it was rejected. */
export const BankUsesResponse = Items(
  Type.Object({
    paymentId: Text,
    trackingId: Text,
    effect: Nullable(BankEffectName),
    refusal: Nullable(Refusal),
    payment: Nullable(BankPayment),
  }),
)
export type BankUsesResponse = (typeof BankUsesResponse)['static']

export const BankExplanation = Type.Object({ explanation: Reason })

export const BankAccountsResponse = Items(Type.Object({ accountId: Text, merchantIds: Nullable(List(Text)) }))
export type BankAccountsResponse = (typeof BankAccountsResponse)['static']
export const BankAccountParams = Type.Object({ accountId: Text })
/** The newest import first. */
export const BankStatementsResponse = Items(Statement)
export type BankStatementsResponse = (typeof BankStatementsResponse)['static']

export const BankDaysQuery = Type.Object({
  account: Type.Optional(Text),
  from: Type.Optional(Day),
  to: Type.Optional(Day),
  limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,2}$' })),
  cursor: Type.Optional(Type.String({ maxLength: 400 })),
})
/**
 * The sums that an account booked on each day, and their use, the latest day first. Debits: `booked` = completed + explained + open + those in
 * progress. Credits: `booked` = received + returned (money of withdrawals that came back) + explained + open. `filesMinor` is the sum of the bank files of the day.
 */
export const BankDaysResponse = Type.Object({
  items: List(
    Type.Object({
      accountId: Text,
      date: Text,
      filesMinor: SumMinor,
      debitBookedMinor: SumMinor,
      debitCompletedMinor: SumMinor,
      debitExplainedMinor: SumMinor,
      debitOpenMinor: SumMinor,
      creditBookedMinor: SumMinor,
      creditReceivedMinor: SumMinor,
      creditReturnedMinor: SumMinor,
      creditExplainedMinor: SumMinor,
      creditOpenMinor: SumMinor,
    }),
  ),
  nextCursor: Nullable(Text),
})
export type BankDay = (typeof BankDaysResponse)['static']['items'][number]
