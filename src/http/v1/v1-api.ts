import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { parseFeedPosition } from '../../queries/feed.js'
import { listByReferenceId } from '../../queries/transfer-queries.js'
import { badRequest, unknownTransfer } from '../envelope.js'
import { cursorOf, limitOf, searched, storedTrackingId, timeOf } from '../query-parameters.js'
import { invalid, RequestError } from '../refusals.js'
import { callbackRoutes } from './callback-routes.js'
import { merchantRoutes } from './merchant-routes.js'
import { keyRoutes, nestMetadata, ownTransfer, readBy, statusOf } from './requests.js'
import { settlementRoutes } from './settlement-routes.js'
import {
  FeedQuery,
  FeedResponse,
  HistoryResponse,
  TransferParams as params,
  TransferResponse,
  TransfersQuery,
  TransfersResponse,
} from './v1-schemas.js'
import { viewOf, viewOfEvent, viewOfHistory, viewsOf, viewsOfDocuments } from './v1-transfer-view.js'

/** Adds what the specification lacks: a merchant's transfers, their history and their callbacks. */
export const v1: FastifyPluginAsyncTypebox = async (app) => {
  const { transfers, readers } = app.services
  const read = keyRoutes(app, 'read', 'Queries')
  app.get(
    '/v1/transfers/:trackingId',
    read('getTransfer', 'Get a transfer', { params, response: { 200: TransferResponse, ...unknownTransfer } }),
    async (request) => {
      return viewOf(transfers, await ownTransfer(request))
    },
  )
  app.get(
    '/v1/transfers',
    {
      ...read('listTransfers', 'List transfers', {
        description:
          'Newest first. A new transfer can take a moment to appear, except in a search by referenceId. With `metadata`, a page can be short or empty although `nextCursor` leads to more.',
        querystring: TransfersQuery,
        response: { 200: TransfersResponse, ...badRequest },
      }),
      preValidation: nestMetadata,
    },
    async (request) => {
      const { referenceId, status, kind, metadata, from, to, limit, cursor } = request.query
      const { merchantId } = request.merchant!
      const wanted = {
        status: statusOf(status),
        kind,
        from: timeOf('from', from),
        to: timeOf('to', to),
        limit: limitOf(limit),
      }
      if (metadata !== undefined) {
        if (referenceId !== undefined) throw invalid('metadata', 'excludes-field', { other: 'referenceId' })
        const query = { ...wanted, merchantId, metadata, cursor }
        const { items, nextCursor } = await searched(readers.page(readBy(request), 'ownByMetadata', query))
        return { items: await viewsOfDocuments(transfers, items), nextCursor }
      }
      const filter = { ...wanted, cursor: cursorOf(cursor) }
      if (referenceId === undefined) {
        const { items, nextCursor } = await readers.page(readBy(request), 'ownTransfers', { merchantId, ...filter })
        return { items: await viewsOfDocuments(transfers, items), nextCursor }
      }
      const { items, nextCursor } = await listByReferenceId(transfers, [merchantId], referenceId, filter)
      return { items: await viewsOf(transfers, items), nextCursor }
    },
  )
  app.get(
    '/v1/transfers/:trackingId/events',
    read('getTransferEvents', 'Get the history of a transfer', {
      params,
      response: { 200: HistoryResponse, ...unknownTransfer },
    }),
    async (request) => {
      const history = await transfers.history(storedTrackingId(request.params.trackingId))
      if (history[0]?.event.data.merchantId !== request.merchant!.merchantId) throw new RequestError('unknown-transfer')
      return { items: history.map(viewOfHistory) }
    },
  )
  app.get(
    '/v1/events',
    read('listEvents', 'Read the feed of all your events', {
      description:
        'Oldest first. Continue with `after` = `next`. No event is ever inserted before a position that you have read.',
      querystring: FeedQuery,
      response: { 200: FeedResponse, ...badRequest },
    }),
    async (request) => {
      const { after, limit } = request.query
      const place = after === undefined ? undefined : parseFeedPosition(after)
      if (after !== undefined && !place) throw invalid('after', 'cursor-invalid')
      const { merchantId } = request.merchant!
      const query = { merchantId, after: place, limit: limitOf(limit) }
      const page = await readers.page(readBy(request), 'feed', query)
      if (!page) throw invalid('after', 'event-not-found')
      const items = page.items.map((item) => {
        const { position, trackingId } = item
        return { position, trackingId, ...viewOfEvent(item) }
      })
      return { items, next: page.next ?? after ?? null }
    },
  )
  app.register(merchantRoutes)
  app.register(callbackRoutes)
  app.register(settlementRoutes)
}
