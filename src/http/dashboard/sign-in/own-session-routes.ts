import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { UserCommands } from '../../../commands/user/user-commands.js'
import { Type } from '../../../kernel/typebox.js'
import { accepted } from '../../refusals.js'
import { type SessionItem, SessionsAnswer } from '../api.js'
import { noteChange, type UserChangeOptions } from '../people/user-changes.js'
import { contextOf, type Viewer } from '../session-guard.js'
import { endOf, type Session } from './sessions.js'

export interface OwnSessionsOptions extends UserChangeOptions {
  readonly users: UserCommands
}

/** Adds the routes that list and end the user's own sessions. */
export const ownSessionRoutes: FastifyPluginAsyncTypebox<OwnSessionsOptions> = async (app, options) => {
  const { viewers } = app
  app.route({
    method: 'GET',
    url: '/sessions',
    ...viewers.allow('account:own'),
    schema: { hide: true, response: { 200: SessionsAnswer } },
    handler: async ({ viewer }) => {
      const sessions = await viewers.sessions.ofUser(viewer.userId)
      return { items: sessions.map((session) => viewOfSession(session, viewer)) }
    },
  })
  app.route({
    method: 'DELETE',
    url: '/sessions/:sessionId',
    ...viewers.allow('account:own'),
    schema: { hide: true, params: Type.Object({ sessionId: Type.String() }) },
    handler: async ({ viewer, params: { sessionId } }, reply) => {
      await viewers.sessions.end(viewer.userId, sessionId)
      if (sessionId === viewer.sessionId) viewers.cookies.clearSession(reply)
      return reply.code(204).send()
    },
  })
  app.route({
    method: 'DELETE',
    url: '/sessions',
    ...viewers.allow('account:own'),
    schema: { hide: true },
    handler: async (request, reply) => {
      accepted('user', await options.users.execute(request.viewer.userId, { type: 'EndSessions' }, contextOf(request)))
      noteChange(options, request, 'sessions-ended')
      viewers.cookies.clearSession(reply)
      return reply.code(204).send()
    },
  })
}

export function viewOfSession(session: Session, viewer: Viewer): Static<typeof SessionItem> {
  const { sessionId, createdAt, lastSeenAt, address, userAgent } = session
  const current = sessionId === viewer.sessionId
  return { sessionId, current, createdAt, lastSeenAt, expiresAt: endOf(session), address, userAgent }
}
