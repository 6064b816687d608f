import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callbackBody } from '../../../domain/callback.js'
import { statusNameOf } from '../../../domain/transfer/status.js'
import { storedUuid } from '../../../kernel/uuid.js'
import { type ListedCallback, listCallbacksOfTransfer } from '../../../queries/callback-queries.js'
import { attemptsOf } from '../../../read-models/endpoint-attempts.js'
import { requeueCallbacks, sendTestEvent, storedCallback } from '../../callback-endpoints.js'
import { cursorOf, limitOf, timeOf } from '../../query-parameters.js'
import { accepted, RequestError } from '../../refusals.js'
import { endDeadline } from '../../server/request-deadline.js'
import {
  CallbackContent,
  CallbackParams,
  CallbackStreamQuery,
  CallbacksQuery,
  CallbacksResponse,
  EndpointsResponse,
  MerchantItem,
  MerchantParams as params,
  ResendRequest,
  ResendResponse,
  TestAnswer,
} from '../api.js'
import { withoutHead } from '../downloads.js'
import { noteMerchantChange } from '../merchants/merchant-routes.js'
import { merchantsOf, readBy, requireOwn, seenMerchants, sees, userContext } from '../session-guard.js'

/** Allows 200 callback ids. */
const bodyLimit = 64 * 1024

/** Adds the routes for callbacks and endpoints. */
export const callbackRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { transfers, callbacks, directory, merchants, readers, readModels } = app.services
  /** Callbacks of a disabled endpoint wait until it is enabled. */
  const listed = ({ transferRevision: _, ...callback }: ListedCallback) => {
    const isDisabled = (directory.byId(callback.merchantId)?.callbacksDisabled ?? null) !== null
    return { ...rowOf(callback), ...(isDisabled && { dueAt: null }) }
  }
  const read = app.viewers.allow('transfers:read')
  const manage = app.viewers.allow('endpoints:manage')
  const resend = app.viewers.allow('callbacks:resend')
  app.get('/callbacks', read({ querystring: CallbacksQuery }, CallbacksResponse), async (request) => {
    const { merchantId, status, trackingId, limit, cursor } = request.query
    const merchantIds = merchantsOf(request, merchantId)
    const filter = { merchantIds, status, limit: limitOf(limit), cursor: cursorOf(cursor) }
    if (trackingId === undefined) {
      const { items, nextCursor } = await readers.page(readBy(request), 'callbacks', filter)
      return { items: items.map(listed), nextCursor }
    }
    const id = storedUuid(trackingId)
    requireOwn(request, (await transfers.find(id))?.transfer.merchantId, 'unknown-transfer')
    const { items, nextCursor } = await listCallbacksOfTransfer(callbacks, id, filter)
    return { items: items.map(listed), nextCursor }
  })
  const stream = { ...withoutHead, ...read({ querystring: CallbackStreamQuery }) }
  app.get('/callbacks/stream', stream, (request, reply) => {
    const { lastEventId } = request.query
    const merchantId = requireOwn(request, request.query.merchantId)
    const { userId, sessionId } = request.viewer
    const mayListen = async () => {
      const user = app.services.userDirectory.byId(userId)
      // Unavailable read models end no session. The next check decides.
      return user !== undefined && sees(user, merchantId) && app.viewers.sessions.isActive(sessionId).catch(() => true)
    }
    return app.streamCallbacks(request, reply, { merchantId, seesSignatures: false, mayListen, lastEventId })
  })
  const ofCallback = read({ params: CallbackParams }, CallbackContent)
  app.get('/callbacks/:trackingId/:webhookId', ofCallback, async (request) => {
    const { trackingId, webhookId } = storedCallback(request.params)
    const { deliveries, merchantId } = await callbacks.lane(trackingId)
    const owner = requireOwn(request, merchantId ?? undefined, 'unknown-callback')
    const payload = deliveries.find((each) => each.webhookId === webhookId)?.payload
    if (!payload) throw new RequestError('unknown-callback')
    const seen = await attemptsOf(readModels, owner)
    const last = seen?.attempts.findLast((each) => each.webhookId === webhookId)
    // The hash depends on a secret of the merchant, and would let a reader confirm a guess of it.
    return { request: callbackBody(payload, trackingId, () => '…'), response: last?.body ?? null }
  })
  app.post('/callbacks/resend', { bodyLimit, ...resend({ body: ResendRequest }, ResendResponse) }, async (request) => {
    const { body, viewer } = request
    const wanted = 'callbacks' in body ? body : { ...body, parkedSince: timeOf('parkedSince', body.parkedSince)! }
    if ('merchantId' in wanted) requireOwn(request, wanted.merchantId)
    const by = viewer.merchantIds === null ? 'operator' : 'merchant'
    return requeueCallbacks(
      app.services,
      wanted,
      { sees: (id) => sees(viewer, id), by, takeReplays: app.gate.takeReplays, reader: readBy(request) },
      userContext(request),
    )
  })
  app.get('/endpoints', read({}, EndpointsResponse), async (request) => {
    const seen = seenMerchants(request)
    const merchantIds = seen.map(({ merchantId }) => merchantId)
    const health = await readers.page(readBy(request), 'endpoints', { merchantIds })
    const items = seen.flatMap(({ merchantId, settings: { name: merchantName } }) => {
      const found = health.get(merchantId)
      const attempts = found?.attempts.map(({ webhookId, body, ...attempt }) => rowOf(attempt)) ?? []
      return found ? [{ merchantId, merchantName, ...found, attempts }] : []
    })
    return { items: items.sort((a, b) => a.merchantName.localeCompare(b.merchantName)) }
  })
  app.post('/merchants/:merchantId/endpoint/test', manage({ params }, TestAnswer), async (request) => {
    endDeadline(request)
    return sendTestEvent(app.services, requireOwn(request, request.params.merchantId), userContext(request))
  })
  app.post('/merchants/:merchantId/endpoint/enable', manage({ params }, MerchantItem), async (request) => {
    const merchantId = requireOwn(request, request.params.merchantId)
    const enabled = await merchants.execute(merchantId, { type: 'EnableCallbacks' }, userContext(request))
    return noteMerchantChange(request, 'endpoint-enabled', merchantId, accepted('merchant', enabled))
  })
}

function rowOf<Row extends Pick<ListedCallback, 'transferStatus'>>({ transferStatus, ...row }: Row) {
  return { ...row, transferStatus: statusNameOf(transferStatus) }
}
