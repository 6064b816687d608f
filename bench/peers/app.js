/**
 * The common parts of all peers for creates: Fastify, transferd's body schema, key and hash, and a response of the same form. Fastify is
 * transferd's, from the repository's own node_modules.
 */
import { createHash, randomUUID } from 'node:crypto'
import fastify from 'fastify'

const text = { type: 'string', minLength: 1, maxLength: 128 }
const body = {
  type: 'object',
  required: ['amount', 'userId', 'name', 'username', 'referenceId', 'transactionType', 'paymentMethod', 'hashCode'],
  properties: {
    amount: { type: 'number', exclusiveMinimum: 0 },
    userId: text,
    name: text,
    username: text,
    referenceId: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
    transactionType: { const: 1 },
    paymentMethod: { type: 'integer' },
    hashCode: { type: 'string', minLength: 32, maxLength: 32 },
  },
}
const result = {
  type: 'object',
  properties: {
    trackingId: { type: 'string' },
    transactionId: { type: 'string' },
    referenceId: { type: 'string' },
    status: { type: 'integer' },
    statusDescription: { type: 'string' },
    amount: { type: 'number' },
  },
}
const envelope = {
  type: 'object',
  properties: {
    result,
    targetUrl: { type: 'null' },
    success: { type: 'boolean' },
    error: { type: 'null' },
    unAuthorizedRequest: { type: 'boolean' },
    __abp: { type: 'boolean' },
  },
}

function rejection(statusCode, message) {
  return Object.assign(new Error(message), { statusCode })
}

/**
 * Listens on a free loopback port and sends the port to the parent process.
 *
 * @param {{ merchantId: string, webApiKey: string, secretKey: string }} merchant
 * @param {(transfer: {
 *   trackingId: string, merchantId: string, referenceId: string, amountMinor: number, userId: string, name: string,
 *   username: string, paymentMethod: number, at: string
 * }) => Promise<string> | string} store Stores a transfer and returns its trackingId, or the existing one of the same referenceId
 */
export async function serveCreates(merchant, store) {
  const merchants = new Map([[merchant.webApiKey, merchant]])
  const app = fastify({ logger: false, ajv: { customOptions: { coerceTypes: false } } })
  app.setErrorHandler((error, _request, reply) => {
    if (error.statusCode === undefined) console.error(error.message)
    reply.code(error.statusCode ?? 500).send({ message: error.message })
  })
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/json-patch+json', { parseAs: 'string' }, parseJson)
  const schema = { body, response: { 200: envelope } }
  app.post('/api/services/app/TransactionRequests/CreateDeposit', { schema }, async (request) => {
    const caller = merchants.get(request.headers.webapikey)
    if (caller === undefined) throw rejection(401, 'unknown key')
    const { amount, referenceId, hashCode, userId, name, username, paymentMethod } = request.body
    const hash = createHash('md5')
      .update(`${caller.secretKey}${amount.toFixed(2)}${referenceId}`)
      .digest('hex')
    if (hashCode !== hash.toUpperCase()) throw rejection(400, 'bad hash')
    const trackingId = await store({
      trackingId: randomUUID(),
      merchantId: caller.merchantId,
      referenceId,
      amountMinor: Math.round(amount * 100),
      userId,
      name,
      username,
      paymentMethod,
      at: new Date().toISOString(),
    })
    return {
      result: { trackingId, transactionId: trackingId, referenceId, status: 1, statusDescription: 'Pending', amount },
      targetUrl: null,
      success: true,
      error: null,
      unAuthorizedRequest: false,
      __abp: true,
    }
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  process.once('disconnect', () => process.exit())
  process.send({ port: app.server.address().port })
}

/** Returns the options of the bench. */
export function readOptions() {
  return JSON.parse(process.argv[2])
}
