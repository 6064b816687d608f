import type { FastifyRequest } from 'fastify'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { htmlHeaders } from '../html-headers.js'
import { RequestError } from '../refusals.js'

/** Any port of this machine: where somebody who tries the service out has their shop. */
const loopbackOrigins = ['http://localhost:*', 'http://127.0.0.1:*']

/** Who may show a merchant's payment page in a frame; nobody when empty (docs/decisions). */
export function framingOrigins({ frameAncestors, sandbox }: MerchantSettings): readonly string[] {
  return sandbox ? [...frameAncestors, ...loopbackOrigins] : frameAncestors
}

/** Of every page for customers. `framing`: sources for `frame-ancestors`. */
export function pageHeaders(framing: readonly string[] = []): Readonly<Record<string, string>> {
  const policy = framing.length === 0 ? {} : { 'frame-ancestors': framing.join(' ') }
  return { ...htmlHeaders(policy), vary: 'Accept-Language' }
}

/**
 * Refuses what another site's page makes a customer's browser send. Browsers say where a request comes from; what says
 * nothing is no browser, and holds the link by itself. @throws RequestError
 */
export function refuseCrossSite({ headers }: FastifyRequest, publicUrl: string): void {
  const { origin, 'sec-fetch-site': site } = headers
  const isOurs =
    site === undefined ? origin === undefined || origin === new URL(publicUrl).origin : site === 'same-origin'
  if (!isOurs) throw new RequestError('cross-site')
}
