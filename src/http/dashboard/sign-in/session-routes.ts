import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignInAttempt } from '../../../commands/user/login-guard.js'
import { violate } from '../../../domain/decider.js'
import { namesOf } from '../../../domain/payment-method.js'
import { permissionsOf } from '../../../domain/user/permissions.js'
import type { User } from '../../../domain/user/user.js'
import { Type } from '../../../kernel/typebox.js'
import { type SecretBox, SecretBoxError } from '../../../security/secret-box.js'
import { bucketOf } from '../../../security/token-buckets.js'
import { refuseCrossSite } from '../../payment-page/page-layout.js'
import { accepted, RequestError } from '../../refusals.js'
import {
  ChangePasswordRequest,
  ConfirmRequest,
  RecoveryCodes,
  SecondFactorCode,
  SecondFactorOffer,
  type SessionItem,
  SessionResponse,
  SessionsResponse,
  SignInRequest,
} from '../api.js'
import { noteUserChange, userContext, type Viewer } from '../session-guard.js'
import { endOf, recentUntil, type Session, type Visit } from './sessions.js'

/** The limit of password checks per address, which an office may share. */
const proofs = { perSecond: 0.5, burst: 30 }

/** Adds the routes to sign in and out, and those for the user's own sessions, password and second factor. */
export const sessionRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { viewers } = app
  const { users, directory, currency, paymentMethods, inSandbox, secretBox, securityLog, signIn } = app.services
  const own = viewers.allow('account:own')
  const recently = viewers.allow('account:own', { recent: 'always' })
  const withFirstPassword = viewers.allow('account:own', { withFirstPassword: true })
  const chargeSignIn = app.gate.limitEach(proofs)

  const schema = { body: SignInRequest, response: { 200: SessionResponse } }
  app.post('/session', { onRequest: refuseCrossSite, schema }, async (request, reply) => {
    const { email, password, code } = request.body
    const user = await prove({ email, password, code, purpose: 'SignIn' }, request, reply)
    return responseOf(await viewers.begin(user, request, reply))
  })
  app.get('/session', withFirstPassword({}, SessionResponse), async ({ visit }) => responseOf(visit!))
  app.delete('/session', withFirstPassword(), async ({ viewer }, reply) => {
    await viewers.sessions.end(viewer.userId, viewer.sessionId)
    viewers.cookies.clearSession(reply)
    return reply.code(204).send()
  })
  app.post('/session/confirm', own({ body: ConfirmRequest }, SessionResponse), async (request, reply) => {
    const { password, code } = request.body
    const { session, user, csrfToken } = request.visit!
    await prove({ email: users.emailOf(user), password, code, purpose: 'Confirm' }, request, reply)
    return responseOf({ session: await viewers.sessions.confirm(session), user, csrfToken })
  })
  app.put(
    '/session/password',
    withFirstPassword({ body: ChangePasswordRequest }, SessionResponse),
    async (request, reply) => {
      const { user: before, session } = request.visit!
      const { current, next, code } = request.body
      // Check the new password first, because the proof uses up the code.
      accepted('user', (await users.passwordRefusal(before, { current, next })) ?? { accepted: true })
      await prove({ email: users.emailOf(before), password: current, code, purpose: 'Confirm' }, request, reply)
      const { user } = accepted('user', await users.changePassword(before, { current, next }, userContext(request)))
      noteUserChange(request, 'password')
      // This ends all sessions, including this one, so that a stolen session becomes useless.
      await viewers.sessions.end(user.userId, session.sessionId)
      return responseOf(await viewers.begin(user, request, reply, session.authenticatedAt))
    },
  )
  app.post('/session/second-factor', recently({}, SecondFactorOffer), async ({ visit }) => {
    const { user, session } = visit!
    const offer = users.offerSecondFactor(user, app.services.installationName)
    await viewers.sessions.offerSecret(session, secretBox.seal(offer.secret, offered(session.sessionId)))
    return offer
  })
  app.put('/session/second-factor', recently({ body: SecondFactorCode }, SessionResponse), async (request) => {
    const { user: before, session, csrfToken } = request.visit!
    const secret = offeredSecret(secretBox, session)
    const set = await users.setSecondFactor(before.userId, secret, request.body.code, userContext(request))
    const { user } = accepted('user', set)
    noteUserChange(request, 'second-factor-set')
    return responseOf({ user, session: await viewers.sessions.offerSecret(session, null), csrfToken })
  })
  app.delete('/session/second-factor', recently({}, SessionResponse), async (request) => {
    const { user: before, session, csrfToken } = request.visit!
    const removed = await users.execute(before.userId, { type: 'RemoveSecondFactor' }, userContext(request))
    const { user } = accepted('user', removed)
    noteUserChange(request, 'second-factor-removed')
    return responseOf({ user, session, csrfToken })
  })
  app.post('/session/recovery-codes', recently({}, RecoveryCodes), async (request) => {
    const issued = await users.issueRecoveryCodes(request.viewer.userId, userContext(request))
    const { codes } = accepted('user', issued)
    noteUserChange(request, 'recovery-codes-issued')
    return { codes }
  })
  app.get('/sessions', own({}, SessionsResponse), async ({ viewer }) => {
    const sessions = await viewers.sessions.ofUser(viewer.userId)
    return { items: sessions.map((session) => viewOfSession(session, viewer)) }
  })
  const params = Type.Object({ sessionId: Type.String() })
  app.delete('/sessions/:sessionId', own({ params }), async ({ viewer, params: { sessionId } }, reply) => {
    await viewers.sessions.end(viewer.userId, sessionId)
    if (sessionId === viewer.sessionId) viewers.cookies.clearSession(reply)
    return reply.code(204).send()
  })
  app.delete('/sessions', own(), async (request, reply) => {
    accepted('user', await users.execute(request.viewer.userId, { type: 'EndSessions' }, userContext(request)))
    noteUserChange(request, 'sessions-ended')
    viewers.cookies.clearSession(reply)
    return reply.code(204).send()
  })

  /** Checks a password, and a code if the user has a second factor. @throws RequestError if one is wrong */
  async function prove(
    claim: Omit<SignInAttempt, 'address' | 'deviceCookie'>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<User> {
    chargeSignIn(request)
    const deviceCookie = viewers.cookies.device(request)
    const context = { actor: 'system:sign-in', $correlationId: request.id, $causationId: request.id }
    const result = await signIn({ ...claim, deviceCookie, address: bucketOf(request.ip) }, context)
    switch (result.outcome) {
      case 'accepted':
        viewers.cookies.setDevice(reply, result.deviceCookie)
        if (result.value.usedRecoveryCode) noteRecoveryCode(request, result.value.user)
        return result.value.user
      case 'locked':
        throw new RequestError('login-throttled', { retryAfterSeconds: result.retryAfterSeconds })
      case 'unfinished':
        throw new RequestError('second-factor-needed')
      case 'code-used':
        throw new RequestError('code-used')
      case 'refused':
        throw new RequestError('sign-in-wrong')
      default:
        return result satisfies never
    }
  }

  function noteRecoveryCode({ id: requestId, ip: address }: FastifyRequest, { userId }: User): void {
    const change = 'recovery-code-used'
    securityLog.note('security.user_changed', { requestId, address, userId, subject: userId, change })
  }

  function responseOf({ session, user, csrfToken }: Visit): Static<typeof SessionResponse> {
    const { userId, name, role, merchantIds, mustChangePassword } = user
    const [hasSecondFactor, recoveryCodesLeft] = [user.secondFactor !== null, user.recoveryCodes.length]
    const seen = directory.all().filter(({ merchantId }) => merchantIds?.includes(merchantId) ?? true)
    return {
      user: { userId, email: users.emailOf(user), name, role, merchantIds, hasSecondFactor, recoveryCodesLeft },
      permissions: permissionsOf(role),
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
}

/** Opens the offered second factor. One that the current master key cannot open is invalid, and the user starts again. @throws RequestError */
function offeredSecret(box: SecretBox, { sessionId, offeredSecret: sealed }: Session): string {
  const missing = new RequestError('user-conflict', { violation: violate('offer-missing') })
  if (sealed === null) throw missing
  try {
    return box.open(sealed, offered(sessionId))
  } catch (error) {
    throw error instanceof SecretBoxError ? missing : error
  }
}

/** Binds the sealed secret to this session as associated data. */
function offered(sessionId: string): string {
  return `session:${sessionId}:second factor`
}

export function viewOfSession(session: Session, viewer: Viewer): SessionItem {
  const { sessionId, createdAt, lastSeenAt, address, userAgent } = session
  const current = sessionId === viewer.sessionId
  return { sessionId, current, createdAt, lastSeenAt, expiresAt: endOf(session), address, userAgent }
}
