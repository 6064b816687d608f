import type { FastifyRequest } from 'fastify'
import { failures, RequestError } from '../errors.js'

/**
 * Refuses what another site's page makes a customer's browser send. Browsers say where a request comes from; what says
 * nothing is no browser, and holds the link by itself. @throws RequestError
 */
export function refuseCrossSite({ headers }: FastifyRequest, publicUrl: string): void {
  const site = headers['sec-fetch-site']
  if (site !== undefined) {
    if (site === 'same-origin') return
    throw new RequestError(failures.crossSite)
  }
  const { origin } = headers
  if (origin !== undefined && origin !== new URL(publicUrl).origin) throw new RequestError(failures.crossSite)
}
