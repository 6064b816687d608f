import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import { listFeed, parseFeedPosition } from '../../queries/feed.js'
import { listByReferenceId, listTransfers } from '../../queries/transfer-queries.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { badRequest, keyFailures, unknownTransfer } from '../envelope.js'
import { invalid, RequestError } from '../refusals.js'
import { type CallbackOptions, callbackRoutes } from './callback-routes.js'
import { ownTransfer, streamId } from './own-transfer.js'
import { cursorOf, limitOf, statusOf, timeOf } from './query-values.js'
import { type SettlementOptions, settlementRoutes } from './settlement-routes.js'
import { viewOfDocument, viewOfEvent, viewOfHistory, viewOfTransfer } from './transfer-view.js'
import {
  FeedAnswer,
  FeedQuery,
  HistoryAnswer,
  TransferAnswer,
  TransferParams,
  TransfersAnswer,
  TransfersQuery,
} from './v1-schemas.js'

export interface V1Options extends CallbackOptions, SettlementOptions {
  readonly transfers: TransferCommands
  readonly readModels: ReadModels
}

/** Adds what the specification lacks: a merchant's transfers, their history and their callbacks. */
export const v1: FastifyPluginAsyncTypebox<V1Options> = async (app, options) => {
  app.register(transferRoutes, options)
  app.register(eventRoutes, options)
  app.register(callbackRoutes, options)
  app.register(settlementRoutes, options)
}

const tags = ['Queries']

const transferRoutes: FastifyPluginAsyncTypebox<V1Options> = async (app, { transfers, readModels }) => {
  app.route({
    method: 'GET',
    url: '/v1/transfers/:trackingId',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'getTransfer',
      summary: 'Get a transfer',
      params: TransferParams,
      response: { 200: TransferAnswer, ...keyFailures, ...unknownTransfer },
    },
    handler: async (request) => {
      const { transfer, revision } = await ownTransfer(transfers, request, request.params.trackingId)
      return viewOfTransfer(transfer, revision)
    },
  })
  app.route({
    method: 'GET',
    url: '/v1/transfers',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'listTransfers',
      summary: 'List transfers',
      description: 'Newest first. A new transfer can take a moment to appear, except in a search by referenceId.',
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
        const { items, nextCursor } = await listTransfers(readModels, merchantId, filter)
        return { items: items.map(viewOfDocument), nextCursor }
      }
      const { items, nextCursor } = await listByReferenceId(transfers, [merchantId], referenceId, filter)
      return { items: items.map(({ transfer, revision }) => viewOfTransfer(transfer, revision)), nextCursor }
    },
  })
}

const eventRoutes: FastifyPluginAsyncTypebox<V1Options> = async (app, { transfers, readModels }) => {
  app.route({
    method: 'GET',
    url: '/v1/transfers/:trackingId/events',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'getTransferEvents',
      summary: 'Get the history of a transfer',
      params: TransferParams,
      response: { 200: HistoryAnswer, ...keyFailures, ...unknownTransfer },
    },
    handler: async (request) => {
      const history = await transfers.history(streamId(request.params.trackingId))
      if (history[0]?.event.data.merchantId !== request.merchant!.merchantId) {
        throw new RequestError('unknown-transfer')
      }
      return { items: history.map(viewOfHistory) }
    },
  })
  app.route({
    method: 'GET',
    url: '/v1/events',
    ...app.gate.requireKey('read'),
    schema: {
      tags,
      operationId: 'listEvents',
      summary: 'Read the feed of all your events',
      description:
        'Oldest first. Continue with `after` = `next`. No event is ever inserted before a position that you have read.',
      querystring: FeedQuery,
      response: { 200: FeedAnswer, ...badRequest, ...keyFailures },
    },
    handler: async (request) => {
      const { after, limit } = request.query
      const place = after === undefined ? undefined : parseFeedPosition(after)
      if (after !== undefined && !place) throw invalid('after', 'cursor-invalid')
      const { merchantId } = request.merchant!
      const page = await listFeed({ transfers, readModels }, merchantId, { after: place, limit: limitOf(limit) })
      if (!page) throw invalid('after', 'event-not-found')
      const items = page.items.map((item) => {
        const { position, trackingId } = item
        return { position, trackingId, ...viewOfEvent(item) }
      })
      return { items, next: page.next ?? after ?? null }
    },
  })
}
