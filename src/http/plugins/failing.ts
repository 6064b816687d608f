import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { TooMuchContentionError } from '../../commands/handle-command.js'
import { streamKind, streamPrefix } from '../../domain/streams.js'
import { UnreadableEventError } from '../../event-store/event-codec.js'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import { ReadModelsUnavailableError } from '../../read-models/read-models.js'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import { failureEnvelope, failures, RequestError } from '../errors.js'
import type { Gate } from './gate.js'
import { noteFailure } from './security-notes.js'
import { validationErrorsOf } from './validation-errors.js'

const unavailableRetryAfterSeconds = 2
const unreadableRetryAfterSeconds = 300

/** Turns whatever was thrown into a documented failure: counts it against somebody, logs it, sets the headers. */
export type FailWith = (error: unknown, request: FastifyRequest, reply: FastifyReply) => RequestError

export function registerFailing(app: App, { logger, securityLog }: HttpDependencies, gate: Gate): FailWith {
  const failWith: FailWith = (error, request, reply) => {
    const failed = charge(toRequestError(error), request, gate)
    const { code, status } = failed.failure
    const about = { requestId: request.id, code, method: request.method, address: request.ip }
    if (status >= 500) logger.error({ ...about, url: request.routeOptions.url, err: error }, failed.message)
    noteFailure(securityLog, request, failed.failure)
    reply.code(status)
    const { retryAfterSeconds } = failed.particulars
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
    return failed
  }
  app.setErrorHandler((error, request, reply) => {
    const { failure, particulars } = failWith(error, request, reply)
    reply.type('application/json; charset=utf-8').send(failureEnvelope(failure, particulars))
  })
  return failWith
}

/** Failures that are nobody's count against the caller's address: a limit that only sees successes lets guesses through. */
function charge(failed: RequestError, request: FastifyRequest, gate: Gate): RequestError {
  if (request.merchant || failed.failure.status >= 500) return failed
  try {
    if (failed.failure === failures.unknownKey && request.headers.webapikey !== undefined) gate.chargeGuess(request)
    else if (failed.failure !== failures.tooManyRequests) gate.chargeAddress(request)
    return failed
  } catch (limited) {
    return limited as RequestError
  }
}

function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  if (
    error instanceof StoreUnavailableError ||
    error instanceof ReadModelsUnavailableError ||
    error instanceof TooMuchContentionError
  ) {
    return new RequestError(failures.unavailable, { retryAfterSeconds: unavailableRetryAfterSeconds })
  }
  if (error instanceof UnreadableEventError) return unreadable(error)
  return fromFastify(error as Partial<FastifyError>)
}

/** Nothing that repeating the request soon would mend. */
function unreadable({ stream }: UnreadableEventError): RequestError {
  const failure = streamKind(stream) === streamPrefix.merchant ? failures.merchantOutOfService : failures.unreadable
  return new RequestError(failure, { retryAfterSeconds: unreadableRetryAfterSeconds })
}

function fromFastify({ code, statusCode, validation }: Partial<FastifyError>): RequestError {
  if (validation) return new RequestError(failures.invalidRequest, { validationErrors: validationErrorsOf(validation) })
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const { message } = failures.bodyTooLarge
    return new RequestError(failures.bodyTooLarge, { validationErrors: [{ message, members: ['body'] }] })
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new RequestError(failures.unsupportedMediaType)
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return new RequestError(failures.unknownRoute)
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new RequestError(failures.malformedRequest)
  }
  return new RequestError(failures.internal)
}
