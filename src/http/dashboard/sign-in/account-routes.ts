import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { violate } from '../../../kernel/rules.js'
import { type SecretBox, SecretBoxError } from '../../../security/secret-box.js'
import { accepted, RequestError } from '../../refusals.js'
import { ChangePasswordRequest, SecondFactorCode, SecondFactorOffer, SessionAnswer } from '../api.js'
import { prover } from '../audit/transfer-proof-routes.js'
import { noteChange, type UserChangeOptions } from '../people/user-changes.js'
import { contextOf } from '../session-guard.js'
import { answerOf, type SessionOptions } from './session-routes.js'

export interface AccountOptions extends SessionOptions, UserChangeOptions {
  readonly secretBox: SecretBox
}

/** Adds the routes for the user's own password and second factor. */
export const accountRoutes: FastifyPluginAsyncTypebox<AccountOptions> = async (app, options) => {
  const { users, secretBox } = options
  const { viewers } = app
  const prove = prover(app, options)
  const recently = viewers.allow('account:own', { recent: true })
  const schema = { hide: true, response: { 200: SessionAnswer } }

  app.route({
    method: 'PUT',
    url: '/session/password',
    ...viewers.allow('account:own', { withFirstPassword: true }),
    schema: { ...schema, body: ChangePasswordRequest },
    handler: async (request, reply) => {
      const { user: before, session } = request.visit!
      const { current, next } = request.body
      // The sign-in of this session has already checked the code.
      await prove({ email: users.emailOf(before), password: current, purpose: 'PasswordOnly' }, request, reply)
      const { user } = accepted('user', await users.changePassword(before, { current, next }, contextOf(request)))
      noteChange(options, request, 'password')
      // This ends all sessions, including this one, so that a stolen session becomes useless.
      await viewers.sessions.end(user.userId, session.sessionId)
      return answerOf(options, await viewers.begin(user, request, reply))
    },
  })
  app.route({
    method: 'POST',
    url: '/session/second-factor',
    ...recently,
    schema: { hide: true, response: { 200: SecondFactorOffer } },
    handler: async ({ visit }) => {
      const { user, session } = visit!
      const offer = users.offerSecondFactor(user)
      await viewers.sessions.offerSecret(session, secretBox.seal(offer.secret, offered(session.sessionId)))
      return offer
    },
  })
  app.route({
    method: 'PUT',
    url: '/session/second-factor',
    ...recently,
    schema: { ...schema, body: SecondFactorCode },
    handler: async (request) => {
      const { user: before, session, csrfToken } = request.visit!
      if (session.offeredSecret === null)
        throw new RequestError('user-conflict', { violation: violate('offer-missing') })
      const secret = opened(secretBox, session.offeredSecret, offered(session.sessionId))
      const set = await users.setSecondFactor(before.userId, secret, request.body.code, contextOf(request))
      const { user } = accepted('user', set)
      noteChange(options, request, 'second-factor-set')
      return answerOf(options, { user, session: await viewers.sessions.offerSecret(session, null), csrfToken })
    },
  })
  app.route({
    method: 'DELETE',
    url: '/session/second-factor',
    ...recently,
    schema,
    handler: async (request) => {
      const { user: before, session, csrfToken } = request.visit!
      const { user } = accepted(
        'user',
        await users.execute(before.userId, { type: 'RemoveSecondFactor' }, contextOf(request)),
      )
      noteChange(options, request, 'second-factor-removed')
      return answerOf(options, { user, session, csrfToken })
    },
  })
}

/** An offer that the current master key cannot open is invalid, and the user starts again. */
function opened(box: SecretBox, sealed: string, owner: string): string {
  try {
    return box.open(sealed, owner)
  } catch (error) {
    if (error instanceof SecretBoxError)
      throw new RequestError('user-conflict', { violation: violate('offer-missing') })
    throw error
  }
}

/** Binds the sealed secret to this session as associated data. */
function offered(sessionId: string): string {
  return `session:${sessionId}:second factor`
}
