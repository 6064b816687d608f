/** The peer: Fastify with the same schema, the same md5 check and an answer of the same shape, and nothing behind it. */
import { createHash, randomUUID } from 'node:crypto'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import fastify from 'fastify'

const secretKey = process.argv[2] ?? ''
const app = fastify({ logger: false }).withTypeProvider<TypeBoxTypeProvider>()
app.addContentTypeParser(
  'application/json-patch+json',
  { parseAs: 'string' },
  app.getDefaultJsonParser('error', 'error'),
)

const text = Type.String({ minLength: 1, maxLength: 128 })
const schema = {
  body: Type.Object({
    amount: Type.Number({ exclusiveMinimum: 0 }),
    userId: text,
    name: text,
    username: text,
    referenceId: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
    transactionType: Type.Literal(1),
    paymentMethod: Type.Integer(),
    hashCode: Type.String({ minLength: 32, maxLength: 32 }),
  }),
  response: {
    200: Type.Object({
      result: Type.Object({
        trackingId: Type.String(),
        transactionId: Type.String(),
        referenceId: Type.String(),
        status: Type.Integer(),
        statusDescription: Type.String(),
        amount: Type.Number(),
      }),
      targetUrl: Type.Null(),
      success: Type.Boolean(),
      error: Type.Null(),
      unAuthorizedRequest: Type.Boolean(),
      __abp: Type.Boolean(),
    }),
  },
}

app.post('/api/services/app/TransactionRequests/CreateDeposit', { schema }, (request, reply) => {
  const { amount, referenceId, hashCode } = request.body
  const expected = createHash('md5')
    .update(`${secretKey}${amount.toFixed(2)}${referenceId}`)
    .digest('hex')
    .toUpperCase()
  if (hashCode !== expected) throw new Error('bad hash')
  const trackingId = randomUUID()
  reply.send({
    result: { trackingId, transactionId: trackingId, referenceId, status: 1, statusDescription: 'Pending', amount },
    targetUrl: null,
    success: true,
    error: null,
    unAuthorizedRequest: false,
    __abp: true,
  })
})

await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
