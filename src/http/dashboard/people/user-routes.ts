import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { User } from '../../../domain/user/user.js'
import { Type } from '../../../kernel/typebox.js'
import { accepted, RequestError } from '../../refusals.js'
import { ChangeRoleRequest, CreateUserRequest, IssuedPassword, SessionsAnswer, UserItem, UsersAnswer } from '../api.js'
import { actorNames, contextOf, noteUserChange } from '../session-guard.js'
import { viewOfSession } from '../sign-in/session-routes.js'

const params = Type.Object({ userId: Type.String() })

/** Adds the routes for users and their roles. */
export const userRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { users, userDirectory } = app.services
  const manage = app.viewers.allow('users:manage')
  const read = app.viewers.allow('users:read')
  const viewOf = (user: User, request: FastifyRequest): Static<typeof UserItem> => {
    const { userId, name, role, merchantIds, disabled, mustChangePassword, createdAt, lastSignInAt } = user
    const shown = { userId, name, role, merchantIds, disabled, mustChangePassword, createdAt, lastSignInAt }
    const heldBy = user.heldBy.map(actorNames(request))
    return { ...shown, heldBy, email: users.shownEmailOf(user), hasSecondFactor: user.secondFactor !== null }
  }

  app.get('/users', read({}, UsersAnswer), async (request) => {
    await userDirectory.catchUp()
    const latestFirst = userDirectory.all().sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
    return { items: latestFirst.map((user) => viewOf(user, request)) }
  })
  app.post('/users', manage({ body: CreateUserRequest }, IssuedPassword), async (request) => {
    const { email, name, role, merchantIds = null } = request.body
    const created = await users.create({ email, name, role, merchantIds }, contextOf(request))
    const { user, password } = accepted('user', created)
    noteUserChange(request, 'created', user.userId)
    return { user: viewOf(user, request), password }
  })
  app.put('/users/:userId/role', manage({ params, body: ChangeRoleRequest }, UserItem), async (request) => {
    const { role, merchantIds = null } = request.body
    const { userId } = request.params
    const { user } = accepted('user', await users.changeRole(userId, { role, merchantIds }, contextOf(request)))
    noteUserChange(request, 'role', userId)
    return viewOf(user, request)
  })
  for (const [action, method, change] of [
    ['disable', 'disable', 'disabled'],
    ['enable', 'enable', 'enabled'],
    ['confirm', 'confirmAccess', 'access-confirmed'],
  ] as const) {
    app.post(`/users/:userId/${action}`, manage({ params }, UserItem), async (request) => {
      const { userId } = request.params
      const { user } = accepted('user', await users[method](userId, contextOf(request)))
      noteUserChange(request, change, userId)
      return viewOf(user, request)
    })
  }
  app.post('/users/:userId/reset', manage({ params }, IssuedPassword), async (request) => {
    const { userId } = request.params
    const { user, password } = accepted('user', await users.reset(userId, contextOf(request)))
    noteUserChange(request, 'reset', userId)
    return { user: viewOf(user, request), password }
  })
  app.get('/users/:userId/sessions', read({ params }, SessionsAnswer), async ({ params: { userId }, viewer }) => {
    if (!userDirectory.byId(userId)) throw new RequestError('unknown-user')
    const sessions = await app.viewers.sessions.ofUser(userId)
    return { items: sessions.map((session) => viewOfSession(session, viewer)) }
  })
  app.delete('/users/:userId/sessions', manage({ params }), async (request, reply) => {
    const { userId } = request.params
    accepted('user', await users.execute(userId, { type: 'EndSessions' }, contextOf(request)))
    noteUserChange(request, 'sessions-ended', userId)
    return reply.code(204).send()
  })
}
