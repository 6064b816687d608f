import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DeviceConfirmation } from '../../commands/wallet/payments.js'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import { failures, RequestError } from '../errors.js'
import type { FailWith } from '../plugins/failing.js'
import type { Gate } from '../plugins/gate.js'
import { confirmedPage, devicePage } from './device-page.js'
import { languages } from './language.js'
import { notice } from './layout.js'
import { pageHeaders } from './page-headers.js'
import { requestLanguage } from './routes.js'
import { refuseCrossSite } from './same-origin.js'

const maxFormBytes = 1024
const statuses = { open: 200, confirmed: 200, expired: 410 } as const

/** The link of the e-mail about an unknown device. Mail scanners open links: only the form's POST confirms. */
export function registerDevicePage(app: App, deps: HttpDependencies, gate: Gate, failWith: FailWith): void {
  const { walletPayments } = deps
  const params = Type.Object({ link: Type.String({ description: 'As in the e-mail.' }) })
  const common = { tags: ['Payment page'], security: [], params }
  const errorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { failure } = failWith(error, request, reply)
    const language = requestLanguage(request)
    const { troubleHeading, troubleText } = languages[language]
    const parts = { language, assetsAt: '../pay/assets', self: '' }
    if (failure === failures.unknownTransfer)
      reply.headers(pageHeaders()).send(devicePage(undefined, language, deps.currency))
    else reply.headers(pageHeaders()).send(notice(parts, troubleHeading, troubleText))
  }
  const show = (confirmation: DeviceConfirmation | undefined, request: FastifyRequest, reply: FastifyReply) => {
    reply.code(confirmation ? statuses[confirmation.state] : 404).headers(pageHeaders())
    return devicePage(confirmation, requestLanguage(request), deps.currency)
  }

  app.register(async (scope) => {
    // What a form sends; nothing of it is read.
    const parser = { parseAs: 'buffer', bodyLimit: maxFormBytes } as const
    scope.addContentTypeParser('application/x-www-form-urlencoded', parser, (_request, _body, done) => done(null))
    scope.route({
      method: 'GET',
      url: '/device/:link',
      schema: { ...common, operationId: 'askToConfirmDevice', summary: 'Ask whether it is the customer who pays' },
      errorHandler,
      handler: async (request, reply) => {
        gate.chargeAddress(request)
        const { link } = request.params as { link: string }
        return show(await walletPayments.deviceConfirmation(link), request, reply)
      },
    })
    scope.route({
      method: 'POST',
      url: '/device/:link',
      schema: { ...common, operationId: 'confirmDevice', summary: 'Confirm that it is the customer who pays' },
      onRequest: async (request) => refuseCrossSite(request, deps.publicUrl),
      errorHandler,
      handler: async (request, reply) => {
        gate.chargePayment(request)
        const { link } = request.params as { link: string }
        const context = { actor: 'customer', $correlationId: request.id, $causationId: request.id }
        const result = await walletPayments.confirmDevice(link, context)
        if (!result.ok && result.reason === 'wallet-unavailable') throw new RequestError(failures.walletUnavailable)
        if (!result.ok) return show(await walletPayments.deviceConfirmation(link), request, reply)
        reply.headers(pageHeaders())
        return confirmedPage(requestLanguage(request))
      },
    })
  })
}
