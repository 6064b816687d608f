import type { FastifyRequest } from 'fastify'
import { merchantIdOfApiKey } from '../../security/credentials.js'
import type { RequestSecurityEvent, SecurityLog } from '../../security/security-log.js'
import { type Failure, failures } from '../errors.js'

const events = new Map<Failure, RequestSecurityEvent>([
  [failures.unknownKey, 'security.key_unknown'],
  [failures.addressNotAllowed, 'security.address_refused'],
  [failures.merchantSuspended, 'security.merchant_suspended'],
  [failures.scopeMissing, 'security.scope_missing'],
  [failures.crossSite, 'security.cross_site'],
  [failures.hashMismatch, 'security.hash_wrong'],
  [failures.hashReused, 'security.hash_reused'],
  [failures.signatureMismatch, 'security.signature_wrong'],
  [failures.badLogin, 'security.login_failed'],
  [failures.wrongCode, 'security.code_wrong'],
  [failures.tooManyCodes, 'security.code_wrong'],
  [failures.badToken, 'security.token_refused'],
  [failures.usedToken, 'security.token_refused'],
  [failures.tooManyRequests, 'security.throttled'],
  [failures.logInsThrottled, 'security.throttled'],
  [failures.tooManyLogIns, 'security.throttled'],
  [failures.codesLocked, 'security.throttled'],
  [failures.resentTooOften, 'security.throttled'],
])

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i

/** Tells of a failure if it is one that concerns security. */
export function noteFailure(securityLog: SecurityLog, request: FastifyRequest, failure: Failure): void {
  const event = events.get(failure)
  if (event === undefined) return
  securityLog.note(event, {
    requestId: request.id,
    address: request.ip,
    method: request.method,
    route: request.routeOptions.url ?? null,
    code: failure.code,
    merchantId: request.merchant?.merchantId ?? null,
    trackingId: trackingIdOf(request),
    claimedMerchantId: claimedBy(request),
  })
}

/** Which transfer it was about. Never more of a link than that: the rest opens the page. */
function trackingIdOf({ params, body }: FastifyRequest): string | null {
  const { trackingId, link } = (params ?? {}) as { readonly trackingId?: unknown; readonly link?: unknown }
  const named = trackingId ?? link ?? (body as { readonly trackingId?: unknown } | null | undefined)?.trackingId
  return typeof named === 'string' ? (uuid.exec(named)?.[0].toLowerCase() ?? null) : null
}

/** Who the key says it belongs to, which is all of it that may be told. */
function claimedBy({ headers: { webapikey } }: FastifyRequest): string | null {
  return typeof webapikey === 'string' ? (merchantIdOfApiKey(webapikey) ?? null) : null
}
