import type { Static } from '@sinclair/typebox'
import { Type } from '../../kernel/typebox.js'
import { callbackStatuses } from '../../queries/callback-queries.js'
import { NullableInteger, NullableString } from '../envelope.js'
import { Limit, StatusCode, StatusName, Time, TrackingId } from './v1-schemas.js'

export const CallbacksResponse = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          webhookId: Type.String({ format: 'uuid' }),
          transferRevision: Type.Integer(),
          status: Type.String({ description: '`waiting`, `delivered` or `parked`.', examples: ['delivered'] }),
          recordedAt: Time,
          nextAttemptAt: NullableString({ format: 'date-time', description: 'Null unless it is waiting.' }),
          payload: Type.Object(
            {
              status: StatusCode,
              statusDescription: StatusName,
              trackingId: TrackingId,
              referenceId: Type.String(),
              message: NullableString(),
              amount: Type.Number(),
              transactionAmount: Type.Number(),
              hasAmountMismatch: Type.Boolean(),
              receiptUrl: NullableString(),
            },
            { title: 'CallbackPayload' },
          ),
          attempts: Type.Array(
            Type.Object(
              {
                at: Time,
                result: Type.String({ description: '`delivered`, `failed`, `parked` or `requeued`.' }),
                httpStatus: NullableInteger({ description: 'Null without a response.' }),
                durationMs: NullableInteger(),
                reason: NullableString(),
              },
              { title: 'CallbackAttempt' },
            ),
            { description: 'The latest 100, oldest first.' },
          ),
        },
        { title: 'CallbackDelivery' },
      ),
    ),
  },
  { title: 'TransferCallbacks', description: 'The callbacks, lowest transfer revision first.' },
)
export type CallbackView = Static<typeof CallbacksResponse>['items'][number]

/** In either case, with or without hyphens. */
const anyUuid = '^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$'

/** The body can be omitted. */
export const ResendRequest = Type.Unsafe<{ readonly webhookId?: string } | null>({
  type: ['object', 'null'],
  properties: { webhookId: { type: 'string', pattern: anyUuid, description: 'Only this callback.' } },
  title: 'ResendTransferCallbacksRequest',
})

export const ResendResponse = Type.Object(
  { requeued: Type.Integer({ description: 'The number of callbacks that will be resent.' }) },
  { title: 'ResendResult', description: 'Accepted; delivery follows.' },
)

export const streamDescription = `Server-sent events of a sandbox merchant: its callbacks as they are recorded, even while its endpoint is disabled or unreachable. It changes nothing.

- \`ready\`: the first event, \`{merchantId, name}\`. From here on, no callback is missed.
- \`callback\`: \`{webhookId, trackingId, referenceId, transferRevision, status, statusDescription, recordedAt, resent, request: {method, headers, body}}\`. \`request\` is the complete signed request.
- \`attempt\`: \`{webhookId, trackingId, at, result, httpStatus, durationMs, reason, nextAttemptAt}\`, an attempt at your endpoint: \`delivered\`, \`failed\` or \`parked\`.
- \`skipped\`: \`{}\`. The interruption was too long, and the stream continues with new callbacks.
- \`heartbeat\`: \`{}\`, every 15 seconds, with a new \`id\`.

At most 5 streams per merchant.`

export const StreamHeaders = Type.Object({
  'Last-Event-ID': Type.Optional(
    Type.String({ description: 'The `id` of the last event that you received: the stream resumes after it.' }),
  ),
})

export const CallbackStreamResponse = {
  description: 'The events, until you or the service end the connection.',
  content: { 'text/event-stream': { schema: { type: 'string' } } },
}

const WebhookId = Type.String({ pattern: anyUuid })
const DeliveryStatus = Type.Unsafe<(typeof callbackStatuses)[number]>({ type: 'string', enum: [...callbackStatuses] })
/** A body of 16 KiB has room for this many. */
const maxNamed = 100

export const CallbackListQuery = Type.Object({
  status: Type.Optional({ ...DeliveryStatus, description: 'Only callbacks with this status.' }),
  limit: Limit(100),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'The `nextCursor` of the previous page.' })),
})

export const CallbackListResponse = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
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
        },
        { title: 'CallbackSummary' },
      ),
    ),
    nextCursor: NullableString(),
  },
  { title: 'CallbackPage', description: 'A page of callbacks.' },
)

export const ResendManyRequest = Type.Object(
  {
    callbacks: Type.Optional(
      Type.Array(Type.Object({ trackingId: WebhookId, webhookId: WebhookId }, { title: 'CallbackId' }), {
        minItems: 1,
        maxItems: maxNamed,
      }),
    ),
    parkedSince: Type.Optional(
      Type.String({
        maxLength: 40,
        description: 'Callbacks parked at this time or later: an ISO 8601 date, or a time with a time zone.',
      }),
    ),
  },
  { title: 'ResendCallbacksRequest' },
)

export const ResendManyResponse = Type.Object(
  {
    requeued: Type.Integer({ description: 'The number of callbacks that will be resent.' }),
    more: Type.Boolean({ description: 'One request resends at most 1000; repeat it for the rest.' }),
  },
  { title: 'ResendManyResult', description: 'Accepted; delivery follows.' },
)

export const CallbackEndpointResponse = Type.Object(
  {
    url: Type.String(),
    state: Type.Unsafe<'healthy' | 'failing' | 'disabled'>({
      type: 'string',
      enum: ['healthy', 'failing', 'disabled'],
      description: '`failing`: every attempt since `failingSince` has failed. `disabled`: nothing is sent.',
    }),
    reason: NullableString({ description: 'The reason why it is disabled.' }),
    failingSince: NullableString({ format: 'date-time' }),
    waiting: Type.Integer({ description: 'Waiting callbacks; 1000 means 1000 or more.' }),
    parked: Type.Integer({ description: 'Parked callbacks; 1000 means 1000 or more.' }),
  },
  { title: 'CallbackEndpoint', description: 'Your callback endpoint and its state.' },
)

export const EndpointTestResponse = Type.Object(
  {
    delivered: Type.Boolean(),
    httpStatus: NullableInteger({ description: 'Null without a response.' }),
    durationMs: Type.Integer(),
    failure: NullableString({ description: 'The reason why the delivery failed, as in the list of attempts.' }),
    redirectsTo: NullableString({ description: 'The target of a redirect, which is not followed.' }),
    resendsWaiting: Type.Boolean({ description: 'Whether callbacks that waited are sent again now.' }),
  },
  { title: 'EndpointTest', description: 'The response of your endpoint.' },
)

/** The body of a callback (specification, Events, "Payload"), for the document and for generated receivers. */
export const Callback = Type.Object(
  {
    Status: StatusCode,
    StatusDescription: StatusName,
    TrackingId: Type.String({ format: 'uuid' }),
    RefereneceId: Type.String({ description: 'Your referenceId; the field is spelled this way.' }),
    HashCode: Type.String({ description: 'md5(SecretKey + Amount + RefereneceId) of the texts in this body.' }),
    Message: NullableString(),
    Amount: Type.Number({ description: 'The requested amount.' }),
    TransactionAmount: Type.Number({ description: 'The transferred amount; use this one.' }),
    HasAmountMismatch: Type.Boolean(),
    ReceiptUrl: Type.String({ description: 'Empty if the transfer has no receipt.' }),
  },
  { title: 'Callback', description: 'The transfer after the change.' },
)

const header = (name: string, description: string) => ({
  name,
  in: 'header' as const,
  required: true,
  description,
  schema: { type: 'string' as const },
})

export const webhooks = {
  transferStatusChanged: {
    post: {
      operationId: 'transferStatusChanged',
      summary: 'The status of a transfer has changed',
      description: 'Sent to your callback URL, in order per transfer, until your endpoint responds with 2xx.',
      tags: ['Callbacks'],
      security: [],
      parameters: [
        header('webhook-id', 'The same for every attempt of a callback: use it to detect duplicates.'),
        header('webhook-timestamp', 'The time of the attempt in Unix seconds.'),
        header(
          'webhook-signature',
          '`v1,<base64>` of Standard Webhooks; several, separated by spaces, while a secret rotates.',
        ),
        header('X-Transfer-Revision', 'The revision of the transfer after the change.'),
      ],
      requestBody: { required: true, content: { 'application/json': { schema: Callback } } },
      responses: {
        '2XX': { description: 'Accepted; the callback is not sent again.' },
        '410': { description: 'Your endpoint is disabled until you or the operator enable it again.' },
        '4XX': { description: 'Failed; the callback is sent again.' },
        '5XX': { description: 'Failed; the callback is sent again.' },
      },
    },
  },
}
