import type { FastifyRequest } from 'fastify'
import type { Requeued } from '../../domain/callback/callback.js'
import type { Transfer } from '../../domain/transfer/transfer.js'
import { listByReferenceId, listTransfers } from '../../queries/transfers.js'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import { badRequest, bodyFailures, keyFailures, unknownTransfer } from '../envelope.js'
import { failures, RequestError } from '../errors.js'
import type { Gate } from '../plugins/gate.js'
import { contextOf } from '../request-context.js'
import { viewOfCallbacks } from './callback-view.js'
import { feedPlaceOf, formatFeedPlace, listEvents } from './event-feed.js'
import { cursorOf, limitOf, statusOf, timeOf } from './query-values.js'
import {
  CallbacksAnswer,
  FeedAnswer,
  FeedQuery,
  HistoryAnswer,
  ResendAnswer,
  ResendRequest,
  TransferAnswer,
  TransferParams,
  TransfersAnswer,
  TransfersQuery,
} from './schemas.js'
import { viewOfDocument, viewOfHistory, viewOfTransfer } from './transfer-view.js'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What the specification lacks: a merchant's own transfers, their history, their callbacks. */
export function registerV1(app: App, deps: HttpDependencies, gate: Gate): void {
  registerTransfers(app, deps, gate)
  registerEvents(app, deps, gate)
  registerCallbacks(app, deps, gate)
}

const tags = ['Queries']

function registerTransfers(app: App, deps: HttpDependencies, gate: Gate): void {
  app.route({
    method: 'GET',
    url: '/v1/transfers/:trackingId',
    onRequest: gate.requireKey,
    schema: {
      tags,
      operationId: 'getTransfer',
      summary: 'Get a transfer',
      params: TransferParams,
      response: { 200: TransferAnswer, ...keyFailures, ...unknownTransfer },
    },
    handler: async (request) => {
      const { transfer, revision } = await ownTransfer(deps, request, request.params.trackingId)
      return viewOfTransfer(transfer, revision)
    },
  })
  app.route({
    method: 'GET',
    url: '/v1/transfers',
    onRequest: gate.requireKey,
    schema: {
      tags,
      operationId: 'listTransfers',
      summary: 'List transfers',
      description: 'Newest first. A transfer may take a moment to appear, except when it is looked up by referenceId.',
      querystring: TransfersQuery,
      response: { 200: TransfersAnswer, ...badRequest, ...keyFailures },
    },
    handler: async (request) => {
      const { referenceId, status, kind, from, to, limit, cursor } = request.query
      const { merchantId } = request.merchant!
      const filter = {
        status: statusOf(status),
        kind,
        from: timeOf('from', from),
        to: timeOf('to', to),
        limit: limitOf(limit),
        cursor: cursorOf(cursor),
      }
      if (referenceId === undefined) {
        const { items, nextCursor } = await listTransfers(deps.readModels, merchantId, filter)
        return { items: items.map(viewOfDocument), nextCursor }
      }
      const { items, nextCursor } = await listByReferenceId(deps.transfers, [merchantId], referenceId, filter)
      return { items: items.map(({ transfer, revision }) => viewOfTransfer(transfer, revision)), nextCursor }
    },
  })
}

function registerEvents(app: App, deps: HttpDependencies, gate: Gate): void {
  app.route({
    method: 'GET',
    url: '/v1/transfers/:trackingId/events',
    onRequest: gate.requireKey,
    schema: {
      tags,
      operationId: 'getTransferEvents',
      summary: 'Get the history of a transfer',
      params: TransferParams,
      response: { 200: HistoryAnswer, ...keyFailures, ...unknownTransfer },
    },
    handler: async (request) => {
      const history = await deps.transfers.history(streamId(request.params.trackingId))
      if (history[0]?.event.data.merchantId !== request.merchant!.merchantId) {
        throw new RequestError(failures.unknownTransfer)
      }
      return { items: history.map(viewOfHistory) }
    },
  })
  app.route({
    method: 'GET',
    url: '/v1/events',
    onRequest: gate.requireKey,
    schema: {
      tags,
      operationId: 'listEvents',
      summary: 'Follow all your events',
      description:
        'Oldest first; ask again with `after` = `next`. Nothing is ever inserted before a position already read.',
      querystring: FeedQuery,
      response: { 200: FeedAnswer, ...badRequest, ...keyFailures },
    },
    handler: async (request) => {
      const { after: text, limit } = request.query
      const after = text === undefined ? undefined : feedPlaceOf(text)
      const { items, last } = await listEvents(deps, request.merchant!.merchantId, { after, limit: limitOf(limit) })
      return { items, next: last ? formatFeedPlace(last) : (text ?? null) }
    },
  })
}

function registerCallbacks(app: App, deps: HttpDependencies, gate: Gate): void {
  app.route({
    method: 'GET',
    url: '/v1/transfers/:trackingId/callbacks',
    onRequest: gate.requireKey,
    schema: {
      tags,
      operationId: 'getTransferCallbacks',
      summary: 'Get the callbacks sent about a transfer',
      params: TransferParams,
      response: { 200: CallbacksAnswer, ...keyFailures, ...unknownTransfer },
    },
    handler: async (request) => {
      const { transfer } = await ownTransfer(deps, request, request.params.trackingId)
      return { items: viewOfCallbacks(await deps.callbacks.history(transfer.trackingId)) }
    },
  })
  app.route({
    method: 'POST',
    url: '/v1/transfers/:trackingId/callbacks/resend',
    onRequest: gate.requireKey,
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
      const { transfer } = await ownTransfer(deps, request, request.params.trackingId)
      const requeued = await resend(deps, request, transfer.trackingId, request.body?.webhookId?.toLowerCase())
      return reply.code(202).send({ requeued })
    },
  })
}

/** How many will be sent again. @throws RequestError */
async function resend(
  deps: HttpDependencies,
  request: FastifyRequest,
  trackingId: string,
  webhookId: string | undefined,
): Promise<number> {
  const sendAgain = async (which: Requeued) => {
    const result = await deps.callbacks.resend(trackingId, which, contextOf(request))
    if (result.accepted) return result.count
    const { retryAfterSeconds } = result
    if (retryAfterSeconds === undefined) throw new RequestError(failures.unknownCallback)
    throw new RequestError(failures.resentTooOften, { retryAfterSeconds })
  }
  if (webhookId !== undefined) return sendAgain({ webhookId })
  return (await sendAgain('parked')) || sendAgain('latest')
}

/** From the log, so never behind. @throws RequestError also when it is another merchant's: the two look alike */
async function ownTransfer(
  { transfers }: HttpDependencies,
  request: FastifyRequest,
  trackingId: string,
): Promise<{ readonly transfer: Transfer; readonly revision: number }> {
  const found = await transfers.find(streamId(trackingId))
  if (found?.transfer.merchantId !== request.merchant!.merchantId) throw new RequestError(failures.unknownTransfer)
  return found
}

function streamId(trackingId: string): string {
  const lowerCase = trackingId.toLowerCase()
  if (!uuid.test(lowerCase)) throw new RequestError(failures.unknownTransfer)
  return lowerCase
}
