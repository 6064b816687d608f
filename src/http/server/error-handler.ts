import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { TooMuchContentionError } from '../../commands/handle-command.js'
import { violate } from '../../domain/decider.js'
import { streamKind, streamPrefix } from '../../domain/streams.js'
import { UnreadableEventError } from '../../event-store/event-codec.js'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import { ReadModelsUnavailableError } from '../../read-models/read-models.js'
import { TooManyReadsError } from '../../readers/readers.js'
import { merchantIdOfApiKey } from '../../security/api-keys.js'
import { TooManyPasswordsError } from '../../security/passwords.js'
import { failureEnvelope } from '../envelope.js'
import { invalidFields, type RefusalName, RequestError, refusals } from '../refusals.js'
import { invalidFieldsOf } from './validation.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Turns an error into a documented refusal: charges it to the caller, logs it, and sets the status and headers. */
    readonly failWith: (error: unknown, request: FastifyRequest, reply: FastifyReply) => RequestError
    /** Writes a refusal to the security log if it has a security event. */
    readonly noteRefusal: (refusal: RefusalName, request: FastifyRequest) => void
  }
}

const unavailableRetryAfterSeconds = 2
const unreadableRetryAfterSeconds = 300
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i

const failingPlugin = { name: 'failing', dependencies: ['gate'] }

export const failing = fp(async (app) => {
  const { logger, securityLog } = app.services
  /** Charges a failure without a merchant to the caller's address: a limit that counts only successes lets guesses through. */
  const charge = (failed: RequestError, request: FastifyRequest): RequestError => {
    const { refusal } = failed
    if (request.merchant || refusals[refusal].status >= 500) return failed
    try {
      if (refusal === 'unknown-key' && request.headers.webapikey !== undefined) app.gate.chargeGuess(request)
      else if (refusal !== 'too-many-requests') app.gate.chargeAddress(request)
      return failed
    } catch (limited) {
      return limited as RequestError
    }
  }
  app.decorate('noteRefusal', (refusal, request) => {
    const { securityEvent, code } = refusals[refusal]
    if (securityEvent === undefined) return
    securityLog.note(securityEvent, {
      requestId: request.id,
      address: request.ip,
      method: request.method,
      route: request.routeOptions.url ?? null,
      code,
      merchantId: request.merchant?.merchantId ?? null,
      trackingId: trackingIdOf(request),
      claimedMerchantId: claimedMerchantId(request),
      userId: request.visit?.user.userId ?? null,
    })
  })
  app.decorate('failWith', (error, request, reply) => {
    const failed = charge(toRequestError(error, request), request)
    const { code, status } = refusals[failed.refusal]
    const about = { requestId: request.id, code, method: request.method, address: request.ip }
    if (status >= 500) logger.error({ ...about, url: request.routeOptions.url, err: error }, failed.message)
    app.noteRefusal(failed.refusal, request)
    reply.code(status)
    const { retryAfterSeconds } = failed.particulars
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
    return failed
  })
  app.setErrorHandler((error, request, reply) => sendFailure(app, error, request, reply))
}, failingPlugin)

/** Responds to an error with an envelope, as all routes do except pages. */
export function sendFailure(
  app: FastifyInstance,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  envelopeOf: (failed: RequestError) => object = failureEnvelope,
): void {
  reply.type('application/json; charset=utf-8').send(envelopeOf(app.failWith(error, request, reply)))
}

/** Returns the refusal that responds to an error thrown while serving the request. */
export function toRequestError(error: unknown, request: FastifyRequest): RequestError {
  if (error instanceof RequestError) return error
  if (
    error instanceof StoreUnavailableError ||
    error instanceof ReadModelsUnavailableError ||
    error instanceof TooMuchContentionError ||
    error instanceof TooManyPasswordsError
  ) {
    return new RequestError('unavailable', { retryAfterSeconds: unavailableRetryAfterSeconds })
  }
  if (error instanceof TooManyReadsError) {
    const { retryAfterSeconds, most } = error
    const violation = most === undefined ? undefined : violate('too-many-open', { most })
    return new RequestError('too-many-requests', { retryAfterSeconds, ...(violation && { violation }) })
  }
  if (error instanceof UnreadableEventError) {
    const refusal = streamKind(error.stream) === streamPrefix.merchant ? 'merchant-out-of-service' : 'unreadable'
    // A quick retry would not help.
    return new RequestError(refusal, { retryAfterSeconds: unreadableRetryAfterSeconds })
  }
  return fromFastify(error as Partial<FastifyError>, request)
}

function fromFastify(
  { code, statusCode, validation }: Partial<FastifyError>,
  { routeOptions }: FastifyRequest,
): RequestError {
  if (validation) return invalidFields(invalidFieldsOf(validation))
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const violation = violate('body-too-large', { kibibytes: routeOptions.bodyLimit / 1024 })
    return new RequestError('body-too-large', { violation, fields: [{ field: 'body', ...violation }] })
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new RequestError('unsupported-media-type')
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return new RequestError('unknown-route')
  const isCallersFault = statusCode !== undefined && statusCode >= 400 && statusCode < 500
  return new RequestError(isCallersFault ? 'malformed-request' : 'internal')
}

/** Returns the trackingId of the request. Only the id of a link is logged, because the rest opens the page. */
function trackingIdOf({ params, body }: FastifyRequest): string | null {
  const { trackingId, link } = (params ?? {}) as { readonly trackingId?: unknown; readonly link?: unknown }
  const named = trackingId ?? link ?? (body as { readonly trackingId?: unknown } | null | undefined)?.trackingId
  return typeof named === 'string' ? (uuid.exec(named)?.[0].toLowerCase() ?? null) : null
}

/** Returns the merchant that the key names. No other part of a key may be logged. */
function claimedMerchantId({ headers: { webapikey } }: FastifyRequest): string | null {
  return typeof webapikey === 'string' ? (merchantIdOfApiKey(webapikey) ?? null) : null
}

/** Responds on the socket to input that cannot be parsed as a request. */
export function sendClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code !== 'ECONNRESET' && socket.writable) {
    const refusal = socketRefusal(error)
    const { status } = refusals[refusal]
    const body = JSON.stringify(failureEnvelope(new RequestError(refusal)))
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n`
    socket.write(
      `${head}Content-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
  }
  socket.destroySoon()
}

function socketRefusal({ code }: NodeJS.ErrnoException): RefusalName {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request-timeout'
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers-too-large'
  return 'malformed-request'
}
