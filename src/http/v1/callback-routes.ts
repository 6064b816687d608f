import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { CallbackCommands } from '../../commands/callback/callback-commands.js'
import type { MerchantCommands } from '../../commands/merchant/merchant-commands.js'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import type { Requeued } from '../../domain/callback/callback-decider.js'
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

/** An endpoint that answers 410 is disabled again at once, and both are events. */
const enabling = { perSecond: 1 / 60, burst: 5, maxKeys: 100_000 }

const tags = ['Queries']

/** What a merchant was told, and where it is told. */
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
      summary: 'Send callbacks again',
      description:
        'Without a webhookId: all that were given up, or the latest one when none was. Each a minute after it was sent again before, then 2, 4, and so on up to 60 minutes.',
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

/** How many will be sent again. @throws RequestError */
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
      description: 'Newest first. A callback may take a moment to appear, or to change its status.',
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
      summary: 'Send many callbacks again',
      description:
        'Those that are named, or those that were given up at a time or later. The same callback no more often than one by one; those that were sent again a moment ago are left out.',
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
      summary: 'Send your callback endpoint a test event',
      description:
        'At most one in five seconds. It is signed as callbacks are, and marked by the header `x-transfer-test`.',
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
      summary: 'Take callbacks up again after your endpoint was disabled',
      description: 'Everything that waited is sent, in order for each transfer.',
      response: { 200: EndpointAnswer, ...keyFailures },
    },
    handler: async (request) => {
      const { merchantId, callbacksDisabled } = request.merchant!
      const waitSeconds = callbacksDisabled === null ? 0 : enables.take(merchantId, enabling.perSecond, enabling.burst)
      if (waitSeconds > 0) throw new RequestError('too-many-requests', { retryAfterSeconds: waitSeconds })
      const enabled = await merchants.enableCallbacks(merchantId, contextOf(request))
      if (!enabled.accepted) throw new Error(`a merchant that calls is refused: ${enabled.refusal.rule}`)
      return healthOf(enabled.merchant)
    },
  })
}
