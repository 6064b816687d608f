import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Currency } from '../../domain/money.js'
import { Type } from '../../kernel/typebox.js'
import type { DeviceConfirmation } from '../../wallet/payments/wallet-payments.js'
import { html } from '../html.js'
import { RequestError } from '../refusals.js'
import { endDeadline } from '../server/request-deadline.js'
import { fill, formatMoney, languages, requestLanguage } from './page-language.js'
import { failurePage, notice, type PageParts, page, pageHeaders, refuseCrossSite } from './page-layout.js'
import { customerContext, type PaymentLimits } from './payment-steps.js'

const maxFormBytes = 1024
const assetsAt = '../pay/assets'
const statuses = { open: 200, confirmed: 200, expired: 410 } as const

/** Adds the page at the link of the email about a new device. Only the form's POST confirms, because mail scanners open links. */
export const devicePage: FastifyPluginAsyncTypebox<PaymentLimits> = async (app, { chargePayment }) => {
  const { walletPayments, currency, installationName } = app.services
  const params = Type.Object({ link: Type.String({ description: 'The link in the email.' }) })
  const common = { tags: ['Payment page'], security: [], params }
  app.setErrorHandler(failurePage(app, assetsAt, 'confirmUnknown'))
  app.addHook('preHandler', endDeadline)
  const show = async (link: string, request: FastifyRequest, reply: FastifyReply) => {
    const confirmation = await walletPayments.deviceConfirmation(link)
    reply.code(confirmation ? statuses[confirmation.state] : 404).headers(pageHeaders())
    const parts = { language: requestLanguage(request), installationName, assetsAt, self: '' }
    return question(confirmation, parts, currency)
  }

  // The content type of a form, whose fields are not read.
  const parser = { parseAs: 'buffer', bodyLimit: maxFormBytes } as const
  app.addContentTypeParser('application/x-www-form-urlencoded', parser, (_request, _body, done) => done(null))
  const ask = {
    operationId: 'getDeviceQuestion',
    summary: 'Show the question whether the customer is paying',
    description: 'An HTML page, including for failures. It confirms nothing, because mail programs follow links.',
  }
  app.get('/device/:link', { schema: { ...common, ...ask } }, async (request, reply) => {
    app.gate.chargeAddress(request)
    return show(request.params.link, request, reply)
  })
  const confirm = {
    ...common,
    operationId: 'confirmDevice',
    summary: 'Confirm that the customer is paying',
    description: 'The button of the question. An HTML page, including for failures.',
  }
  app.post('/device/:link', { schema: confirm, onRequest: refuseCrossSite }, async (request, reply) => {
    chargePayment(request)
    const { link } = request.params
    const result = await walletPayments.confirmDevice(link, customerContext(request))
    if (!result.ok && result.reason === 'wallet-unavailable') throw new RequestError('wallet-unavailable')
    if (!result.ok) return show(link, request, reply)
    reply.headers(pageHeaders())
    return notice({ language: requestLanguage(request), installationName, assetsAt, self: '' }, 'confirmed')
  })
}

/** Returns the page that the email's button opens. The page's button confirms, with a form that needs no script. */
function question(
  confirmation: DeviceConfirmation | undefined,
  parts: Omit<PageParts, 'title' | 'body'>,
  currency: Currency,
): string {
  const { language } = parts
  const texts = languages[language]
  if (!confirmation) return notice(parts, 'confirmUnknown')
  const { merchantName: merchant, amountMinor, state } = confirmation
  switch (state) {
    case 'confirmed':
      return notice(parts, 'confirmUsed')
    case 'expired':
      return notice(parts, 'confirmExpired')
    case 'open': {
      const amount = formatMoney(language, currency, amountMinor)
      const body = html`<main class="card"><h1>${fill(texts.confirmHeading, { merchant })}</h1>
<p>${fill(texts.confirmText, { merchant })}</p><p><strong>${fill(texts.confirmAmount, { amount })}</strong></p>
<form method="post" action="?lang=${language}"><button type="submit">${texts.confirmSubmit}</button></form>
<p class="aside">${texts.confirmOtherwise}</p></main>`
      return page({ ...parts, title: texts.confirmTitle, body })
    }
    default:
      return state satisfies never
  }
}
