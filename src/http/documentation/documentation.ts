import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { pathOf } from '../public-url.js'
import { RequestError } from '../refusals.js'

/** The response headers of the documentation that are passed on. */
const passedOn = ['cache-control', 'content-type', 'content-security-policy', 'content-range', 'etag', 'last-modified']

const documentationPlugin = { name: 'documentation', dependencies: ['gate', 'unknown-routes'] }

/**
 * Serves `/documentation` and `/documentation/service` from separate applications, each created on its first request: building a document
 * took a sixth of the main thread's start.
 */
export const documentation = fp(async (app) => {
  const made = new Map<boolean, Promise<FastifyInstance>>()
  const pages = async (isService: boolean) => {
    const { documentationPages } = await import('./documentation-pages.js')
    return documentationPages(app.knownRoutes, app.services, isService)
  }
  const show = async ({ url, headers }: FastifyRequest, reply: FastifyReply) => {
    const isService = /^\/documentation\/service(?:$|[/?])/.test(url)
    const shown = made.get(isService) ?? pages(isService)
    made.set(isService, shown)
    const answer = await (await shown).inject({ url, headers })
    if (answer.statusCode === 404) throw new RequestError('unknown-route')
    for (const name of passedOn) if (answer.headers[name]) reply.header(name, answer.headers[name])
    if (answer.headers.location) reply.header('location', `${pathOf(app.services.publicUrl)}${answer.headers.location}`)
    return reply.code(answer.statusCode).send(answer.rawPayload)
  }
  await app.register(async (scope) => {
    scope.addHook('onRequest', app.gate.limitObserver())
    for (const path of ['/documentation', '/documentation/*']) scope.get(path, show)
  })
}, documentationPlugin)
