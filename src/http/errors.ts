/**
 * Every way a request can fail, in one place: the HTTP status and the stable `error.code` of the envelope (status × 100 and
 * a number). docs/reference/errors.md explains each; a test compares the two.
 */
export const failures = {
  devicePending: { code: 20001, status: 200, message: 'The customer has not confirmed the device yet.' },
  paymentPending: { code: 20002, status: 200, message: 'The payment is being carried out.' },
  invalidRequest: { code: 40001, status: 400, message: 'The request is not valid.' },
  malformedBody: { code: 40002, status: 400, message: 'The body cannot be read.' },
  hashMismatch: { code: 40003, status: 400, message: 'The hashCode does not match.' },
  signatureMismatch: { code: 40004, status: 400, message: 'The X-Signature is missing or does not match.' },
  malformedRequest: { code: 40005, status: 400, message: 'The request cannot be read.' },
  badLogin: { code: 40006, status: 400, message: 'The account does not exist or the password is wrong.' },
  badToken: { code: 40007, status: 400, message: 'The token is not valid for this step of this transfer.' },
  expiredToken: { code: 40008, status: 400, message: 'The token has expired.' },
  usedToken: { code: 40009, status: 400, message: 'The token was used before.' },
  wrongCode: { code: 40010, status: 400, message: 'The code is wrong.' },
  tooManyCodes: { code: 40011, status: 400, message: 'There were too many codes for this log-in.' },
  unknownKey: { code: 40101, status: 401, message: 'The WebApiKey is missing or unknown.' },
  addressNotAllowed: { code: 40301, status: 403, message: 'This address may not call.' },
  merchantSuspended: { code: 40302, status: 403, message: 'This merchant is suspended.' },
  crossSite: { code: 40303, status: 403, message: 'A page of another site sent this.' },
  scopeMissing: { code: 40304, status: 403, message: 'This WebApiKey is not for that.' },
  unknownRoute: { code: 40401, status: 404, message: 'There is nothing at this address.' },
  unknownTransfer: { code: 40402, status: 404, message: 'There is no such transfer.' },
  unknownCallback: { code: 40403, status: 404, message: 'There is no such callback.' },
  methodNotAllowed: { code: 40501, status: 405, message: 'This address does not take this method.' },
  requestTimeout: { code: 40801, status: 408, message: 'The request did not arrive in time.' },
  conflict: { code: 40901, status: 409, message: 'This referenceId was used before, with other content.' },
  hashReused: { code: 40902, status: 409, message: 'This hashCode was used before, for another request.' },
  notPayable: { code: 40903, status: 409, message: 'This transfer cannot be paid from a wallet.' },
  depositExpired: { code: 40904, status: 409, message: 'The time for this deposit is over.' },
  paymentUnderWay: { code: 40905, status: 409, message: 'The payment is being carried out.' },
  insufficientBalance: { code: 40906, status: 409, message: 'The balance of the account is too small.' },
  accountBlocked: { code: 40907, status: 409, message: 'The account is blocked.' },
  manualControl: { code: 40908, status: 409, message: 'The deposit is being checked by a person.' },
  tooManyLogIns: { code: 40909, status: 409, message: 'There were too many log-ins for this deposit.' },
  manualMethod: { code: 40910, status: 409, message: 'The payment method of this deposit is not paid from a wallet.' },
  bodyTooLarge: { code: 41301, status: 413, message: 'The body is larger than 16 KiB.' },
  unsupportedMediaType: {
    code: 41501,
    status: 415,
    message: 'Send application/json or application/json-patch+json.',
  },
  tooManyRequests: { code: 42901, status: 429, message: 'Too many requests.' },
  logInsThrottled: { code: 42902, status: 429, message: 'Too many log-ins to this account.' },
  codesLocked: { code: 42903, status: 429, message: 'Too many wrong codes for this account.' },
  resentTooOften: { code: 42904, status: 429, message: 'This callback was sent again a moment ago.' },
  headersTooLarge: { code: 43101, status: 431, message: 'The headers are too large.' },
  internal: { code: 50001, status: 500, message: 'Something went wrong on our side.' },
  unavailable: { code: 50301, status: 503, message: 'The service cannot do this right now.' },
  unreadable: {
    code: 50303,
    status: 503,
    message: 'A record of this transfer cannot be read; an operator must look at it.',
  },
  merchantOutOfService: {
    code: 50304,
    status: 503,
    message: 'A record of this merchant cannot be read; it is out of service until an operator has looked at it.',
  },
  walletUnavailable: { code: 50302, status: 503, message: 'The wallet cannot be reached; nothing was taken.' },
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

/** The specification's response envelope around a result (Resources, "Response envelope"). */
export function successEnvelope<Result>(result: Result) {
  return { result, targetUrl: null, success: true, error: null, unAuthorizedRequest: false, __abp: true } as const
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
