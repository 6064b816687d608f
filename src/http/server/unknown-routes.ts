import type { FastifySchema } from 'fastify'
import fp from 'fastify-plugin'
import type { Scope } from '../../domain/merchant/api-key.js'
import type { Permission } from '../../domain/user/permissions.js'
import { RequestError } from '../refusals.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** All routes, including HEAD. */
    readonly knownRoutes: readonly KnownRoute[]
  }
}

interface KnownRoute {
  readonly method: string
  readonly url: string
  /** The scope of the WebApiKey that the route takes. */
  readonly scope: Scope | undefined
  /** The permission that a route of the dashboard requires. */
  readonly permission: Permission | undefined
  /** Whether the route requires a recent sign-in. */
  readonly recent: string | undefined
  readonly schema: FastifySchema | undefined
  readonly pattern: RegExp
}

/**
 * `/%6detrics` is equivalent to `/metrics` (RFC 3986, 2.3). A proxy that blocks only the plain form would let it through, so it is
 * rejected. So is `/metrics#x`, which the router would take for `/metrics`: a request has no fragment.
 */
const encodedUnreserved = /%(?:2[de]|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])/i

const unknownRoutesPlugin = { name: 'unknown-routes', dependencies: ['metrics', 'failing'] }

/** Responds 404, or 405 with `Allow` if only the method is wrong. Both pass the error handler, which limits them. */
export const unknownRoutes = fp(async (app) => {
  const routes: KnownRoute[] = []
  app.decorate('knownRoutes', routes)
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    const path = url
      .replaceAll(/[.+()]/g, '\\$&')
      .replaceAll(/:\w+/g, '[^/]+')
      .replace('*', '.*')
    const { scope, permission, recent } = config ?? {}
    const route = { url, scope, permission, recent, schema, pattern: new RegExp(`^${path}$`) }
    for (const each of [method].flat()) routes.push({ method: each, ...route })
  })
  app.addHook('onRequest', (request, _reply, done) => {
    const [path = ''] = request.url.split('?', 1)
    done(encodedUnreserved.test(path) || request.url.includes('#') ? new RequestError('unknown-route') : undefined)
  })
  app.setNotFoundHandler((request, reply) => {
    reply.raw.once('finish', () => app.observeUnknownRoute(reply))
    const path = request.url.split('?', 1)[0]!
    const methods = new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))
    if (methods.size === 0 || methods.has(request.method)) throw new RequestError('unknown-route')
    reply.header('allow', [...methods].sort().join(', '))
    throw new RequestError('method-not-allowed')
  })
}, unknownRoutesPlugin)
