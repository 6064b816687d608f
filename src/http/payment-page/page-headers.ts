import type { FastifyRequest } from 'fastify'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { htmlHeaders } from '../html-headers.js'
import { RequestError } from '../refusals.js'

/** Any port of this machine, for the shop of a trial. */
const loopbackOrigins = ['http://localhost:*', 'http://127.0.0.1:*']

/** Returns the origins that can embed a merchant's payment page; none if empty (docs/decisions). */
export function framingOrigins({ frameAncestors, sandbox }: MerchantSettings): readonly string[] {
  return sandbox ? [...frameAncestors, ...loopbackOrigins] : frameAncestors
}

/** Returns the headers of a page for customers. `framing`: the sources for `frame-ancestors`. */
export function pageHeaders(framing: readonly string[] = []): Readonly<Record<string, string>> {
  const policy = framing.length === 0 ? {} : { 'frame-ancestors': framing.join(' ') }
  return { ...htmlHeaders(policy), vary: 'Accept-Language' }
}

/**
 * Rejects requests that a page of another site makes a browser send. Browsers state the origin of a request. A caller that
 * states none is not a browser and has the link itself. @throws RequestError
 */
export function refuseCrossSite({ headers }: FastifyRequest, publicUrl: string): void {
  const { origin, 'sec-fetch-site': site } = headers
  const isOurs =
    site === undefined ? origin === undefined || origin === new URL(publicUrl).origin : site === 'same-origin'
  if (!isOurs) throw new RequestError('cross-site')
}
