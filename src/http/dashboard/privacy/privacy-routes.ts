import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { MerchantDirectory } from '../../../commands/merchant/merchant-directory.js'
import { violate } from '../../../kernel/rules.js'
import { eraseCustomer, type PrivacyParts } from '../../../privacy/customer-erasure.js'
import { exportCustomer } from '../../../privacy/customer-export.js'
import { PrivacyStatusCount } from '../../../privacy/privacy-status.js'
import { RequestError } from '../../refusals.js'
import { contextOf } from '../session-guard.js'
import {
  CustomerExport,
  CustomerRequest,
  EraseCustomerRequest,
  ErasureAnswer,
  PrivacyStatusAnswer,
} from './privacy-api.js'

export interface PrivacyOptions {
  readonly privacy: PrivacyParts
  readonly directory: MerchantDirectory
}

/** The time limit of a response. The page repeats the request. */
const countForMs = 500
const maxNamed = 20

/** Adds the routes that show, export and erase personal data. */
export const privacyRoutes: FastifyPluginAsyncTypebox<PrivacyOptions> = async (app, { privacy, directory }) => {
  const count = new PrivacyStatusCount(privacy.raw, privacy.keys)
  const manage = app.viewers.allow('privacy:manage', { recent: true })

  app.route({
    method: 'GET',
    url: '/privacy/status',
    ...app.viewers.allow('privacy:read'),
    schema: { hide: true, response: { 200: PrivacyStatusAnswer } },
    handler: async () => {
      const ids = directory.all().map(({ merchantId }) => merchantId)
      const { byMerchant, ...status } = await count.status(ids, countForMs)
      return { ...status, byMerchant: [...byMerchant] }
    },
  })
  app.route({
    method: 'POST',
    url: '/privacy/export',
    ...manage,
    schema: { hide: true, body: CustomerRequest, response: { 200: CustomerExport } },
    handler: async ({ body }, reply) => {
      const found = await exportCustomer(privacy, body)
      if (!found) throw new RequestError('unknown-customer')
      reply.header('content-disposition', 'attachment; filename="customer.json"')
      const transfers = found.transfers.map(({ events, receipts, ...transfer }) => {
        return { ...transfer, events: [...events], receipts: [...receipts] }
      })
      return { ...found, transfers }
    },
  })
  app.route({
    method: 'POST',
    url: '/privacy/erase',
    ...manage,
    schema: { hide: true, body: EraseCustomerRequest, response: { 200: ErasureAnswer } },
    handler: async (request) => {
      const { merchantId, userId, reason } = request.body
      const result = await eraseCustomer(privacy, { merchantId, userId }, reason, contextOf(request))
      if (result.accepted) return result
      if (result.reason === 'unknown-customer') throw new RequestError('unknown-customer')
      throw new RequestError('transfers-open', {
        violation: violate('transfers-open', { trackingIds: result.trackingIds.slice(0, maxNamed).join(', ') }),
      })
    },
  })
}
