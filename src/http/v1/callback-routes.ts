import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { HistoryEntry } from '../../commands/handle-command.js'
import type { CallbackEvent, Requeued } from '../../domain/callback.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { toJsonNumber } from '../../domain/money.js'
import { statusNameOf } from '../../domain/transfer/status.js'
import { storedUuid } from '../../kernel/uuid.js'
import { endpointHealth } from '../../queries/endpoint-queries.js'
import { TokenBuckets } from '../../security/token-buckets.js'
import { requeueCallbacks, sendTestEvent } from '../callback-endpoints.js'
import { badRequest, bodyFailures, unknownCallback, unknownTransfer } from '../envelope.js'
import { cursorOf, limitOf, timeOf } from '../query-parameters.js'
import { invalid, RequestError } from '../refusals.js'
import { merchantContext } from '../server/merchant-gate.js'
import { endDeadline } from '../server/request-deadline.js'
import type { CallbackView } from './callback-schemas.js'
import {
  CallbackEndpointResponse,
  CallbackListQuery,
  CallbackListResponse,
  CallbackStreamResponse,
  CallbacksResponse,
  EndpointTestResponse,
  ResendManyRequest,
  ResendManyResponse,
  ResendRequest,
  ResendResponse,
  StreamHeaders,
  streamDescription,
} from './callback-schemas.js'
import { keyRoutes, ownTransfer, readBy } from './requests.js'
import { TransferParams as params } from './v1-schemas.js'

/** Requests to enable an endpoint are limited: one that responds 410 is disabled again immediately, and both are events. */
const enabling = { perSecond: 1 / 60, burst: 5, maxKeys: 100_000 }

const maxAttemptsShown = 100

/** Adds the routes for a merchant's callbacks and callback endpoint. */
export const callbackRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { callbacks, merchants, readers, monotonicMs } = app.services
  const read = keyRoutes(app, 'read', 'Queries')
  const enables = new TokenBuckets(monotonicMs, enabling.maxKeys)
  app.get(
    '/v1/transfers/:trackingId/callbacks',
    read('getTransferCallbacks', 'Get the callbacks sent about a transfer', {
      params,
      response: { 200: CallbacksResponse, ...unknownTransfer },
    }),
    async (request) => {
      const { transfer } = await ownTransfer(request)
      return { items: viewOfCallbacks(await callbacks.history(transfer.trackingId)) }
    },
  )
  app.post(
    '/v1/transfers/:trackingId/callbacks/resend',
    read('resendTransferCallbacks', 'Resend callbacks', {
      description:
        'Without a webhookId: all parked callbacks, or the latest one if none is parked. A callback can be resent after 1 minute, then after 2, 4, and up to 60 minutes; a callback of a sandbox merchant at any time.',
      params,
      body: ResendRequest,
      response: { 202: ResendResponse, ...badRequest, ...unknownTransfer, ...bodyFailures },
    }),
    async (request, reply) => {
      const { transfer } = await ownTransfer(request)
      const webhookId = request.body?.webhookId && storedUuid(request.body.webhookId)
      return reply.code(202).send({ requeued: await resend(request, transfer.trackingId, webhookId) })
    },
  )
  app.get(
    '/v1/callbacks',
    read('listCallbacks', 'List callbacks', {
      description: 'Newest first. A new callback or a changed status can take a moment to appear.',
      querystring: CallbackListQuery,
      response: { 200: CallbackListResponse, ...badRequest },
    }),
    async (request) => {
      const { status, limit, cursor } = request.query
      const merchantIds = [request.merchant!.merchantId]
      const filter = { merchantIds, status, limit: limitOf(limit), cursor: cursorOf(cursor) }
      const { items, nextCursor } = await readers.page(readBy(request), 'callbacks', filter)
      return {
        items: items.map(({ dueAt: nextAttemptAt, merchantId: _, ...each }) => ({ ...each, nextAttemptAt })),
        nextCursor,
      }
    },
  )
  app.get(
    '/v1/callbacks/stream',
    {
      // It would never end.
      exposeHeadRoute: false,
      ...read('streamCallbacks', 'Listen to your callbacks', {
        description: streamDescription,
        headers: StreamHeaders,
        response: { 200: CallbackStreamResponse, ...badRequest },
      }),
    },
    (request, reply) => {
      const { merchantId } = request.merchant!
      const mayListen = () => app.gate.isStillAllowed(request, 'read')
      return app.streamCallbacks(request, reply, { merchantId, seesSignatures: true, mayListen })
    },
  )
  app.post(
    '/v1/callbacks/resend',
    read('resendCallbacks', 'Resend many callbacks', {
      description:
        'Resends the named callbacks, or those that were parked since a time. The same limit applies to each callback; callbacks that were resent just now are omitted, except those of a sandbox merchant.',
      body: ResendManyRequest,
      response: { 202: ResendManyResponse, ...badRequest, ...unknownCallback, ...bodyFailures },
    }),
    async (request, reply) => {
      const { callbacks: named, parkedSince } = request.body
      if ((named === undefined) === (parkedSince === undefined)) {
        throw invalid('parkedSince', 'either-or', { other: 'callbacks' })
      }
      const { merchantId } = request.merchant!
      const since = timeOf('parkedSince', parkedSince)
      const wanted = named ? { callbacks: named } : { merchantId, parkedSince: since! }
      const sees = (each: string) => each === merchantId
      const who = { sees, by: 'merchant', takeReplays: app.gate.takeReplays, reader: readBy(request) } as const
      return reply.code(202).send(await requeueCallbacks(app.services, wanted, who, merchantContext(request)))
    },
  )
  app.get(
    '/v1/callbacks/endpoint',
    read('getCallbackEndpoint', 'Get the state of your callback endpoint', {
      response: { 200: CallbackEndpointResponse },
    }),
    (request) => endpointOf(request.merchant!),
  )
  app.post(
    '/v1/callbacks/endpoint/test',
    read('testCallbackEndpoint', 'Send a test event to your callback endpoint', {
      description:
        'At most one every five seconds. It is signed like a callback and has the header `x-transfer-test`. If it is delivered, callbacks that wait after a failed attempt are sent again.',
      response: { 200: EndpointTestResponse },
    }),
    async (request) => {
      endDeadline(request)
      return sendTestEvent(app.services, request.merchant!.merchantId, merchantContext(request))
    },
  )
  app.post(
    '/v1/callbacks/endpoint/enable',
    read('enableCallbackEndpoint', 'Enable your callback endpoint again', {
      description: 'All waiting callbacks are sent, in order per transfer.',
      response: { 200: CallbackEndpointResponse },
    }),
    async (request) => {
      const { merchantId, callbacksDisabled } = request.merchant!
      const waitSeconds = callbacksDisabled === null ? 0 : enables.take(merchantId, enabling.perSecond, enabling.burst)
      if (waitSeconds > 0) throw new RequestError('too-many-requests', { retryAfterSeconds: waitSeconds })
      const enabled = await merchants.execute(merchantId, { type: 'EnableCallbacks' }, merchantContext(request))
      if (!enabled.accepted) throw new Error(`a merchant that calls is refused: ${enabled.refusal.rule}`)
      return endpointOf(enabled.merchant)
    },
  )

  async function endpointOf(merchant: Merchant) {
    const { attempts: _a, lastBody: _b, ...endpoint } = await endpointHealth(app.services, merchant)
    return endpoint
  }

  /** Returns the number of callbacks that will be resent. @throws RequestError */
  async function resend(request: FastifyRequest, trackingId: string, webhookId: string | undefined): Promise<number> {
    const { merchantId, settings } = request.merchant!
    const waitSeconds = settings.sandbox ? app.gate.takeReplays(merchantId, 1) : 0
    if (waitSeconds > 0) throw new RequestError('resent-too-often', { retryAfterSeconds: waitSeconds })
    const sendAgain = async (which: Requeued) => {
      const send = settings.sandbox ? 'replay' : 'resend'
      const result = await callbacks[send](trackingId, which, merchantContext(request))
      if (result.accepted) return result.count
      const { retryAfterSeconds } = result
      if (retryAfterSeconds === undefined) throw new RequestError('unknown-callback')
      throw new RequestError('resent-too-often', { retryAfterSeconds })
    }
    if (webhookId !== undefined) return sendAgain({ webhookId })
    return (await sendAgain('parked')) || sendAgain('latest')
  }
}

type Recorded = Extract<CallbackEvent, { type: 'CallbackRecorded' }>['data']

/** The status of the callback and the result of the attempt after each event. */
const shown = {
  CallbackDelivered: { status: 'delivered', result: 'delivered' },
  CallbackAttemptFailed: { status: 'waiting', result: 'failed' },
  CallbackParked: { status: 'parked', result: 'parked' },
  CallbackRequeued: { status: 'waiting', result: 'requeued' },
} as const

interface Attempt {
  readonly at: string
  readonly httpStatus?: number | null
  readonly durationMs?: number | null
  readonly reason?: string | null
  readonly nextAttemptAt?: string
}

/** Returns the callbacks of a transfer with all their attempts, lowest transfer revision first. */
function viewOfCallbacks(history: readonly HistoryEntry<CallbackEvent>[]): CallbackView[] {
  const views = new Map<string, CallbackView>()
  for (const { event } of history) {
    if (event.type === 'CallbackRecorded') {
      views.set(event.data.webhookId, recorded(event.data))
      continue
    }
    const view = views.get(event.data.webhookId)!
    const { status, result } = shown[event.type]
    const { at, httpStatus = null, durationMs = null, reason = null, nextAttemptAt = at }: Attempt = event.data
    view.status = status
    view.nextAttemptAt = status === 'waiting' ? nextAttemptAt : null
    view.attempts.push({ at, result, httpStatus, durationMs, reason })
  }
  for (const view of views.values()) view.attempts = view.attempts.slice(-maxAttemptsShown)
  return [...views.values()].sort((a, b) => a.transferRevision - b.transferRevision)
}

function recorded({ webhookId, transferRevision, trackingId, payload, at, dueAt = at }: Recorded): CallbackView {
  const { amountMinor, transactionAmountMinor, ...rest } = payload
  const [amount, transactionAmount] = [toJsonNumber(amountMinor), toJsonNumber(transactionAmountMinor)]
  return {
    webhookId,
    transferRevision,
    status: 'waiting',
    recordedAt: at,
    nextAttemptAt: dueAt,
    payload: { ...rest, statusDescription: statusNameOf(payload.status), trackingId, amount, transactionAmount },
    attempts: [],
  }
}
