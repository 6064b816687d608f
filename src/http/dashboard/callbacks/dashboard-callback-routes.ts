import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { CallbackCommands } from '../../../commands/callback/callback-commands.js'
import type { MerchantCommands } from '../../../commands/merchant/merchant-commands.js'
import type { MerchantDirectory } from '../../../commands/merchant/merchant-directory.js'
import type { TransferCommands } from '../../../commands/transfer/transfers.js'
import { type Status, statusCodes } from '../../../domain/transfer/transfer.js'
import { type ListedCallback, listCallbacks, listCallbacksOfTransfer } from '../../../queries/callback-queries.js'
import { endpointHealth } from '../../../queries/endpoint-queries.js'
import type { ReadModels } from '../../../read-models/read-models.js'
import { type TestEndpoint, takeUp, tested } from '../../callback-endpoints.js'
import { accepted } from '../../refusals.js'
import { cursorOf, limitOf, timeOf } from '../../v1/query-values.js'
import {
  CallbacksAnswer,
  CallbacksQuery,
  EndpointsAnswer,
  MerchantItem,
  ResendAnswer,
  ResendRequest,
  TestAnswer,
} from '../api.js'
import { itemOf } from '../merchants/merchant-view.js'
import { merchantParams, noteMerchantChange, type OwnMerchantOptions, requireOwn } from '../own-merchants.js'
import { contextOf } from '../session-guard.js'

export interface DashboardCallbackOptions extends OwnMerchantOptions {
  readonly transfers: TransferCommands
  readonly callbacks: CallbackCommands
  readonly merchants: MerchantCommands
  readonly directory: MerchantDirectory
  readonly readModels: ReadModels
  readonly testEndpoint: TestEndpoint
}

/** Allows 200 callback ids. */
const resendBodyLimit = 64 * 1024
/** The number of endpoints that are read concurrently for the list. */
const endpointsAtOnce = 16

/** Adds the routes for callbacks and endpoints. */
export const callbackRoutes: FastifyPluginAsyncTypebox<DashboardCallbackOptions> = async (app, options) => {
  await listRoutes(app, options)
  await endpointRoutes(app, options)
}

const listRoutes: FastifyPluginAsyncTypebox<DashboardCallbackOptions> = async (app, options) => {
  const { transfers, callbacks, readModels } = options
  app.route({
    method: 'GET',
    url: '/callbacks',
    ...app.viewers.allow('transfers:read'),
    schema: { hide: true, querystring: CallbacksQuery, response: { 200: CallbacksAnswer } },
    handler: async (request) => {
      const { merchantId, status, trackingId, limit, cursor } = request.query
      if (merchantId !== undefined) requireOwn(request, merchantId)
      const merchantIds = merchantId === undefined ? (request.viewer.merchantIds ?? undefined) : [merchantId]
      const filter = { merchantIds, status, limit: limitOf(limit), cursor: cursorOf(cursor) }
      if (trackingId === undefined) {
        const { items, nextCursor } = await listCallbacks(readModels, filter)
        return { items: items.map(rowOf), nextCursor }
      }
      const id = trackingId.toLowerCase()
      requireOwn(request, (await transfers.find(id))?.transfer.merchantId, 'unknown-transfer')
      const { items, nextCursor } = await listCallbacksOfTransfer(callbacks, id, filter)
      return { items: items.map(rowOf), nextCursor }
    },
  })
  app.route({
    method: 'POST',
    url: '/callbacks/resend',
    ...app.viewers.allow('callbacks:resend'),
    bodyLimit: resendBodyLimit,
    schema: { hide: true, body: ResendRequest, response: { 200: ResendAnswer } },
    handler: async (request) => {
      const { body } = request
      const wanted = 'callbacks' in body ? body : { ...body, parkedSince: timeOf('parkedSince', body.parkedSince)! }
      if ('merchantId' in wanted) requireOwn(request, wanted.merchantId)
      const who = {
        sees: (merchantId: string) => app.viewers.sees(request, merchantId),
        by: request.viewer.merchantIds === null ? 'operator' : 'merchant',
      } as const
      return takeUp({ callbacks, readModels }, wanted, who, contextOf(request))
    },
  })
}

const endpointRoutes: FastifyPluginAsyncTypebox<DashboardCallbackOptions> = async (app, options) => {
  const { callbacks, merchants, directory, readModels, testEndpoint } = options
  app.route({
    method: 'GET',
    url: '/endpoints',
    ...app.viewers.allow('transfers:read'),
    schema: { hide: true, response: { 200: EndpointsAnswer } },
    handler: async (request) => {
      const seen = directory.all().filter(({ merchantId }) => app.viewers.sees(request, merchantId))
      const items = []
      for (let from = 0; from < seen.length; from += endpointsAtOnce) {
        const lot = seen.slice(from, from + endpointsAtOnce).map(async (merchant) => ({
          merchantId: merchant.merchantId,
          merchantName: merchant.settings.name,
          ...(await endpointHealth({ callbacks, readModels }, merchant)),
        }))
        items.push(...(await Promise.all(lot)))
      }
      return { items: items.sort((a, b) => a.merchantName.localeCompare(b.merchantName)) }
    },
  })
  app.route({
    method: 'POST',
    url: '/merchants/:merchantId/endpoint/test',
    ...app.viewers.allow('endpoints:manage'),
    schema: { hide: true, params: merchantParams, response: { 200: TestAnswer } },
    handler: async (request) => tested(await testEndpoint(requireOwn(request, request.params.merchantId))),
  })
  app.route({
    method: 'POST',
    url: '/merchants/:merchantId/endpoint/enable',
    ...app.viewers.allow('endpoints:manage'),
    schema: { hide: true, params: merchantParams, response: { 200: MerchantItem } },
    handler: async (request: FastifyRequest<{ Params: { merchantId: string } }>) => {
      const merchantId = requireOwn(request, request.params.merchantId)
      const { merchant } = accepted(
        'merchant',
        await merchants.execute(merchantId, { type: 'EnableCallbacks' }, contextOf(request)),
      )
      noteMerchantChange(options, request, 'endpoint-enabled', merchantId)
      await directory.catchUp()
      return itemOf(merchant)
    },
  })
}

function rowOf({ transferStatus, transferRevision: _, ...callback }: ListedCallback) {
  const names = Object.keys(statusCodes) as Status[]
  return { ...callback, transferStatus: names.find((name) => statusCodes[name] === transferStatus)! }
}
