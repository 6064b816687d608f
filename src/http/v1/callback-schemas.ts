import { Type } from '../../kernel/typebox.js'
import { NullableString } from '../envelope.js'
import { StatusCode, StatusName } from './v1-schemas.js'

/** What merchants are sent (specification, Events, "Payload"); for the document, and for who generates a receiver from it. */
export const Callback = Type.Object(
  {
    Status: StatusCode,
    StatusDescription: StatusName,
    TrackingId: Type.String({ format: 'uuid' }),
    RefereneceId: Type.String({ description: 'Your referenceId; the field is spelled this way.' }),
    HashCode: Type.String({ description: 'md5(SecretKey + Amount + RefereneceId), of the texts in this body.' }),
    Message: NullableString(),
    Amount: Type.Number({ description: 'Requested.' }),
    TransactionAmount: Type.Number({ description: 'Really transferred; go by this one.' }),
    HasAmountMismatch: Type.Boolean(),
    ReceiptUrl: Type.String({ description: 'Empty while there is none.' }),
  },
  { title: 'Callback', description: 'The transfer as the change left it.' },
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
      summary: 'A transfer of yours has another status',
      description: 'Sent to your callback URL, in order for each transfer, until it is answered with 2xx.',
      tags: ['Callbacks'],
      security: [],
      parameters: [
        header('webhook-id', 'The same for every attempt of one callback: know it again by this.'),
        header('webhook-timestamp', 'Unix seconds of the attempt.'),
        header(
          'webhook-signature',
          '`v1,<base64>` of Standard Webhooks; several, separated by spaces, while a secret rotates.',
        ),
        header('X-Transfer-Revision', 'The revision of the transfer that it tells of.'),
      ],
      requestBody: { required: true, content: { 'application/json': { schema: Callback } } },
      responses: { '2XX': { description: 'Taken; it is not sent again.' } },
    },
  },
}
