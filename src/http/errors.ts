/**
 * Every way a request can fail, in one place: the HTTP status and the stable `error.code` of the envelope (status × 100 and
 * a number). docs/reference/errors.md explains each; a test compares the two.
 */
export const failures = {
  invalidRequest: { code: 40001, status: 400, message: 'The request is not valid.' },
  malformedBody: { code: 40002, status: 400, message: 'The body cannot be read.' },
  hashMismatch: { code: 40003, status: 400, message: 'The hashCode does not match.' },
  signatureMismatch: { code: 40004, status: 400, message: 'The X-Signature is missing or does not match.' },
  malformedRequest: { code: 40005, status: 400, message: 'The request cannot be read.' },
  unknownKey: { code: 40101, status: 401, message: 'The WebApiKey is missing or unknown.' },
  addressNotAllowed: { code: 40301, status: 403, message: 'This address may not call.' },
  merchantSuspended: { code: 40302, status: 403, message: 'This merchant is suspended.' },
  unknownRoute: { code: 40401, status: 404, message: 'There is nothing at this address.' },
  unknownTransfer: { code: 40402, status: 404, message: 'There is no such transfer.' },
  unknownCallback: { code: 40403, status: 404, message: 'There is no such callback.' },
  methodNotAllowed: { code: 40501, status: 405, message: 'This address does not take this method.' },
  requestTimeout: { code: 40801, status: 408, message: 'The request did not arrive in time.' },
  conflict: { code: 40901, status: 409, message: 'This referenceId was used before, with other content.' },
  hashReused: { code: 40902, status: 409, message: 'This hashCode was used before, for another request.' },
  bodyTooLarge: { code: 41301, status: 413, message: 'The body is larger than 16 KiB.' },
  unsupportedMediaType: {
    code: 41501,
    status: 415,
    message: 'Send application/json or application/json-patch+json.',
  },
  tooManyRequests: { code: 42901, status: 429, message: 'Too many requests.' },
  headersTooLarge: { code: 43101, status: 431, message: 'The headers are too large.' },
  internal: { code: 50001, status: 500, message: 'Something went wrong on our side.' },
  unavailable: { code: 50301, status: 503, message: 'The service cannot do this right now.' },
} as const satisfies { readonly [name: string]: Failure }

export interface Failure {
  readonly code: number
  readonly status: number
  readonly message: string
}

export interface ValidationError {
  readonly message: string
  /** JSON field names. */
  readonly members: readonly string[]
}

interface Particulars {
  readonly details?: string
  readonly validationErrors?: readonly ValidationError[]
  readonly retryAfterSeconds?: number
}

/** A request that fails as documented; everything else that is thrown while serving one is a 500 or a 503. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  constructor(
    readonly failure: Failure,
    readonly particulars: Particulars = {},
  ) {
    super(failure.message)
  }
}

/** The specification's response envelope on failure (Resources, "Response envelope"). */
export function failureEnvelope(failure: Failure, { details, validationErrors }: Particulars = {}) {
  const { code, message, status } = failure
  return {
    result: null,
    targetUrl: null,
    success: false,
    error: { code, message, details: details ?? null, validationErrors: validationErrors ?? null },
    unAuthorizedRequest: status === 401 || status === 403,
    __abp: true,
  }
}
