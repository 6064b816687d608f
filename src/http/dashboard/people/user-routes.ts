import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { UserCommands, UserDirectory } from '../../../commands/user/user-commands.js'
import type { User } from '../../../domain/user/user.js'
import { Type } from '../../../kernel/typebox.js'
import { accepted, RequestError } from '../../refusals.js'
import { ChangeRoleRequest, CreateUserRequest, IssuedPassword, SessionsAnswer, UserItem, UsersAnswer } from '../api.js'
import { contextOf } from '../session-guard.js'
import { viewOfSession } from '../sign-in/own-session-routes.js'
import { noteChange, type UserChangeOptions } from './user-changes.js'

export interface UsersOptions extends UserChangeOptions {
  readonly users: UserCommands
  readonly userDirectory: UserDirectory
}

const params = Type.Object({ userId: Type.String() })

/** Adds the routes for users and their roles. */
export const userRoutes: FastifyPluginAsyncTypebox<UsersOptions> = async (app, options) => {
  const { users, userDirectory } = options
  const manage = app.viewers.allow('users:manage', { recent: true })
  const read = app.viewers.allow('users:read')
  const answered = (user: User) => viewOf(users, user)

  app.route({
    method: 'GET',
    url: '/users',
    ...read,
    schema: { hide: true, response: { 200: UsersAnswer } },
    handler: async () => {
      await userDirectory.catchUp()
      const latestFirst = userDirectory.all().sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
      return { items: latestFirst.map(answered) }
    },
  })
  app.route({
    method: 'POST',
    url: '/users',
    ...manage,
    schema: { hide: true, body: CreateUserRequest, response: { 200: IssuedPassword } },
    handler: async (request) => {
      const { email, name, role, merchantIds = null } = request.body
      const { user, password } = accepted(
        'user',
        await users.create({ email, name, role, merchantIds }, contextOf(request)),
      )
      noteChange(options, request, 'created', user.userId)
      return { user: answered(user), password }
    },
  })
  app.route({
    method: 'PUT',
    url: '/users/:userId/role',
    ...manage,
    schema: { hide: true, params, body: ChangeRoleRequest, response: { 200: UserItem } },
    handler: async (request) => {
      const { role, merchantIds = null } = request.body
      const { userId } = request.params
      const { user } = accepted('user', await users.changeRole(userId, { role, merchantIds }, contextOf(request)))
      noteChange(options, request, 'role', userId)
      return answered(user)
    },
  })
  for (const [url, change] of [
    ['/users/:userId/disable', 'disabled'],
    ['/users/:userId/enable', 'enabled'],
  ] as const) {
    app.route({
      method: 'POST',
      url,
      ...manage,
      schema: { hide: true, params, response: { 200: UserItem } },
      handler: async (request) => {
        const { userId } = request.params
        const context = contextOf(request)
        const done =
          change === 'disabled' ? users.disable(userId, context) : users.execute(userId, { type: 'Enable' }, context)
        const { user } = accepted('user', await done)
        noteChange(options, request, change, userId)
        return answered(user)
      },
    })
  }
  app.route({
    method: 'POST',
    url: '/users/:userId/reset',
    ...manage,
    schema: { hide: true, params, response: { 200: IssuedPassword } },
    handler: async (request) => {
      const { userId } = request.params
      const { user, password } = accepted('user', await users.reset(userId, contextOf(request)))
      noteChange(options, request, 'reset', userId)
      return { user: answered(user), password }
    },
  })
  app.route({
    method: 'GET',
    url: '/users/:userId/sessions',
    ...read,
    schema: { hide: true, params, response: { 200: SessionsAnswer } },
    handler: async ({ params: { userId }, viewer }) => {
      if (!userDirectory.byId(userId)) throw new RequestError('unknown-user')
      const sessions = await app.viewers.sessions.ofUser(userId)
      return { items: sessions.map((session) => viewOfSession(session, viewer)) }
    },
  })
  app.route({
    method: 'DELETE',
    url: '/users/:userId/sessions',
    ...manage,
    schema: { hide: true, params },
    handler: async (request, reply) => {
      const { userId } = request.params
      accepted('user', await users.execute(userId, { type: 'EndSessions' }, contextOf(request)))
      noteChange(options, request, 'sessions-ended', userId)
      return reply.code(204).send()
    },
  })
}

function viewOf(users: UserCommands, user: User): Static<typeof UserItem> {
  const { userId, name, role, merchantIds, disabled, mustChangePassword, createdAt, lastSignInAt } = user
  return {
    ...{ userId, email: users.shownEmailOf(user), name, role, merchantIds: merchantIds && [...merchantIds] },
    ...{ disabled, mustChangePassword, hasSecondFactor: user.secondFactor !== null, createdAt, lastSignInAt },
  }
}
