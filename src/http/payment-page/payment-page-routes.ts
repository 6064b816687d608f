import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '../../kernel/typebox.js'
import { sendLogo } from '../merchant-logo.js'
import { RequestError } from '../refusals.js'
import { sendWebFile } from '../web-files.js'
import { depositOfLink, phaseOf } from './deposit-view.js'
import { devicePage } from './device-page.js'
import { requestLanguage } from './page-language.js'
import { failurePage, framingOrigins, loadAssets, pageHeaders } from './page-layout.js'
import { paymentPage } from './payment-page.js'
import { steps } from './payment-steps.js'

/** Payment steps per address: many customers can share one (a mobile network), and each takes a few. */
const payments = { perSecond: 0.5, burst: 60 }
const gone = 410

/** Adds the page at the `url` of a hosted create, on which the customer pays, and its assets. */
export const paymentPageRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const common = { tags: ['Payment page'], security: [] }
  const shown = {
    ...common,
    operationId: 'showPaymentPage',
    summary: 'Show a hosted deposit to its customer',
    description: 'The `url` of a hosted create. An HTML page, including for failures; 410 if the deposit has expired.',
    params: Type.Object({ link: Type.String({ description: 'The last part of the `url`.' }) }),
  }
  const errorHandler = failurePage(app, 'assets', 'unknown')
  app.get('/pay/:link', { schema: shown, errorHandler }, async (request, reply) => {
    app.gate.chargeAddress(request)
    const { link } = request.params
    const found = await depositOfLink(app.services, link)
    const language = requestLanguage(request)
    const now = app.services.clock()
    const phase = phaseOf(found.deposit, now)
    if (phase === 'expired' || phase === 'ended') reply.code(gone)
    reply.headers({ ...pageHeaders(framingOrigins(found.settings)), 'content-language': language })
    return paymentPage(found, { link, installationName: app.services.installationName }, language, now)
  })
  const logo = {
    ...common,
    operationId: 'getMerchantLogo',
    summary: "Get the logo of the deposit's merchant",
    description: 'The image that the operator or the merchant has set.',
    params: shown.params,
  }
  app.get('/pay/:link/logo', { schema: logo }, async (request, reply) => {
    app.gate.chargeAddress(request)
    const { logoSha256 } = await depositOfLink(app.services, request.params.link)
    return sendLogo(reply, logoSha256)
  })
  const asset = {
    ...common,
    operationId: 'getPageAsset',
    summary: "Get the pages' scripts and styles",
    description: 'The pages link to them. A URL with the current version can be cached forever.',
    params: Type.Object({
      version: Type.String({ description: 'Changes when a file changes.' }),
      file: Type.String({ description: 'The name of the file.' }),
    }),
  }
  app.get('/pay/assets/:version/:file', { schema: asset }, async (request, reply) => {
    app.gate.chargeAddress(request)
    const { version, file } = request.params
    const assets = loadAssets()
    const found = assets.files.get(file)
    if (!found) throw new RequestError('unknown-route')
    // During a rolling update, a different node may have served the page. This node's asset is the best substitute.
    const caching = version === assets.version ? 'public, max-age=31536000, immutable' : 'no-store'
    return sendWebFile(found, request, reply, caching)
  })
  const limits = { chargePayment: app.gate.limitEach(payments) }
  app.register(steps, limits)
  app.register(devicePage, limits)
}
