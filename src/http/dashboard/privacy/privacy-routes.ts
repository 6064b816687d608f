import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { violate } from '../../../domain/decider.js'
import { eraseCustomer } from '../../../privacy/customer-erasure.js'
import { exportCustomer } from '../../../privacy/customer-export.js'
import { PrivacyStatusCount } from '../../../privacy/privacy-status.js'
import { RequestError } from '../../refusals.js'
import { userContext } from '../session-guard.js'
import {
  CustomerExport,
  CustomerRequest,
  EraseCustomerRequest,
  ErasureResponse,
  PrivacyStatusResponse,
} from './privacy-api.js'

/** The time limit of a response. The page repeats the request. */
const countForMs = 500
const maxNamed = 20

/** Adds the routes that show, export and erase personal data. */
export const privacyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { privacy, directory } = app.services
  const count = new PrivacyStatusCount(privacy.raw, privacy.keys)
  const manage = app.viewers.allow('privacy:manage')

  app.get('/privacy/status', app.viewers.allow('privacy:read')({}, PrivacyStatusResponse), () =>
    count.status(
      directory.all().map(({ merchantId }) => merchantId),
      countForMs,
    ),
  )
  app.post('/privacy/export', manage({ body: CustomerRequest }, CustomerExport), async ({ body }, reply) => {
    const found = await exportCustomer(privacy, body)
    if (!found) throw new RequestError('unknown-customer')
    reply.header('content-disposition', 'attachment; filename="customer.json"')
    return found
  })
  app.post('/privacy/erase', manage({ body: EraseCustomerRequest }, ErasureResponse), async (request) => {
    const { merchantId, userId, reason } = request.body
    const result = await eraseCustomer(privacy, { merchantId, userId }, reason, userContext(request))
    if (result.accepted) {
      const { erasureId, erasedAt, transfers, receipts } = result
      return { erasureId, erasedAt, transfers, receipts }
    }
    if (result.reason === 'unknown-customer') throw new RequestError('unknown-customer')
    throw new RequestError('transfers-open', {
      violation: violate('transfers-open', { trackingIds: result.trackingIds.slice(0, maxNamed).join(', ') }),
    })
  })
}
