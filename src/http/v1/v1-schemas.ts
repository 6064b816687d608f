import type { Static } from '@sinclair/typebox'
import { statusCodes } from '../../domain/transfer/transfer.js'
import type { TransferKind } from '../../domain/transfer/transfer-events.js'
import { Type } from '../../kernel/typebox.js'
import { NullableInteger, NullableString } from '../envelope.js'

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

export const TransferParams = Type.Object({ trackingId: Type.String() })

export const TransferAnswer = Type.Object(
  {
    trackingId: TrackingId,
    transactionId: Type.String({ format: 'uuid', description: 'The same as trackingId.' }),
    referenceId: Type.String(),
    kind: Kind,
    channel: NullableString({ description: '`hosted` or `native`; null for a withdrawal.' }),
    status: StatusCode,
    statusDescription: StatusName,
    amount: Type.Number({ description: 'Requested.', examples: [100.5] }),
    transactionAmount: Type.Number({
      description: 'What really moved: booked when Completed; otherwise received and not returned.',
      examples: [100.5],
    }),
    hasAmountMismatch: Type.Boolean({ description: 'Money moved, in another amount than requested.' }),
    receivedAmount: Type.Number({ description: 'Deposits: all that came in.', examples: [100.5] }),
    returnedAmount: Type.Number({ description: 'Of that, what was given back.', examples: [0] }),
    resolvedAmount: Type.Number({ description: 'Of that, what the operator settled otherwise.', examples: [0] }),
    needsAttention: Type.Boolean({ description: 'A person has to decide about money that came.' }),
    lateFunds: Type.Number({
      description: 'What came and is neither booked, nor returned, nor settled otherwise.',
      examples: [0],
    }),
    receiptUrl: NullableString(),
    message: NullableString(),
    userId: Type.String(),
    name: Type.String(),
    username: Type.String(),
    paymentMethod: Type.Integer(),
    accountNumber: NullableString({ description: 'Withdrawals only.' }),
    identityNumber: NullableString({ description: 'Withdrawals only.' }),
    claimedBy: NullableString({ description: 'Withdrawals: who claimed it, while it is open.' }),
    claimedUntil: NullableString({ format: 'date-time', description: 'It is free again then.' }),
    approvedAmount: Type.Unsafe<number | null>({
      type: ['number', 'null'],
      description: 'Withdrawals: what a second person agreed to pay.',
    }),
    createdAt: Time,
    updatedAt: Time,
    expiresAt: NullableString({ format: 'date-time', description: 'Deposits only.' }),
    revision: Type.Integer({ description: 'Number of its last event, from 0; callbacks carry it too.' }),
  },
  { title: 'Transfer', description: 'The transfer.' },
)
export type TransferView = Static<typeof TransferAnswer>

/** A query is text and stays text: a number is recognised by its digits. */
export const Limit = (maximum: number) =>
  Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,3}$', description: `1 to ${maximum}; 50 when absent.` }))
const QueryTime = (description: string) => Type.Optional(Type.String({ maxLength: 40, description }))

export const TransfersQuery = Type.Object({
  referenceId: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'Never behind a create.' })),
  status: Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      enum: [...statusNames, ...Object.values(statusCodes).map(String)],
      title: 'StatusFilter',
      description: 'Name or number.',
    }),
  ),
  kind: Type.Optional(Kind),
  from: QueryTime('Created at or after this ISO 8601 time.'),
  to: QueryTime('Created before this ISO 8601 time.'),
  limit: Limit(100),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before.' })),
})

export const TransfersAnswer = Type.Object(
  {
    items: Type.Array(TransferAnswer, { description: 'Newest first.' }),
    nextCursor: NullableString({ description: 'Null on the last page.' }),
  },
  { title: 'TransferPage', description: 'A page of transfers.' },
)

/** What an event says: only these fields leave, and each only where the event has it. */
const EventData = Type.Partial(
  Type.Object({
    kind: Kind,
    channel: Type.String(),
    referenceId: Type.String(),
    amount: Type.Number(),
    transactionAmount: Type.Number(),
    receivedAmount: Type.Number(),
    returnedAmount: Type.Number(),
    resolvedAmount: Type.Number(),
    approvedAmount: Type.Number(),
    hasAmountMismatch: Type.Boolean(),
    receiptUrl: NullableString(),
    message: NullableString(),
    reason: NullableString(),
    userId: Type.String(),
    name: Type.String(),
    username: Type.String(),
    paymentMethod: Type.Integer(),
    accountNumber: Type.String(),
    identityNumber: NullableString(),
    expiresAt: Time,
    by: Type.String({ description: 'Who claimed, released or approved it.' }),
    until: Time,
  }),
  { title: 'EventData' },
)

const event = {
  eventId: Type.String({ format: 'uuid', description: 'Also the webhook-id of its callback.' }),
  revision: Type.Integer(),
  type: Type.String({ examples: ['DepositCreated'] }),
  at: Time,
  data: EventData,
}

export const HistoryAnswer = Type.Object(
  {
    items: Type.Array(
      Type.Object({
        ...event,
        actor: Type.String({ description: 'Who caused it.', examples: ['merchant:3f0c…'] }),
        correlationId: Type.String({ description: 'The X-Request-Id of the request that caused it.' }),
      }),
    ),
  },
  { title: 'History', description: 'All its events, oldest first.' },
)

export const FeedQuery = Type.Object({
  after: Type.Optional(
    Type.String({ maxLength: 100, description: '`next` of the answer before; from the start when absent.' }),
  ),
  limit: Limit(100),
})

export const FeedAnswer = Type.Object(
  {
    items: Type.Array(Type.Object({ position: Type.String(), trackingId: TrackingId, ...event })),
    next: NullableString({ description: 'What to send as `after` next time; null while there are no events.' }),
  },
  { title: 'Feed', description: 'The events behind the position.' },
)

export const CallbacksAnswer = Type.Object(
  {
    items: Type.Array(
      Type.Object({
        webhookId: Type.String({ format: 'uuid' }),
        transferRevision: Type.Integer(),
        status: Type.String({ description: '`waiting`, `delivered` or `parked`.', examples: ['delivered'] }),
        recordedAt: Time,
        nextAttemptAt: NullableString({ format: 'date-time', description: 'While it is waiting.' }),
        payload: Type.Object({
          status: StatusCode,
          statusDescription: StatusName,
          trackingId: TrackingId,
          referenceId: Type.String(),
          message: NullableString(),
          amount: Type.Number(),
          transactionAmount: Type.Number(),
          hasAmountMismatch: Type.Boolean(),
          receiptUrl: NullableString(),
        }),
        attempts: Type.Array(
          Type.Object({
            at: Time,
            result: Type.String({ description: '`delivered`, `failed`, `parked` or `requeued`.' }),
            httpStatus: NullableInteger({ description: 'Null when no answer came.' }),
            durationMs: Type.Unsafe<number | null>({ type: ['number', 'null'] }),
            reason: NullableString(),
          }),
          { description: 'The latest 100, oldest first.' },
        ),
      }),
    ),
  },
  { title: 'Callbacks', description: 'Its callbacks, lowest transfer revision first.' },
)
export type CallbackView = Static<typeof CallbacksAnswer>['items'][number]

const revision = Type.Integer({
  minimum: 0,
  description: 'Of the last event that you saw: if anything has happened since, nothing is done.',
})
const Text = (description: string) => Type.String({ minLength: 1, maxLength: 500, description })

export const WithdrawalAction = Type.Object({ revision }, { title: 'WithdrawalAction' })
export const WithdrawalCancellation = Type.Object(
  { revision, message: Text('Why; it is in the callback.') },
  { title: 'WithdrawalCancellation' },
)
export const WithdrawalCompletion = Type.Object(
  {
    revision,
    amount: Type.Optional(Type.Number({ description: 'What was really paid; the requested amount when absent.' })),
    confirmedAmount: Type.Optional(
      Type.Number({ description: 'The same once more, where it is more than requested, or less than a tenth.' }),
    ),
    receiptUrl: Type.Optional(Type.String({ maxLength: 2048, description: 'Address of the receipt.' })),
    message: Type.Optional(Text('For the callback.')),
  },
  { title: 'WithdrawalCompletion' },
)

/** The body may be left out. */
export const ResendRequest = Type.Unsafe<{ readonly webhookId?: string } | null>({
  type: ['object', 'null'],
  properties: { webhookId: { type: 'string', pattern: '^[0-9a-fA-F-]{36}$', description: 'Just this one.' } },
})

export const ResendAnswer = Type.Object(
  { requeued: Type.Integer({ description: 'Callbacks that will be sent again.' }) },
  { title: 'Resent', description: 'Taken up; delivery follows.' },
)
