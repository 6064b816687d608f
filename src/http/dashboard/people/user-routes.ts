import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { User } from '../../../domain/user/user.js'
import { Type } from '../../../kernel/typebox.js'
import { accepted, RequestError } from '../../refusals.js'
import {
  ChangeRoleRequest,
  CreateUserRequest,
  IssuedPassword,
  PlainAction,
  SessionsResponse,
  UserItem,
  UsersResponse,
} from '../api.js'
import { actorNames, noteUserChange, userContext } from '../session-guard.js'
import { viewOfSession } from '../sign-in/session-routes.js'

const params = Type.Object({ userId: Type.String() })
/** A user and the revision of its state. */
type Shown = { readonly user: User; readonly revision: number }

/** Adds the routes for users and their roles. */
export const userRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { users, userDirectory } = app.services
  const manage = app.viewers.allow('users:manage')
  const read = app.viewers.allow('users:read')
  const viewOf = (request: FastifyRequest, { user, revision }: Shown): UserItem => {
    const { userId, name, role, merchantIds, disabled, mustChangePassword, createdAt, lastSignInAt } = user
    const shown = { userId, name, role, merchantIds, disabled, mustChangePassword, createdAt, lastSignInAt }
    const heldBy = user.heldBy.map(actorNames(request))
    return { ...shown, revision, heldBy, email: users.shownEmailOf(user), hasSecondFactor: user.secondFactor !== null }
  }

  app.get('/users', read({}, UsersResponse), async (request) => {
    await userDirectory.catchUp()
    const latestFirst = userDirectory.all().sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
    const shown = latestFirst.map((user) => ({ user, revision: userDirectory.revisionOf(user.userId) }))
    return { items: shown.map((each) => viewOf(request, each)) }
  })
  app.post('/users', manage({ body: CreateUserRequest }, IssuedPassword), async (request) => {
    const { email, name, role, merchantIds = null } = request.body
    const created = await users.create({ email, name, role, merchantIds }, userContext(request))
    const { password, ...issued } = accepted('user', created)
    noteUserChange(request, 'created', issued.user.userId)
    return { user: viewOf(request, issued), password }
  })
  app.put('/users/:userId/role', manage({ params, body: ChangeRoleRequest }, UserItem), async (request) => {
    const { role, merchantIds = null, revision } = request.body
    const { userId } = request.params
    const result = await users.changeRole(userId, { role, merchantIds }, userContext(request), revision)
    const changed = accepted('user', result, actorNames(request))
    noteUserChange(request, 'role', userId)
    return viewOf(request, changed)
  })
  app.post('/users/:userId/disable', manage({ params }, UserItem), async (request) => {
    const { userId } = request.params
    const disabled = accepted('user', await users.disable(userId, userContext(request)))
    noteUserChange(request, 'disabled', userId)
    return viewOf(request, disabled)
  })
  const seen = manage({ params, body: PlainAction }, UserItem)
  app.post('/users/:userId/enable', seen, async (request) => {
    const { userId } = request.params
    const result = await users.enable(userId, userContext(request), request.body.revision)
    const enabled = accepted('user', result, actorNames(request))
    noteUserChange(request, 'enabled', userId)
    return viewOf(request, enabled)
  })
  app.post('/users/:userId/confirm', seen, async (request) => {
    const { userId } = request.params
    const result = await users.confirmAccess(userId, request.body.revision, userContext(request))
    const confirmed = accepted('user', result, actorNames(request))
    noteUserChange(request, 'access-confirmed', userId)
    return viewOf(request, confirmed)
  })
  app.post('/users/:userId/reset', manage({ params }, IssuedPassword), async (request) => {
    const { userId } = request.params
    const { password, ...issued } = accepted('user', await users.reset(userId, userContext(request)))
    noteUserChange(request, 'reset', userId)
    return { user: viewOf(request, issued), password }
  })
  app.get('/users/:userId/sessions', read({ params }, SessionsResponse), async ({ params: { userId }, viewer }) => {
    if (!userDirectory.byId(userId)) throw new RequestError('unknown-user')
    const sessions = await app.viewers.sessions.ofUser(userId)
    return { items: sessions.map((session) => viewOfSession(session, viewer)) }
  })
  app.delete('/users/:userId/sessions', manage({ params }), async (request, reply) => {
    const { userId } = request.params
    accepted('user', await users.execute(userId, { type: 'EndSessions' }, userContext(request)))
    noteUserChange(request, 'sessions-ended', userId)
    return reply.code(204).send()
  })
}
