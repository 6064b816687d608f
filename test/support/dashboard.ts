import { randomUUID } from 'node:crypto'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { Role } from '../../src/domain/user/permissions.js'
import type { Session } from '../../src/http/dashboard/api.js'
import type { TestService } from './test-service.js'

const originOf = (app: FastifyInstance) => new URL(app.services.publicUrl).origin
const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
/** The password of every user that is created here. */
export const password = 'correct horse battery staple'

interface SignedIn {
  readonly userId: string
  readonly email: string
  readonly csrfToken: string
  readonly cookie: string
  readonly session: Session
  /** `path` is below /dashboard/api. Responses are unchanged. */
  get(path: string): Promise<LightMyRequestResponse>
  post(path: string, body?: unknown): Promise<LightMyRequestResponse>
  put(path: string, body?: unknown): Promise<LightMyRequestResponse>
  patch(path: string, body?: unknown): Promise<LightMyRequestResponse>
  delete(path: string): Promise<LightMyRequestResponse>
}

/** Creates a user with the role and signs in like a browser. `merchantIds` is for the roles of merchants. */
export async function signInAs(service: TestService, role: Role, merchantIds?: readonly string[]): Promise<SignedIn> {
  const email = `${role}-${randomUUID()}@example.com`
  const user = { email, name: `The ${role}`, role, merchantIds: merchantIds ?? null }
  const created = await service.users.create(user, context, password)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const signedIn = await signIn(service.app, { email, password })
  return { ...signedIn, userId: created.user.userId, email }
}

/** @throws Error unless the response contains a session */
export async function signIn(
  app: FastifyInstance,
  credentials: { readonly email: string; readonly password: string; readonly code?: string },
) {
  const answer = await postSession(app, credentials)
  if (answer.statusCode !== 200) throw new Error(`signed in with ${answer.statusCode}: ${answer.body}`)
  const session = answer.json<Session>()
  const { csrfToken } = session
  const cookie = answer.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const headers = { cookie, origin: originOf(app), 'x-csrf-token': csrfToken }
  const ask =
    (method: 'POST' | 'PUT' | 'PATCH') =>
    (path: string, body: unknown = {}) =>
      app.inject({ method, url: `/dashboard/api${path}`, headers, payload: body as object })
  return {
    csrfToken,
    cookie,
    session,
    get: (path: string) => app.inject({ method: 'GET', url: `/dashboard/api${path}`, headers: { cookie } }),
    post: ask('POST'),
    put: ask('PUT'),
    patch: ask('PATCH'),
    delete: (path: string) => app.inject({ method: 'DELETE', url: `/dashboard/api${path}`, headers }),
  }
}

export function postSession(
  app: FastifyInstance,
  payload: object,
  { cookie, ...rest }: { readonly cookie?: string; readonly origin?: string; readonly address?: string } = {},
) {
  const headers = { origin: rest.origin ?? originOf(app), ...(cookie !== undefined && { cookie }) }
  const remoteAddress = rest.address ?? '127.0.0.1'
  return app.inject({ method: 'POST', url: '/dashboard/api/session', headers, payload, remoteAddress })
}
