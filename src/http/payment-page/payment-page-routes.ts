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

/** Payment steps per address: many customers can share one (a mobile network), and each takes a few. */
const payments = { perSecond: 0.5, burst: 60 }
const gone = 410

/** Adds the page at the `url` of a hosted create, on which the customer pays, and its assets. */
export const paymentPageRoutes: FastifyPluginAsyncTypebox<PaymentPageOptions> = async (app, options) => {
  const common = { tags: ['Payment page'], security: [] }
  app.route({
    method: 'GET',
    url: '/pay/:link',
    schema: {
      ...common,
      operationId: 'showPaymentPage',
      summary: 'Show a hosted deposit to its customer',
      description:
        'The `url` of a hosted create. An HTML page, including for failures; 410 if the deposit has expired.',
      params: Type.Object({ link: Type.String({ description: 'The last part of the `url`.' }) }),
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
      summary: "Get the pages' scripts and styles",
      params: Type.Object({ version: Type.String(), file: Type.String() }),
    },
    handler: async (request, reply) => {
      app.gate.chargeAddress(request)
      const { version, file } = request.params
      const assets = loadAssets()
      const asset = assets.files.get(file)
      if (!asset) throw new RequestError('unknown-route')
      // During a rolling update, a different node may have served the page. This node's asset is the best substitute.
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
