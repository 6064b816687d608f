import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import { failures, RequestError } from '../errors.js'
import type { FailWith } from '../plugins/failing.js'
import type { Gate } from '../plugins/gate.js'
import { loadAssets } from './assets.js'
import { depositOfLink, phaseOf } from './deposit-view.js'
import { type Language, languageOf, languages } from './language.js'
import { notice } from './layout.js'
import { framingOrigins, pageHeaders } from './page-headers.js'
import { paymentPage } from './payment-page.js'

const gone = 410

/** Where a hosted create's `url` leads: the page on which the customer pays, and what it loads. */
export function registerPayPage(app: App, deps: HttpDependencies, gate: Gate, failWith: FailWith): void {
  app.route({
    method: 'GET',
    url: '/pay/:link',
    schema: {
      operationId: 'showPaymentPage',
      tags: ['Payment page'],
      summary: 'Show a hosted deposit to its customer',
      description: 'The `url` of a hosted create. An HTML page, also for failures; 410 when the time to pay is over.',
      security: [],
      params: Type.Object({ link: Type.String({ description: 'As in the `url`.' }) }),
    },
    errorHandler: (error, request, reply) => {
      const { failure } = failWith(error, request, reply)
      const { unknownHeading, unknownText, troubleHeading, troubleText } = languages[requestLanguage(request)]
      const unknown = failure === failures.unknownTransfer
      const parts = { language: requestLanguage(request), assetsAt: 'assets', self: '' }
      reply
        .headers(pageHeaders())
        .send(notice(parts, unknown ? unknownHeading : troubleHeading, unknown ? unknownText : troubleText))
    },
    handler: async (request, reply) => {
      gate.chargeAddress(request)
      const found = await depositOfLink(deps, request.params.link)
      const language = requestLanguage(request)
      const now = deps.clock()
      const phase = phaseOf(found.deposit, now)
      if (phase === 'expired' || phase === 'ended') reply.code(gone)
      reply.headers({ ...pageHeaders(framingOrigins(found.settings)), 'content-language': language })
      return paymentPage(found, request.params.link, language, now)
    },
  })
  app.route({
    method: 'GET',
    url: '/pay/assets/:version/:file',
    onRequest: gate.limitAddress,
    schema: {
      operationId: 'getPageAsset',
      tags: ['Payment page'],
      summary: "The pages' scripts and styles",
      security: [],
      params: Type.Object({ version: Type.String(), file: Type.String() }),
    },
    handler: (request, reply) => sendAsset(request.params, reply),
  })
}

function sendAsset({ version, file }: { readonly version: string; readonly file: string }, reply: FastifyReply) {
  const assets = loadAssets()
  const asset = assets.files.get(file)
  if (!asset) throw new RequestError(failures.unknownRoute)
  // While an update goes from node to node, the node asked may not be the one that made the page: its own is the next best.
  const caching = version === assets.version ? 'public, max-age=31536000, immutable' : 'no-store'
  return reply
    .headers({ 'content-type': asset.type, 'cache-control': caching, 'x-content-type-options': 'nosniff' })
    .send(asset.content)
}

/** `?lang=` of the page's own switch; a parameter that is given twice, or anything else, does not count. */
export function requestLanguage({ query, headers }: FastifyRequest): Language {
  const { lang } = query as { readonly lang?: unknown }
  return languageOf(typeof lang === 'string' ? lang : undefined, headers['accept-language'])
}
