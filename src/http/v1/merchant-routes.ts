import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { toJsonNumber } from '../../domain/money.js'
import type { PaymentMethod } from '../../domain/payment-method.js'
import { keyRoutes } from './requests.js'
import { MerchantResponse } from './v1-schemas.js'

/** Adds the route with which a program checks whose key it has, and whether the merchant is a sandbox merchant. */
export const merchantRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const {
    currency: { code: currency },
    paymentMethods,
  } = app.services
  const methods = paymentMethods.map(viewOfMethod)
  app.get(
    '/v1/merchant',
    keyRoutes(app, 'read', 'Queries')('getMerchant', 'Get the merchant of your key', {
      response: { 200: MerchantResponse },
    }),
    async (request) => {
      const { merchantId, settings } = request.merchant!
      const { name, sandbox } = settings
      return { merchantId, name, sandbox, currency, paymentMethods: methods }
    },
  )
}

function viewOfMethod({ code, name, paidBy: type, kinds, minAmountMinor, maxAmountMinor }: PaymentMethod) {
  const [minAmount, maxAmount] = [toJsonNumber(minAmountMinor), toJsonNumber(maxAmountMinor)]
  return { code, name, type, kinds: [...kinds], minAmount, maxAmount }
}
