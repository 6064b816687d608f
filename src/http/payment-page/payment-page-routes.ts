import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '../../kernel/typebox.js'
import { RequestError } from '../refusals.js'
import { type DepositOptions, depositOfLink, phaseOf } from './deposit-view.js'
import { devicePage } from './device-page.js'
import { loadAssets } from './page-assets.js'
import { framingOrigins, pageHeaders } from './page-headers.js'
import { languages, requestLanguage } from './page-language.js'
import { notice } from './page-layout.js'
import { paymentPage } from './payment-page.js'
import { steps } from './payment-steps.js'

export type PaymentPageOptions = DepositOptions

/** Steps of paying, for each address: many customers may share one (a mobile network), each has a few to take. */
const payments = { perSecond: 0.5, burst: 60 }
const gone = 410

/** Where a hosted create's `url` leads: the page on which the customer pays, and what it loads. */
export const paymentPageRoutes: FastifyPluginAsyncTypebox<PaymentPageOptions> = async (app, options) => {
  const common = { tags: ['Payment page'], security: [] }
  app.route({
    method: 'GET',
    url: '/pay/:link',
    schema: {
      ...common,
      operationId: 'showPaymentPage',
      summary: 'Show a hosted deposit to its customer',
      description: 'The `url` of a hosted create. An HTML page, also for failures; 410 when the time to pay is over.',
      params: Type.Object({ link: Type.String({ description: 'As in the `url`.' }) }),
    },
    errorHandler: (error, request, reply) => {
      const { refusal } = app.failWith(error, request, reply)
      const language = requestLanguage(request)
      const { unknownHeading, unknownText, troubleHeading, troubleText } = languages[language]
      const said = refusal === 'unknown-transfer' ? [unknownHeading, unknownText] : [troubleHeading, troubleText]
      reply.headers(pageHeaders()).send(notice({ language, assetsAt: 'assets', self: '' }, said[0]!, said[1]!))
    },
    handler: async (request, reply) => {
      app.gate.chargeAddress(request)
      const found = await depositOfLink(options, request.params.link)
      const language = requestLanguage(request)
      const now = options.clock()
      const phase = phaseOf(found.deposit, now)
      if (phase === 'expired' || phase === 'ended') reply.code(gone)
      reply.headers({ ...pageHeaders(framingOrigins(found.settings)), 'content-language': language })
      return paymentPage(found, request.params.link, language, now)
    },
  })
  app.route({
    method: 'GET',
    url: '/pay/assets/:version/:file',
    schema: {
      ...common,
      operationId: 'getPageAsset',
      summary: "The pages' scripts and styles",
      params: Type.Object({ version: Type.String(), file: Type.String() }),
    },
    handler: async (request, reply) => {
      app.gate.chargeAddress(request)
      const { version, file } = request.params
      const assets = loadAssets()
      const asset = assets.files.get(file)
      if (!asset) throw new RequestError('unknown-route')
      // While an update goes from node to node, the node asked may not be the one that made the page: its own is the next best.
      const caching = version === assets.version ? 'public, max-age=31536000, immutable' : 'no-store'
      return reply
        .headers({ 'content-type': asset.type, 'cache-control': caching, 'x-content-type-options': 'nosniff' })
        .send(asset.content)
    },
  })
  const stepOptions = { ...options, chargePayment: app.gate.limitEach(payments) }
  app.register(steps, stepOptions)
  app.register(devicePage, stepOptions)
}
