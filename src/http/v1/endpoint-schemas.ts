import { Type } from '../../kernel/typebox.js'
import { callbackStatuses } from '../../queries/callback-queries.js'
import { NullableInteger, NullableString } from '../envelope.js'
import { Limit, StatusCode, Time, TrackingId } from './v1-schemas.js'

const WebhookId = Type.String({ pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' })
const DeliveryStatus = Type.Unsafe<(typeof callbackStatuses)[number]>({ type: 'string', enum: [...callbackStatuses] })
/** What a body of 16 KiB holds. */
const maxNamed = 100

export const CallbackListQuery = Type.Object({
  status: Type.Optional(DeliveryStatus),
  limit: Limit(100),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before.' })),
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
        failedAttempts: Type.Integer({ description: 'Since it was recorded or sent again.' }),
        recordedAt: Time,
        nextAttemptAt: NullableString({ format: 'date-time', description: 'While it is waiting.' }),
        lastFailure: NullableString(),
      }),
    ),
    nextCursor: NullableString(),
  },
  { title: 'CallbackList', description: 'A page; null as nextCursor on the last one.' },
)

export const ResendManyRequest = Type.Object({
  callbacks: Type.Optional(
    Type.Array(Type.Object({ trackingId: WebhookId, webhookId: WebhookId }), { minItems: 1, maxItems: maxNamed }),
  ),
  parkedSince: Type.Optional(
    Type.String({
      maxLength: 40,
      description: 'Those given up then or later: an ISO 8601 date, or a time with its zone.',
    }),
  ),
})

export const ResendManyAnswer = Type.Object(
  {
    requeued: Type.Integer({ description: 'Callbacks that will be sent again.' }),
    more: Type.Boolean({ description: 'One request takes up 1000; ask again for the rest.' }),
  },
  { title: 'ManyResent', description: 'Taken up; delivery follows.' },
)

export const EndpointAnswer = Type.Object(
  {
    url: Type.String(),
    state: Type.Unsafe<'answering' | 'failing' | 'disabled'>({
      type: 'string',
      enum: ['answering', 'failing', 'disabled'],
      description: '`failing`: nothing but failures for ten minutes. `disabled`: nothing is sent.',
    }),
    reason: NullableString({ description: 'Why it is disabled.' }),
    failingSince: NullableString({ format: 'date-time' }),
    waiting: Type.Integer({ description: 'Callbacks; 1000 means that many or more.' }),
    parked: Type.Integer({ description: 'Callbacks that were given up; 1000 means that many or more.' }),
  },
  { title: 'Endpoint', description: 'Where your callbacks go, and how they fare.' },
)

export const EndpointTestAnswer = Type.Object(
  {
    delivered: Type.Boolean(),
    httpStatus: NullableInteger({ description: 'Null when no answer came.' }),
    durationMs: Type.Integer(),
    failure: NullableString({ description: 'Why it is no delivery, as in the list of attempts.' }),
  },
  { title: 'EndpointTest', description: 'What your endpoint answered.' },
)
