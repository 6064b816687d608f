import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'

const signatureWindowMs = 5 * 60_000
const signatureHeader = /^t=(\d{1,12}),v1=([0-9a-fA-F]{64})$/

/**
 * Returns whether the request has a valid `X-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256>`, keyed with one of the SecretKeys, at most
 * five minutes off. The signed text is `<t>.<raw body>`. Under /v1, where the path names the transfer, it is
 * `<t>.<method> <path>.<raw body>`, so that the signature of one claim is not valid for another withdrawal.
 */
export function isSignatureValid(request: FastifyRequest, secrets: readonly string[], nowMs: number): boolean {
  const { method, url, rawBody } = request
  const signature = request.headers['x-signature']
  const [, seconds, hex] = (typeof signature === 'string' && signatureHeader.exec(signature)) || []
  if (!seconds || !hex || Math.abs(Number(seconds) * 1000 - nowMs) > signatureWindowMs) return false
  const received = Buffer.from(hex, 'hex')
  // The route decides, because the same route can be requested as `http://host/v1/…` (RFC 9112, 3.2.2).
  const target = request.routeOptions.url?.startsWith('/v1/') ? `${method} ${url}.` : ''
  let valid = false
  for (const secret of secrets) {
    const hmac = createHmac('sha256', secret).update(`${seconds}.${target}`)
    const expected = hmac.update(rawBody ?? '').digest()
    valid = timingSafeEqual(received, expected) || valid
  }
  return valid
}
