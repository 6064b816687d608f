import cookie from '@fastify/cookie'
import type { TSchema } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import fp from 'fastify-plugin'
import type { CommandContext } from '../../commands/handle-command.js'
import { violate } from '../../domain/decider.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { isAllowed, needsRecentSignIn, type Permission } from '../../domain/user/permissions.js'
import type { User } from '../../domain/user/user.js'
import { storedUuid } from '../../kernel/uuid.js'
import type { ReadBy } from '../../readers/readers.js'
import { TokenBuckets } from '../../security/token-buckets.js'
import { refuseCrossSite } from '../payment-page/page-layout.js'
import { cookieScope } from '../public-url.js'
import { type RefusalName, RequestError } from '../refusals.js'
import type { HttpServices } from '../services.js'
import { isSame, type Session, Sessions, type Visit } from './sign-in/sessions.js'

/** The signed-in user, as far as routes need it. */
export type Viewer = Pick<User, 'userId' | 'role' | 'merchantIds'> & Pick<Session, 'sessionId'>

declare module 'fastify' {
  interface FastifyInstance {
    readonly viewers: Viewers
  }
  interface FastifyRequest {
    /** Null until the session is known. */
    visit: Visit | null
    /** The user of a route with a permission. Always set after {@link Viewers.allow}. */
    readonly viewer: Viewer
  }
  interface FastifyContextConfig {
    /** The permission that a dashboard route requires. */
    readonly permission?: Permission
    /** Whether the route requires a recent sign-in. */
    readonly recent?: Recent | undefined
  }
}

/**
 * Whether a route requires a sign-in or confirmation in the last ten minutes, with the second factor if the user has one: always, or for a
 * payment above the merchant's threshold, which the handler checks with `requireRecentSignIn`.
 */
type Recent = 'always' | 'large payments'

interface Needs {
  /** Defaults to `always` for permissions that concern money ({@link needsRecentSignIn}). */
  readonly recent?: Recent | undefined
  /** Also allows a user who must change the initial password first. */
  readonly withFirstPassword?: true | undefined
}

const csrfHeader = 'x-csrf-token'
const deviceMaxAgeSeconds = 180 * 24 * 60 * 60

/** The reads of each user. A page of the dashboard starts with about ten. */
const reads = { perSecond: 20, burst: 300, maxKeys: 10_000 }

class Viewers {
  readonly sessions: Sessions
  readonly #reads: TokenBuckets
  readonly cookies: ReturnType<typeof dashboardCookies>

  constructor(private readonly services: HttpServices) {
    this.sessions = new Sessions(services)
    this.cookies = dashboardCookies(services.publicUrl)
    this.#reads = new TokenBuckets(services.monotonicMs, reads.maxKeys)
  }

  /**
   * Returns a function that creates the options of a route from its schema and the schema of its response. The route requires a signed-in
   * user with this permission, and for changes a request from our own pages. Runs before the body is read, so that unauthorized requests
   * cost little.
   */
  allow(permission: Permission, { recent, withFirstPassword }: Needs = {}) {
    const needs = { recent: recent ?? (needsRecentSignIn(permission) ? 'always' : undefined), withFirstPassword }
    const options = {
      onRequest: (request: FastifyRequest) => this.#admit(request, permission, needs),
      config: { permission, recent: needs.recent },
    }
    function route<Parts extends FastifySchema>(parts?: Parts): typeof options & { schema: Parts }
    function route<Parts extends FastifySchema, Result extends TSchema>(
      parts: Parts,
      response: Result,
    ): typeof options & { schema: Parts & { response: { 200: Result } } }
    function route(parts: FastifySchema = {}, response?: TSchema) {
      return { ...options, schema: { ...parts, ...(response && { response: { 200: response } }) } }
    }
    return route
  }

  /** Starts a new session for each sign-in, so that a session id from before the sign-in never becomes valid. */
  async begin(user: User, request: FastifyRequest, reply: FastifyReply, authenticatedAt?: string): Promise<Visit> {
    const { headers, ip: address } = request
    const seen = { address, userAgent: headers['user-agent'] ?? '' }
    const { token, visit } = await this.sessions.begin(user, seen, authenticatedAt)
    this.cookies.setSession(reply, token)
    request.visit = visit
    return visit
  }

  /** @throws RequestError unless the user has recently signed in or confirmed it */
  requireRecent({ visit }: FastifyRequest): void {
    if (!this.sessions.isRecent(visit!.session)) throw new RequestError('recent-sign-in-needed')
  }

  #chargeRead(userId: string): void {
    const retryAfterSeconds = this.#reads.take(userId, reads.perSecond, reads.burst)
    if (retryAfterSeconds > 0) throw new RequestError('too-many-requests', { retryAfterSeconds })
  }

  async #admit(request: FastifyRequest, permission: Permission, { recent, withFirstPassword }: Needs): Promise<void> {
    const isChange = request.method !== 'GET' && request.method !== 'HEAD'
    if (isChange) {
      await refuseCrossSite(request)
      // Another node may have just ended the session. Reads tolerate a short delay, changes do not.
      await this.services.userDirectory.catchUp()
    }
    const visit = await this.sessions.visit(this.cookies.session(request))
    if (!visit) throw new RequestError('not-signed-in')
    request.visit = visit
    if (!isChange) this.#chargeRead(visit.user.userId)
    if (isChange && !isSame(request.headers[csrfHeader], visit.csrfToken)) throw new RequestError('csrf')
    if (visit.user.mustChangePassword && !withFirstPassword) throw new RequestError('password-change-needed')
    if (!isAllowed(visit.user.role, permission)) {
      throw new RequestError('permission-missing', { violation: violate('permission-missing', { permission }) })
    }
    if (recent === 'always') this.requireRecent(request)
  }
}

/**
 * The session, and the mark of a known browser (docs/decisions/0020-login-throttling.md). For trials without
 * HTTPS on this machine the names have no prefix, because not every browser accepts it there (docs/decisions/0026-dashboard.md).
 */
function dashboardCookies(publicUrl: string) {
  const { prefix, path, secure } = cookieScope(publicUrl)
  const session = `${prefix}transferd`
  const device = `${prefix}transferd-device`
  const options = { path, httpOnly: true, secure, sameSite: 'strict' } as const
  return {
    session: ({ cookies }: FastifyRequest) => cookies[session],
    device: ({ cookies }: FastifyRequest) => cookies[device],
    setSession: (reply: FastifyReply, token: string) => reply.setCookie(session, token, options),
    setDevice: (reply: FastifyReply, value: string) =>
      reply.setCookie(device, value, { ...options, maxAge: deviceMaxAgeSeconds }),
    clearSession: (reply: FastifyReply) => reply.clearCookie(session, options),
  }
}

const guardPlugin = { name: 'dashboard-guard', dependencies: ['gate', 'failing'] }

/** Identifies the signed-in user for the routes that are registered with it. */
export const guard = fp(async (app) => {
  await app.register(cookie)
  app.decorateRequest('visit', null)
  app.decorateRequest('viewer', { getter: viewerOf })
  app.decorate('viewers', new Viewers(app.services))
}, guardPlugin)

function viewerOf(this: FastifyRequest): Viewer {
  if (!this.visit) throw new Error('a route of the dashboard requires no permission')
  const { user, session } = this.visit
  const { userId, role, merchantIds } = user
  return { userId, role, merchantIds, sessionId: session.sessionId }
}

/** Rows per second: a page of a list looks at some hundreds, and an audit search at up to 20,000. */
const rows = { perSecond: 10_000, burst: 200_000 }

/** Returns the user of a request as a reader, whose reads are limited. */
export function readBy({ viewer }: FastifyRequest): ReadBy {
  return { key: `user:${viewer.userId}`, rows }
}

/** Returns the user of an authenticated request. */
export function userContext({ viewer, id }: FastifyRequest): CommandContext {
  return { actor: `user:${viewer.userId}`, $correlationId: id, $causationId: id }
}

/** Returns whether the user has access to this merchant. */
export function sees({ merchantIds }: Pick<Viewer, 'merchantIds'>, merchantId: string): boolean {
  return merchantIds === null || merchantIds.includes(merchantId)
}

export function seenMerchants({ server, viewer }: FastifyRequest): Merchant[] {
  return server.services.directory.all().filter(({ merchantId }) => sees(viewer, merchantId))
}

/** Returns the merchant's id as it is stored if the user has access to it. @throws RequestError otherwise, as for an unknown merchant */
export function requireOwn(
  { viewer }: FastifyRequest,
  merchantId: string | undefined,
  refusal: RefusalName = 'unknown-merchant',
): string {
  const id = merchantId && storedUuid(merchantId)
  if (id === undefined || !sees(viewer, id)) throw new RequestError(refusal)
  return id
}

/** Returns the merchants of a request, or `undefined` for all. @throws RequestError if the user has no access to the merchant */
export function merchantsOf(request: FastifyRequest, merchantId: string | undefined): readonly string[] | undefined {
  if (merchantId === undefined) return request.viewer.merchantIds ?? undefined
  return [requireOwn(request, merchantId)]
}

/**
 * Returns the name under which the user can see the actor of an event. Merchants see the operator's staff as `operator`. Other actors stay
 * as recorded in the log, and the pages translate `customer` or `system:expiry`.
 */
export function actorNames({ server, viewer }: FastifyRequest): (actor: string) => string {
  const isHouse = viewer.merchantIds === null
  return (actor) => {
    const [, kind, id = ''] = /^(user|cli):(.*)$/s.exec(actor) ?? []
    if (kind === undefined) return actor
    if (kind === 'cli') return isHouse ? actor : 'operator'
    const user = server.services.userDirectory.byId(id)
    if (!isHouse && (!user || user.merchantIds === null)) return 'operator'
    return user?.name ?? actor
  }
}

/** The fields that contain the ids of users, in events, tasks and states. */
const actorFields = ['by', 'claimants', 'heldBy', 'proposedBy']

/** Names the users in claims, approvals and pauses, at any depth. */
export function withNamedActors<Data>(data: Data, nameOf: (actor: string) => string, field = ''): Data {
  if (typeof data === 'string') return (actorFields.includes(field) ? nameOf(data) : data) as Data
  if (Array.isArray(data)) return data.map((each) => withNamedActors(each, nameOf, field)) as Data
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, withNamedActors(value, nameOf, name)]),
  ) as Data
}

/** Logs a change to a user in the security log. */
export function noteUserChange(request: FastifyRequest, change: string, subject = request.viewer.userId): void {
  request.server.services.securityLog.note('security.user_changed', { ...changedBy(request), subject, change })
}

/** Returns the fields of the security log that identify the user who changes something. */
export function changedBy({ id: requestId, ip: address, viewer: { userId } }: FastifyRequest) {
  return { requestId, address, userId }
}
