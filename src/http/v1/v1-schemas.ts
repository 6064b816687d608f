import type { Static } from '@sinclair/typebox'
import { maxReferenceLength } from '../../commands/transfer/transfer-requests.js'
import { maxReferenceIdLength } from '../../domain/fields.js'
import type { Payee, Requested } from '../../domain/transfer/requested-fields.js'
import { returnReasonCodes } from '../../domain/transfer/return-reasons.js'
import { statusCodes } from '../../domain/transfer/status.js'
import type { Refund as DomainRefund, Repayment as DomainRepayment } from '../../domain/transfer/transfer.js'
import type { RefundTarget as Target, TransferEvent, TransferKind } from '../../domain/transfer/transfer-events.js'
import { type LimitScope, limitScopes } from '../../domain/withdrawal-limits.js'
import { type TSchema, Type } from '../../kernel/typebox.js'
import { NullableInteger, NullableString } from '../envelope.js'
import { Metadata } from '../merchant-api/create-schemas.js'
import { printable, printableNotBlank } from '../server/validation.js'

export const TrackingId = Type.String({ format: 'uuid', examples: ['0b7e9a52-3c1d-5f6e-8a90-1b2c3d4e5f60'] })
export const Time = Type.String({ format: 'date-time', examples: ['2026-11-21T10:15:00.000Z'] })
const Kind = Type.Unsafe<TransferKind>({ type: 'string', enum: ['deposit', 'withdrawal'], title: 'Kind' })
const statusNames = Object.keys(statusCodes)
export const StatusCode = Type.Unsafe<number>({
  type: 'integer',
  enum: Object.values(statusCodes),
  title: 'Status',
  description: '1 Pending, 2 Completed, 3 ManualControl, 4 Cancelled, 5 Failed.',
})
export const StatusName = Type.Unsafe<string>({ type: 'string', enum: statusNames, title: 'StatusName' })

export const TransferParams = Type.Object({
  trackingId: Type.String({ description: 'The trackingId of the transfer.' }),
})

/** The fields that the merchant stated, for `/v1` and the dashboard. The compiler reports a missing one. */
export const requestedFields = {
  userId: Type.String(),
  name: Type.String(),
  username: Type.String(),
  paymentMethod: Type.Integer(),
  metadata: Type.Unsafe<{ readonly [key: string]: string } | null>({
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    description: 'The `metadata` of the create; null if it had none, and empty after the customer was erased.',
    examples: [{ order: '4711' }],
  }),
} satisfies { readonly [field in keyof Requested]-?: TSchema }
/** The same for withdrawals only. */
export const payeeFields = {
  accountNumber: NullableString({ description: 'Withdrawals only.' }),
  identityNumber: NullableString({ description: 'Withdrawals only.' }),
} satisfies { readonly [field in keyof Payee]-?: TSchema }

const RefundTarget = Type.Unsafe<Target>({
  type: 'string',
  enum: ['account', 'wallet', 'elsewhere'],
  title: 'RefundTarget',
  description:
    '`account`: a withdrawal pays it. `wallet`: the wallet credits the account that paid the deposit. `elsewhere`: it was returned without the service.',
})
const RefundState = Type.Unsafe<DomainRefund['state']>({
  type: 'string',
  enum: ['proposed', 'open', 'returned', 'cancelled', 'failed', 'rejected', 'refused'],
  title: 'RefundState',
  description:
    '`proposed`: a second user must approve it. `open`: it is being paid. `returned`: it was paid. Any other: it was not paid, and its money can be refunded again.',
})
const Refund = Type.Object(
  {
    refundId: Type.String({
      format: 'uuid',
      description: 'The trackingId of the withdrawal that pays it; of any other target, only an id.',
    }),
    referenceId: Type.String(),
    amount: Type.Number(),
    to: RefundTarget,
    state: RefundState,
    by: Type.String({ description: 'The user who requested it.' }),
    at: Time,
    accountNumber: NullableString({ description: 'The account that receives it.' }),
    receiptUrl: NullableString(),
  },
  { title: 'Refund' },
)

const Repayment = Type.Object(
  {
    repaymentId: Type.String({ format: 'uuid', description: 'The trackingId of the withdrawal that pays it.' }),
    referenceId: Type.String(),
    amount: Type.Number(),
    state: Type.Unsafe<DomainRepayment['state']>({
      type: 'string',
      enum: ['open', 'paid', 'cancelled', 'failed', 'refused'],
      title: 'RepaymentState',
      description: '`open`: its withdrawal has not ended. `cancelled`, `failed`, `refused`: it was not paid.',
    }),
    by: Type.String({ description: 'The user who requested it.' }),
    at: Time,
    accountNumber: Type.String({ description: 'The account that receives it.' }),
  },
  { title: 'Repayment' },
)

const ExceededLimit = Type.Object(
  {
    per: Type.Unsafe<LimitScope>({
      type: 'string',
      enum: [...limitScopes],
      title: 'LimitScope',
      description: 'Whose withdrawals are counted together.',
    }),
    hours: Type.Integer({ description: 'The period: 24 hours, or 720 (30 days).' }),
    count: NullableInteger({ description: 'The largest number of withdrawals without an approval.' }),
    amount: Type.Unsafe<number | null>({
      type: ['number', 'null'],
      description: 'The largest sum of withdrawals without an approval.',
    }),
    actualCount: Type.Integer({ description: 'The number of withdrawals in the period, with this one.' }),
    actualAmount: Type.Number({ description: 'Their sum, with this one.', examples: [100.5] }),
  },
  { title: 'ExceededLimit', description: 'A limit that a withdrawal is beyond.' },
)

export const TransferResponse = Type.Object(
  {
    trackingId: TrackingId,
    transactionId: Type.String({ format: 'uuid', description: 'The same as trackingId.' }),
    referenceId: Type.String(),
    kind: Kind,
    channel: NullableString({ description: '`hosted` or `native`; null for a withdrawal.' }),
    status: StatusCode,
    statusDescription: StatusName,
    amount: Type.Number({ description: 'The requested amount.', examples: [100.5] }),
    transactionAmount: Type.Number({
      description:
        'The amount that moved: the booked amount if Completed, otherwise the received amount that was not returned.',
      examples: [100.5],
    }),
    hasAmountMismatch: Type.Boolean({ description: 'The amount that moved differs from the requested amount.' }),
    receivedAmount: Type.Number({ description: 'Deposits: the received amount.', examples: [100.5] }),
    returnedAmount: Type.Number({
      description:
        'Deposits: the amount that was returned to the customer. Withdrawals: the paid amount that came back.',
      examples: [0],
    }),
    refundedAmount: Type.Number({
      description: 'Deposits: the part of the returned amount that was booked.',
      examples: [0],
    }),
    reservedAmount: Type.Number({
      description: 'The amount of the refunds that are proposed or open, or of the open repayments.',
      examples: [0],
    }),
    resolvedAmount: Type.Number({ description: 'The amount that the operator resolved.', examples: [0] }),
    needsAttention: Type.Boolean({
      description: 'Received or returned money, a proposed correction or a proposed refund needs a decision.',
    }),
    lateFunds: Type.Number({
      description:
        'Deposits: the received amount that is not booked, returned or resolved. Withdrawals: the returned amount that is not resolved.',
      examples: [0],
    }),
    receiptUrl: NullableString(),
    message: NullableString({ description: '`amount corrected` after a correction.' }),
    ...requestedFields,
    ...payeeFields,
    claimedBy: NullableString({ description: 'Withdrawals: the user who has claimed it, while it is open.' }),
    claimedUntil: NullableString({
      format: 'date-time',
      description: 'The end of the claim; null while a bank file contains the withdrawal.',
    }),
    bankFile: NullableString({
      description: 'Withdrawals: the id of the latest bank file that contains it. The bank may have paid it.',
    }),
    bankRejection: NullableString({
      description:
        'Withdrawals: why the bank does not pay it, as a reason code of ISO 20022, until someone has decided what to do. NARR if the bank gave none.',
      examples: ['AC04'],
    }),
    approvedAmount: Type.Unsafe<number | null>({
      type: ['number', 'null'],
      description: 'Withdrawals: the amount that a second user has approved.',
    }),
    exceededLimits: Type.Array(ExceededLimit, {
      description:
        'Withdrawals: the limits of the operator that it was beyond when its payout started, or would be now. A second user must approve it.',
    }),
    proposedAmount: Type.Unsafe<number | null>({
      type: ['number', 'null'],
      description: 'The corrected amount that waits for the approval of a second user.',
    }),
    refundOf: NullableString({ description: 'Withdrawals: the trackingId of the deposit whose money it returns.' }),
    refunds: Type.Array(Refund, { description: 'Deposits: the refunds, oldest first.' }),
    repaymentOf: NullableString({
      description: 'Withdrawals: the trackingId of the withdrawal that came back and that it pays again.',
    }),
    repayments: Type.Array(Repayment, {
      description: 'Withdrawals: the withdrawals that pay its returned money again, oldest first.',
    }),
    createdAt: Time,
    updatedAt: Time,
    expiresAt: NullableString({
      format: 'date-time',
      description: 'Deposits only. It is later while a deposit holds a part of its amount.',
    }),
    revision: Type.Integer({ description: 'The number of its last event, from 0; callbacks contain it, too.' }),
  },
  { title: 'Transfer', description: 'The transfer.' },
)
export type TransferView = Static<typeof TransferResponse>

export const MerchantResponse = Type.Object(
  {
    merchantId: Type.String({ format: 'uuid' }),
    name: Type.String(),
    sandbox: Type.Boolean({ description: 'No real money moves.' }),
    currency: Type.String({ description: 'The currency of all amounts (ISO 4217).', examples: ['TRY'] }),
    paymentMethods: Type.Array(
      Type.Object(
        {
          code: Type.Integer({ description: 'The `paymentMethod` of a create.' }),
          name: Type.String(),
          type: Type.Unsafe<'wallet' | 'manual'>({
            type: 'string',
            enum: ['wallet', 'manual'],
            title: 'PaymentMethodType',
            description: 'How a deposit is paid: from a wallet, or manually by your instructions.',
          }),
          kinds: Type.Array(Kind),
          minAmount: Type.Number(),
          maxAmount: Type.Number(),
        },
        { title: 'PaymentMethod' },
      ),
      { description: 'The operator’s catalogue.' },
    ),
  },
  { title: 'Merchant', description: 'The merchant of the key.' },
)

/** Query parameters are text: a pattern checks the digits of a number. */
export const Limit = (maximum: number) =>
  Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,3}$', description: `The number of items, 1 to ${maximum}.` }))
const QueryTime = (description: string) => Type.Optional(Type.String({ maxLength: 40, description }))

export const TransfersQuery = Type.Object({
  referenceId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: maxReferenceIdLength,
      pattern: printable,
      description: 'The whole referenceId. Finds a new transfer immediately.',
    }),
  ),
  status: Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      enum: [...statusNames, ...Object.values(statusCodes).map(String)],
      title: 'StatusFilter',
      description: 'The name or the number.',
    }),
  ),
  kind: Type.Optional({ ...Kind, description: 'Only transfers of this kind.' }),
  from: QueryTime('Created at or after this ISO 8601 time.'),
  to: QueryTime('Created before this ISO 8601 time.'),
  limit: Limit(100),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'The `nextCursor` of the previous page.' })),
  metadata: Type.Optional({
    ...Metadata,
    description: 'Only transfers with exactly these texts in their metadata: `metadata[order]=4711`.',
  }),
})

export const TransfersResponse = Type.Object(
  {
    items: Type.Array(TransferResponse, { description: 'Newest first.' }),
    nextCursor: NullableString({ description: 'Null on the last page.' }),
  },
  { title: 'TransferPage', description: 'A page of transfers.' },
)

/** Fields of events that the API does not show: ids that are shown elsewhere, and internal ones. */
const hidden = [
  ...(['trackingId', 'merchantId', 'at', 'createdAt'] as const),
  ...(['callbackOnCreate', 'callbackOnMoney', 'hashId', 'messageId', 'format', 'sha256'] as const),
  ...(['autoCancelledAmountMinor', 'walletAccountNumber', 'bankPaymentId', 'payingAccountId'] as const),
]
export const hiddenFields: ReadonlySet<string> = new Set(hidden)

type FieldsOf<Data> = Data extends object ? keyof Data : never
type ShownField = Exclude<FieldsOf<TransferEvent['data']>, (typeof hidden)[number]>
type ShownName<Field> = Field extends `${infer Name}Minor` ? Name : Field

/** The fields of events that the API shows, each only if the event has it. The compiler reports a field that is neither here nor hidden. */
const eventData = {
  kind: Kind,
  channel: Type.String(),
  referenceId: Type.String(),
  amount: Type.Number(),
  transactionAmount: Type.Number(),
  receivedAmount: Type.Number(),
  returnedAmount: Type.Number(),
  bookedAmount: Type.Number({ description: 'The part of the returned amount that was booked.' }),
  refundAmount: Type.Number(),
  refundId: NullableString({ description: 'The refund, which is the trackingId of the withdrawal that pays it.' }),
  refundReferenceId: Type.String({ description: 'The referenceId of the refund and of its withdrawal.' }),
  refundMethod: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The payment method of the refund.',
  }),
  refundOf: NullableString({ description: 'The deposit whose money the withdrawal returns.' }),
  repaymentOf: NullableString({ description: 'The withdrawal that came back and that this one pays again.' }),
  repaymentId: Type.String({ description: 'The trackingId of the withdrawal that pays it again.' }),
  repaymentReferenceId: Type.String({ description: 'The referenceId of that withdrawal.' }),
  repaymentAmount: Type.Number(),
  repaymentMethod: Type.Integer({ description: 'The payment method of that withdrawal.' }),
  to: RefundTarget,
  outcome: Type.String({ description: 'How a refund or repayment ended, such as cancelled.' }),
  needsApproval: Type.Boolean({ description: 'Whether a second user must approve the refund.' }),
  resolvedAmount: Type.Number(),
  approvedAmount: Type.Number(),
  correctedAmount: Type.Number({ description: 'The amount of a proposed correction.' }),
  previousAmount: Type.Number({ description: 'The booked amount before a correction.' }),
  receivedAmountChange: Type.Number({
    description: 'How a correction changes the received amount; negative for money that never arrived.',
  }),
  hasAmountMismatch: Type.Boolean(),
  receiptUrl: NullableString(),
  message: NullableString(),
  reason: NullableString(),
  reference: NullableString({
    description: 'The reference of a payment, of a correction or of a payout that came back.',
  }),
  reasonCode: Type.String({
    description: 'Why a payout came back: a return reason code of ISO 20022.',
    examples: ['AC04'],
  }),
  effect: Type.String({
    description: "What a payment of the bank's statement did, such as completed.",
    examples: ['completed'],
  }),
  matchedAmount: Type.Number({ description: 'The amount that the bank booked; 0 if it rejected the payment.' }),
  bookedOn: NullableString({ description: 'The day on which the bank booked it.', examples: ['2026-03-02'] }),
  bankReference: NullableString({ description: "The bank's reference of the payment." }),
  bankReasonCode: NullableString({ description: "The bank's code for a return or a rejection, of ISO 20022." }),
  bankReasonText: NullableString({ description: "The bank's text about it." }),
  ...requestedFields,
  ...payeeFields,
  expiresAt: Time,
  by: Type.String({ description: 'The user who did it.' }),
  proposedBy: NullableString({ description: 'The user who proposed the correction that another user approved.' }),
  until: Time,
  openUntil: Time,
} satisfies { readonly [name in ShownName<ShownField>]: TSchema }
const EventData = Type.Partial(Type.Object(eventData, { title: 'EventData' }))

const event = {
  eventId: Type.String({ format: 'uuid', description: 'Also the webhook-id of its callback.' }),
  revision: Type.Integer(),
  type: Type.String({ examples: ['DepositCreated'] }),
  at: Time,
  data: EventData,
}

export const HistoryResponse = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          ...event,
          actor: Type.String({ description: 'The actor that caused it.', examples: ['merchant:3f0c…'] }),
          correlationId: Type.String({ description: 'The X-Request-Id of the request that caused it.' }),
        },
        { title: 'HistoryEvent' },
      ),
    ),
  },
  { title: 'History', description: 'All its events, oldest first.' },
)

export const FeedQuery = Type.Object({
  after: Type.Optional(
    Type.String({ maxLength: 100, description: 'The `next` of the previous response; defaults to the start.' }),
  ),
  limit: Limit(100),
})

export const FeedResponse = Type.Object(
  {
    items: Type.Array(
      Type.Object({ position: Type.String(), trackingId: TrackingId, ...event }, { title: 'FeedEvent' }),
    ),
    next: NullableString({ description: 'The value for `after` in the next request; null while there are no events.' }),
  },
  { title: 'Feed', description: 'The events after the position.' },
)

const revision = Type.Integer({
  minimum: 0,
  description: 'The last revision that you saw: if the transfer has changed since, nothing is done.',
})
const Text = (description: string) => Type.String({ minLength: 1, maxLength: 500, description })
const referenceIdText = Type.String({
  ...{ minLength: 1, maxLength: maxReferenceIdLength, pattern: printableNotBlank },
  description: 'Your unique ID, which is the referenceId of the new withdrawal.',
})

const Reference = (description: string) => Type.String({ minLength: 1, maxLength: maxReferenceLength, description })
const Confirmed = (description: string) => Type.Optional(Type.Number({ description }))

export const DepositReceipt = Type.Object(
  {
    revision,
    amount: Type.Number({ description: 'The received amount.' }),
    confirmedAmount: Confirmed('The same amount again, required if it is many times the requested amount.'),
    reference: Reference(
      'The bank’s reference of the payment. It is recorded once: a repeat with the same amount changes nothing.',
    ),
    receiptUrl: Type.Optional(Type.String({ maxLength: 2048, description: 'Address of the receipt.' })),
  },
  { title: 'ReceiveDepositRequest' },
)
export const DepositRefund = Type.Object(
  {
    revision,
    amount: Type.Number({ description: 'The amount to return.' }),
    referenceId: referenceIdText,
    accountNumber: Type.Optional(
      Type.String({
        ...{ minLength: 1, maxLength: 64, pattern: printableNotBlank, examples: ['TR330006100519786457841326'] },
        description: 'The account that receives the money. Without it, the wallet account that paid the deposit.',
      }),
    ),
    identityNumber: Type.Optional(
      NullableString({ maxLength: 64, pattern: printable, description: 'Identity number of the customer.' }),
    ),
    paymentMethod: Type.Optional(
      Type.Integer({
        description:
          'The payment method of the withdrawal; defaults to that of the deposit, or to the first one for withdrawals.',
      }),
    ),
  },
  { title: 'RefundDepositRequest' },
)
export const WithdrawalRepayment = Type.Object(
  {
    revision,
    amount: Type.Number({ description: 'The amount to pay again.' }),
    referenceId: referenceIdText,
    accountNumber: Type.String({
      ...{ minLength: 1, maxLength: 64, pattern: printableNotBlank, examples: ['TR330006100519786457841326'] },
      description: 'The account that receives the money.',
    }),
    identityNumber: Type.Optional(
      NullableString({ maxLength: 64, pattern: printable, description: 'Identity number of the customer.' }),
    ),
    paymentMethod: Type.Optional(
      Type.Integer({ description: 'The payment method of the new withdrawal; defaults to that of the earlier one.' }),
    ),
  },
  { title: 'RepayWithdrawalRequest' },
)
export const TransferCorrection = Type.Object(
  {
    revision,
    amount: Type.Number({ description: 'The amount that moved.' }),
    confirmedAmount: Confirmed('The same amount again, required if it differs much from the requested amount.'),
    reason: Text('Why; it is in the history.'),
    reference: Type.Optional(
      Reference('Your reference. It is corrected once: a repeat with the same amount changes nothing.'),
    ),
  },
  { title: 'CorrectTransferRequest' },
)
export const WithdrawalAction = Type.Object({ revision }, { title: 'WithdrawalActionRequest' })
export const WithdrawalCancellation = Type.Object(
  { revision, message: Text('Why; it is in the callback.') },
  { title: 'CancelWithdrawalRequest' },
)
export const WithdrawalReturn = Type.Object(
  {
    revision,
    amount: Type.Number({ description: 'The amount that came back.' }),
    reasonCode: Type.String({
      maxLength: 4,
      description: `The return reason code of the bank (ISO 20022): ${returnReasonCodes.join(', ')}. NARR is for any other reason.`,
      examples: ['AC04'],
    }),
    reference: Reference(
      'The bank’s reference of the return. It is recorded once: a repeat with the same amount and code changes nothing.',
    ),
    receiptUrl: Type.Optional(Type.String({ maxLength: 2048, description: 'Address of the receipt.' })),
  },
  { title: 'RecordWithdrawalReturnRequest' },
)
export const WithdrawalCompletion = Type.Object(
  {
    revision,
    amount: Type.Optional(Type.Number({ description: 'The paid amount; defaults to the requested amount.' })),
    confirmedAmount: Type.Optional(
      Type.Number({
        description:
          'The same amount again, required if it is more than requested or, by default, less than a tenth of it.',
      }),
    ),
    receiptUrl: Type.Optional(Type.String({ maxLength: 2048, description: 'Address of the receipt.' })),
    message: Type.Optional(Text('For the callback.')),
  },
  { title: 'CompleteWithdrawalRequest' },
)
