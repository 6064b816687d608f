import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { CallbackCommands } from '../../commands/callback/callback-commands.js'
import type { MerchantCommands } from '../../commands/merchant/merchant-commands.js'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import type { Requeued } from '../../domain/callback.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { listCallbacks } from '../../queries/callback-queries.js'
import { endpointHealth } from '../../queries/endpoint-queries.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { TokenBuckets } from '../../security/token-buckets.js'
import { type TestEndpoint, takeUp, tested } from '../callback-endpoints.js'
import { badRequest, bodyFailures, keyFailures, unknownCallback, unknownTransfer } from '../envelope.js'
import { invalid, RequestError } from '../refusals.js'
import { contextOf } from '../server/merchant-gate.js'
import { viewOfCallbacks } from './callback-view.js'
import {
  CallbackListAnswer,
  CallbackListQuery,
  EndpointAnswer,
  EndpointTestAnswer,
  ResendManyAnswer,
  ResendManyRequest,
} from './endpoint-schemas.js'
import { ownTransfer } from './own-transfer.js'
import { cursorOf, limitOf, timeOf } from './query-values.js'
import { CallbacksAnswer, ResendAnswer, ResendRequest, TransferParams } from './v1-schemas.js'

export interface CallbackOptions {
  readonly transfers: TransferCommands
  readonly callbacks: CallbackCommands
  readonly merchants: MerchantCommands
  readonly readModels: ReadModels
  readonly testEndpoint: TestEndpoint
  /** The clock for rates. */
  readonly monotonicMs: () => number
}

/** Requests to enable an endpoint are limited: one that responds 410 is disabled again immediately, and both are events. */
const enabling = { perSecond: 1 / 60, burst: 5, maxKeys: 100_000 }

const tags = ['Queries']

/** Adds the routes for a merchant's callbacks and callback endpoint. */
export const callbackRoutes: FastifyPluginAsyncTypebox<CallbackOptions> = async (app, options) => {
  app.register(transferCallbackRoutes, options)
  app.register(listRoutes, options)
  app.register(endpointRoutes, options)
}

const transferCallbackRoutes: FastifyPluginAsyncTypebox<CallbackOptions> = async (app, { transfers, callbacks }) => {
  app.route({
    method: 'GET',
    url: '/v1/transfers/:trackingId/callbacks',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'getTransferCallbacks',
      summary: 'Get the callbacks sent about a transfer',
      params: TransferParams,
      response: { 200: CallbacksAnswer, ...keyFailures, ...unknownTransfer },
    },
    handler: async (request) => {
      const { transfer } = await ownTransfer(transfers, request, request.params.trackingId)
      return { items: viewOfCallbacks(await callbacks.history(transfer.trackingId)) }
    },
  })
  app.route({
    method: 'POST',
    url: '/v1/transfers/:trackingId/callbacks/resend',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'resendTransferCallbacks',
      summary: 'Resend callbacks',
      description:
        'Without a webhookId: all parked callbacks, or the latest one if none is parked. A callback can be resent after 1 minute, then after 2, 4, and up to 60 minutes.',
      params: TransferParams,
      body: ResendRequest,
      response: { 202: ResendAnswer, ...badRequest, ...keyFailures, ...unknownTransfer, ...bodyFailures },
    },
    handler: async (request, reply) => {
      const { transfer } = await ownTransfer(transfers, request, request.params.trackingId)
      const requeued = await resend(callbacks, request, transfer.trackingId, request.body?.webhookId?.toLowerCase())
      return reply.code(202).send({ requeued })
    },
  })
}

/** Returns the number of callbacks that will be resent. @throws RequestError */
async function resend(
  callbacks: CallbackCommands,
  request: FastifyRequest,
  trackingId: string,
  webhookId: string | undefined,
): Promise<number> {
  const sendAgain = async (which: Requeued) => {
    const result = await callbacks.resend(trackingId, which, contextOf(request))
    if (result.accepted) return result.count
    const { retryAfterSeconds } = result
    if (retryAfterSeconds === undefined) throw new RequestError('unknown-callback')
    throw new RequestError('resent-too-often', { retryAfterSeconds })
  }
  if (webhookId !== undefined) return sendAgain({ webhookId })
  return (await sendAgain('parked')) || sendAgain('latest')
}

const listRoutes: FastifyPluginAsyncTypebox<CallbackOptions> = async (app, { callbacks, readModels }) => {
  app.route({
    method: 'GET',
    url: '/v1/callbacks',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'listCallbacks',
      summary: 'List callbacks',
      description: 'Newest first. A new callback or a changed status can take a moment to appear.',
      querystring: CallbackListQuery,
      response: { 200: CallbackListAnswer, ...badRequest, ...keyFailures },
    },
    handler: async (request) => {
      const { status, limit, cursor } = request.query
      const merchantIds = [request.merchant!.merchantId]
      const filter = { merchantIds, status, limit: limitOf(limit), cursor: cursorOf(cursor) }
      const { items, nextCursor } = await listCallbacks(readModels, filter)
      return {
        items: items.map(({ merchantId: _, dueAt: nextAttemptAt, ...each }) => ({ ...each, nextAttemptAt })),
        nextCursor,
      }
    },
  })
  app.route({
    method: 'POST',
    url: '/v1/callbacks/resend',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'resendCallbacks',
      summary: 'Resend many callbacks',
      description:
        'Resends the named callbacks, or those that were parked since a time. The same limit applies to each callback; callbacks that were resent just now are omitted.',
      body: ResendManyRequest,
      response: { 202: ResendManyAnswer, ...badRequest, ...keyFailures, ...unknownCallback, ...bodyFailures },
    },
    handler: async (request, reply) => {
      const { callbacks: named, parkedSince } = request.body
      if ((named === undefined) === (parkedSince === undefined)) {
        throw invalid('parkedSince', 'either-or', { other: 'callbacks' })
      }
      const { merchantId } = request.merchant!
      const since = timeOf('parkedSince', parkedSince)
      const wanted = named ? { callbacks: named } : { merchantId, parkedSince: since! }
      const who = { sees: (each: string) => each === merchantId, by: 'merchant' } as const
      return reply.code(202).send(await takeUp({ callbacks, readModels }, wanted, who, contextOf(request)))
    },
  })
}

const endpointRoutes: FastifyPluginAsyncTypebox<CallbackOptions> = async (app, options) => {
  const { callbacks, merchants, readModels, testEndpoint, monotonicMs } = options
  const enables = new TokenBuckets(monotonicMs, enabling.maxKeys)
  const healthOf = (merchant: Merchant) => endpointHealth({ callbacks, readModels }, merchant)
  app.route({
    method: 'GET',
    url: '/v1/callbacks/endpoint',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'getCallbackEndpoint',
      summary: 'Get the state of your callback endpoint',
      response: { 200: EndpointAnswer, ...keyFailures },
    },
    handler: (request) => healthOf(request.merchant!),
  })
  app.route({
    method: 'POST',
    url: '/v1/callbacks/endpoint/test',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'testCallbackEndpoint',
      summary: 'Send a test event to your callback endpoint',
      description: 'At most one every five seconds. It is signed like a callback and has the header `x-transfer-test`.',
      response: { 200: EndpointTestAnswer, ...keyFailures },
    },
    handler: async (request) => tested(await testEndpoint(request.merchant!.merchantId)),
  })
  app.route({
    method: 'POST',
    url: '/v1/callbacks/endpoint/enable',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'enableCallbackEndpoint',
      summary: 'Enable your callback endpoint again',
      description: 'All waiting callbacks are sent, in order per transfer.',
      response: { 200: EndpointAnswer, ...keyFailures },
    },
    handler: async (request) => {
      const { merchantId, callbacksDisabled } = request.merchant!
      const waitSeconds = callbacksDisabled === null ? 0 : enables.take(merchantId, enabling.perSecond, enabling.burst)
      if (waitSeconds > 0) throw new RequestError('too-many-requests', { retryAfterSeconds: waitSeconds })
      const enabled = await merchants.execute(merchantId, { type: 'EnableCallbacks' }, contextOf(request))
      if (!enabled.accepted) throw new Error(`a merchant that calls is refused: ${enabled.refusal.rule}`)
      return healthOf(enabled.merchant)
    },
  })
}
