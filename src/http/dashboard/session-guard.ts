import { timingSafeEqual } from 'node:crypto'
import cookie from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { CommandContext } from '../../commands/handle-command.js'
import type { UserDirectory } from '../../commands/user/user-commands.js'
import { isAllowed, type Permission, type Role } from '../../domain/user/permissions.js'
import type { User } from '../../domain/user/user.js'
import { violate } from '../../kernel/rules.js'
import type { ReadModels } from '../../read-models/read-models.js'
import type { SecretBox } from '../../security/secret-box.js'
import { refuseCrossSite } from '../payment-page/page-headers.js'
import { RequestError } from '../refusals.js'
import { type DashboardCookies, dashboardCookies } from './session-cookies.js'
import { Sessions, type Visit } from './sign-in/sessions.js'

/** The signed-in user, as far as routes need it. */
export interface Viewer {
  readonly userId: string
  readonly name: string
  readonly role: Role
  /** Null for all merchants. */
  readonly merchantIds: readonly string[] | null
  readonly sessionId: string
}

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
  }
}

export interface GuardOptions {
  readonly readModels: ReadModels
  readonly secretBox: SecretBox
  readonly userDirectory: UserDirectory
  readonly clock: () => string
  /** The public base URL, without a trailing slash. */
  readonly publicUrl: string
}

interface Needs {
  /** Requires a password entry in the last ten minutes. */
  readonly recent?: true
  /** Also allows a user who must change the initial password first. */
  readonly withFirstPassword?: true
}

const csrfHeader = 'x-csrf-token'

class Viewers {
  readonly sessions: Sessions
  readonly cookies: DashboardCookies
  readonly #users: UserDirectory
  readonly #publicUrl: string

  constructor({ readModels, secretBox, userDirectory: users, clock, publicUrl }: GuardOptions) {
    this.sessions = new Sessions({ readModels, users, box: secretBox, clock })
    this.cookies = dashboardCookies(publicUrl)
    this.#users = users
    this.#publicUrl = publicUrl
  }

  /**
   * Requires a signed-in user with this permission, and for changes a request from our own pages. Runs before the body is read, so that
   * unauthorized requests cost little.
   */
  allow(permission: Permission, needs: Needs = {}) {
    return { onRequest: (request: FastifyRequest) => this.#admit(request, permission, needs), config: { permission } }
  }

  /** Returns whether the user of the request has access to this merchant. */
  sees({ viewer: { merchantIds } }: FastifyRequest, merchantId: string): boolean {
    return merchantIds === null || merchantIds.includes(merchantId)
  }

  /** Starts a new session for each sign-in, so that a session id from before the sign-in never becomes valid. */
  async begin(user: User, request: FastifyRequest, reply: FastifyReply): Promise<Visit> {
    const { headers, ip: address } = request
    const { token, visit } = await this.sessions.begin(user, { address, userAgent: headers['user-agent'] ?? '' })
    this.cookies.setSession(reply, token)
    request.visit = visit
    return visit
  }

  /** Checks the origin that browsers send. @throws RequestError */
  refuseOtherSites(request: FastifyRequest): void {
    refuseCrossSite(request, this.#publicUrl)
  }

  async #admit(request: FastifyRequest, permission: Permission, { recent, withFirstPassword }: Needs): Promise<void> {
    const isChange = request.method !== 'GET' && request.method !== 'HEAD'
    if (isChange) {
      this.refuseOtherSites(request)
      // Another node may have just ended the session. Reads tolerate a short delay, changes do not.
      await this.#users.catchUp()
    }
    const visit = await this.sessions.visit(this.cookies.session(request))
    if (!visit) throw new RequestError('not-signed-in')
    request.visit = visit
    if (isChange && !isSame(request.headers[csrfHeader], visit.csrfToken)) throw new RequestError('csrf')
    if (visit.user.mustChangePassword && !withFirstPassword) throw new RequestError('password-change-needed')
    if (!isAllowed(visit.user.role, permission)) {
      throw new RequestError('permission-missing', { violation: violate('permission-missing', { permission }) })
    }
    if (recent && !this.sessions.isRecent(visit.session)) throw new RequestError('recent-sign-in-needed')
  }
}

/** Identifies the signed-in user for the routes that are registered with it. */
export const guard = fp<GuardOptions>(
  async (app, options) => {
    await app.register(cookie)
    app.decorateRequest('visit', null)
    app.decorateRequest('viewer', { getter: viewerOf })
    app.decorate('viewers', new Viewers(options))
  },
  { name: 'dashboard-guard', dependencies: ['gate', 'failing'] },
)

/** Returns the user of an authenticated request. */
export function contextOf({ viewer, id }: FastifyRequest): CommandContext {
  return { actor: `user:${viewer.userId}`, $correlationId: id, $causationId: id }
}

function viewerOf(this: FastifyRequest): Viewer {
  if (!this.visit) throw new Error('a route of the dashboard requires no permission')
  const { user, session } = this.visit
  const { userId, name, role, merchantIds } = user
  return { userId, name, role, merchantIds, sessionId: session.sessionId }
}

/** Compares in constant time. */
function isSame(given: string | string[] | undefined, expected: string): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false
  return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(expected, 'latin1'))
}
