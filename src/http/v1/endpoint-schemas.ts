import { Type } from '../../kernel/typebox.js'
import { callbackStatuses } from '../../queries/callback-queries.js'
import { NullableInteger, NullableString } from '../envelope.js'
import { Limit, StatusCode, Time, TrackingId } from './v1-schemas.js'

const WebhookId = Type.String({ pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' })
const DeliveryStatus = Type.Unsafe<(typeof callbackStatuses)[number]>({ type: 'string', enum: [...callbackStatuses] })
/** A body of 16 KiB has room for this many. */
const maxNamed = 100

export const CallbackListQuery = Type.Object({
  status: Type.Optional(DeliveryStatus),
  limit: Limit(100),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'The `nextCursor` of the previous page.' })),
})

export const CallbackListAnswer = Type.Object(
  {
    items: Type.Array(
      Type.Object({
        webhookId: Type.String({ format: 'uuid' }),
        trackingId: TrackingId,
        referenceId: Type.String(),
        transferRevision: Type.Integer(),
        transferStatus: StatusCode,
        status: DeliveryStatus,
        failedAttempts: Type.Integer({ description: 'Since the callback was recorded or resent.' }),
        recordedAt: Time,
        nextAttemptAt: NullableString({ format: 'date-time', description: 'Null unless it is waiting.' }),
        lastFailure: NullableString(),
      }),
    ),
    nextCursor: NullableString(),
  },
  { title: 'CallbackList', description: 'A page of callbacks.' },
)

export const ResendManyRequest = Type.Object({
  callbacks: Type.Optional(
    Type.Array(Type.Object({ trackingId: WebhookId, webhookId: WebhookId }), { minItems: 1, maxItems: maxNamed }),
  ),
  parkedSince: Type.Optional(
    Type.String({
      maxLength: 40,
      description: 'Callbacks parked at this time or later: an ISO 8601 date, or a time with a time zone.',
    }),
  ),
})

export const ResendManyAnswer = Type.Object(
  {
    requeued: Type.Integer({ description: 'The number of callbacks that will be resent.' }),
    more: Type.Boolean({ description: 'One request resends at most 1000; repeat it for the rest.' }),
  },
  { title: 'ManyResent', description: 'Accepted; delivery follows.' },
)

export const EndpointAnswer = Type.Object(
  {
    url: Type.String(),
    state: Type.Unsafe<'answering' | 'failing' | 'disabled'>({
      type: 'string',
      enum: ['answering', 'failing', 'disabled'],
      description: '`failing`: only failures for ten minutes. `disabled`: nothing is sent.',
    }),
    reason: NullableString({ description: 'The reason why it is disabled.' }),
    failingSince: NullableString({ format: 'date-time' }),
    waiting: Type.Integer({ description: 'Waiting callbacks; 1000 means 1000 or more.' }),
    parked: Type.Integer({ description: 'Parked callbacks; 1000 means 1000 or more.' }),
  },
  { title: 'Endpoint', description: 'Your callback endpoint and its state.' },
)

export const EndpointTestAnswer = Type.Object(
  {
    delivered: Type.Boolean(),
    httpStatus: NullableInteger({ description: 'Null without a response.' }),
    durationMs: Type.Integer(),
    failure: NullableString({ description: 'The reason why the delivery failed, as in the list of attempts.' }),
  },
  { title: 'EndpointTest', description: 'The response of your endpoint.' },
)
