import { Type } from '../../kernel/typebox.js'
import { NullableString } from '../envelope.js'
import { StatusCode, StatusName } from './v1-schemas.js'

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
    ReceiptUrl: Type.String({ description: 'Empty if there is none.' }),
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
      responses: { '2XX': { description: 'Accepted; the callback is not sent again.' } },
    },
  },
}
