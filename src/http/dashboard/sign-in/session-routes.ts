import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { MerchantDirectory } from '../../../commands/merchant/merchant-directory.js'
import type { UserCommands } from '../../../commands/user/user-commands.js'
import type { Currency } from '../../../domain/money.js'
import { namesOf, type PaymentMethod } from '../../../domain/payment-method.js'
import { permissionsOf } from '../../../domain/user/permissions.js'
import { ConfirmRequest, SessionAnswer, SignInRequest } from '../api.js'
import { type ProofOptions, prover } from '../audit/transfer-proof-routes.js'
import { recentUntil, type Visit } from './sessions.js'

export interface SessionOptions extends ProofOptions {
  readonly users: UserCommands
  readonly directory: MerchantDirectory
  readonly currency: Currency
  readonly paymentMethods: readonly PaymentMethod[]
  /** Returns whether there is no live merchant. */
  readonly inSandbox: () => boolean
}

/** Adds the routes to sign in, to sign out, and to get the signed-in user. */
export const sessionRoutes: FastifyPluginAsyncTypebox<SessionOptions> = async (app, options) => {
  const { users } = options
  const { viewers } = app
  const prove = prover(app, options)
  const schema = { hide: true, response: { 200: SessionAnswer } }

  app.route({
    method: 'POST',
    url: '/session',
    onRequest: async (request) => viewers.refuseOtherSites(request),
    schema: { ...schema, body: SignInRequest },
    handler: async (request, reply) => {
      const { email, password, code } = request.body
      const user = await prove({ email, password, code, purpose: 'SignIn' }, request, reply)
      return answerOf(options, await viewers.begin(user, request, reply))
    },
  })
  app.route({
    method: 'GET',
    url: '/session',
    ...viewers.allow('account:own', { withFirstPassword: true }),
    schema,
    handler: async ({ visit }) => answerOf(options, visit!),
  })
  app.route({
    method: 'DELETE',
    url: '/session',
    ...viewers.allow('account:own', { withFirstPassword: true }),
    schema: { hide: true },
    handler: async ({ viewer }, reply) => {
      await viewers.sessions.end(viewer.userId, viewer.sessionId)
      viewers.cookies.clearSession(reply)
      return reply.code(204).send()
    },
  })
  app.route({
    method: 'POST',
    url: '/session/confirm',
    ...viewers.allow('account:own'),
    schema: { ...schema, body: ConfirmRequest },
    handler: async (request, reply) => {
      const { password, code } = request.body
      const { session, user, csrfToken } = request.visit!
      await prove({ email: users.emailOf(user), password, code, purpose: 'Confirm' }, request, reply)
      const confirmed = await viewers.sessions.confirm(session)
      return answerOf(options, { session: confirmed, user, csrfToken })
    },
  })
}

export function answerOf(
  { users, directory, currency, paymentMethods, inSandbox }: SessionOptions,
  { session, user, csrfToken }: Visit,
): Static<typeof SessionAnswer> {
  const { userId, name, role, merchantIds, mustChangePassword } = user
  const seen = directory.all().filter(({ merchantId }) => merchantIds === null || merchantIds.includes(merchantId))
  return {
    user: {
      userId,
      email: users.emailOf(user),
      name,
      role,
      merchantIds: merchantIds && [...merchantIds],
      hasSecondFactor: user.secondFactor !== null,
    },
    permissions: [...permissionsOf(role)],
    csrfToken,
    mustChangePassword,
    recentUntil: recentUntil(session),
    merchants: seen.map(({ merchantId, settings: { name, sandbox } }) => ({ merchantId, name, sandbox })),
    currency: { code: currency.code, digits: currency.decimals },
    paymentMethods: paymentMethods.map((method) => ({
      code: method.code,
      names: namesOf(method),
      paidBy: method.paidBy,
    })),
    sandbox: inSandbox(),
  }
}
