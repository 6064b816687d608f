import { timingSafeEqual } from 'node:crypto'
import cookie from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { CommandContext } from '../../commands/handle-command.js'
import type { UserDirectory } from '../../commands/user/user-directory.js'
import { isAllowed, type Permission, type Role } from '../../domain/user/permissions.js'
import type { User } from '../../domain/user/user.js'
import type { ReadModels } from '../../read-models/read-models.js'
import type { SecretBox } from '../../security/secret-box.js'
import { refuseCrossSite } from '../payment-page/page-headers.js'
import { RequestError } from '../refusals.js'
import { type DashboardCookies, dashboardCookies } from './session-cookies.js'
import { Sessions, type Visit } from './sign-in/sessions.js'

/** Who is signed in, as far as routes need to know. */
export interface Viewer {
  readonly userId: string
  readonly name: string
  readonly role: Role
  /** Null: all merchants. */
  readonly merchantIds: readonly string[] | null
  readonly sessionId: string
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly viewers: Viewers
  }
  interface FastifyRequest {
    /** Null while it is not known whose session it is. */
    visit: Visit | null
    /** Of a route that asks for a permission; there is always one behind {@link Viewers.allow}. */
    readonly viewer: Viewer
  }
  interface FastifyContextConfig {
    /** What the user must have for it, where it is a route of the dashboard. */
    readonly permission?: Permission
  }
}

export interface GuardOptions {
  readonly readModels: ReadModels
  readonly secretBox: SecretBox
  readonly userDirectory: UserDirectory
  readonly clock: () => string
  /** What browsers reach, without a slash at the end. */
  readonly publicUrl: string
}

interface Needs {
  /** The password was given in the last ten minutes. */
  readonly recent?: true
  /** Also open to who has a first password yet, and must change it. */
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
   * For a route: somebody who is signed in and has this permission, or nothing; and a change only from our own pages. Before the body is
   * read, so that strangers cost little.
   */
  allow(permission: Permission, needs: Needs = {}) {
    return { onRequest: (request: FastifyRequest) => this.#admit(request, permission, needs), config: { permission } }
  }

  /** Whether the request's user may know of this merchant at all. */
  sees({ viewer: { merchantIds } }: FastifyRequest, merchantId: string): boolean {
    return merchantIds === null || merchantIds.includes(merchantId)
  }

  /** A session of its own for each sign-in: one that was known before it never becomes a user's. */
  async begin(user: User, request: FastifyRequest, reply: FastifyReply): Promise<Visit> {
    const { headers, ip: address } = request
    const { token, visit } = await this.sessions.begin(user, { address, userAgent: headers['user-agent'] ?? '' })
    this.cookies.setSession(reply, token)
    request.visit = visit
    return visit
  }

  /** Browsers say where a request comes from. @throws RequestError */
  refuseOtherSites(request: FastifyRequest): void {
    refuseCrossSite(request, this.#publicUrl)
  }

  async #admit(request: FastifyRequest, permission: Permission, { recent, withFirstPassword }: Needs): Promise<void> {
    const isChange = request.method !== 'GET' && request.method !== 'HEAD'
    if (isChange) {
      this.refuseOtherSites(request)
      // Another node may have ended the session a moment ago; what is only read may be a moment late.
      await this.#users.catchUp()
    }
    const visit = await this.sessions.visit(this.cookies.session(request))
    if (!visit) throw new RequestError('not-signed-in')
    request.visit = visit
    if (isChange && !isSame(request.headers[csrfHeader], visit.csrfToken)) throw new RequestError('csrf')
    if (visit.user.mustChangePassword && !withFirstPassword) throw new RequestError('password-change-needed')
    if (!isAllowed(visit.user.role, permission)) {
      throw new RequestError('permission-missing', { details: `It needs the permission ${permission}.` })
    }
    if (recent && !this.sessions.isRecent(visit.session)) throw new RequestError('recent-sign-in-needed')
  }
}

/** Finds out who is signed in, for the routes registered beside it. */
export const guard = fp<GuardOptions>(
  async (app, options) => {
    await app.register(cookie)
    app.decorateRequest('visit', null)
    app.decorateRequest('viewer', { getter: viewerOf })
    app.decorate('viewers', new Viewers(options))
  },
  { name: 'dashboard-guard', dependencies: ['gate', 'failing'] },
)

/** Of a request whose user is known. */
export function contextOf({ viewer, id }: FastifyRequest): CommandContext {
  return { actor: `user:${viewer.userId}`, $correlationId: id, $causationId: id }
}

function viewerOf(this: FastifyRequest): Viewer {
  if (!this.visit) throw new Error('a route of the dashboard asks for no permission')
  const { user, session } = this.visit
  const { userId, name, role, merchantIds } = user
  return { userId, name, role, merchantIds, sessionId: session.sessionId }
}

/** In the same time, however much of it is right. */
function isSame(given: string | string[] | undefined, expected: string): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false
  return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(expected, 'latin1'))
}
