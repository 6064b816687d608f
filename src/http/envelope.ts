import { refusalText } from '../domain/refusal-texts.js'
import { type TProperties, type TSchema, Type } from '../kernel/typebox.js'
import { type InvalidField, type RequestError, refusals } from './refusals.js'

/** A list of types: it serialises faster than a union, and OpenAPI 3.1 prefers it. */
export const NullableString = (options: { readonly [keyword: string]: unknown } = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...options })

export const NullableInteger = (options: { readonly [keyword: string]: unknown } = {}) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], ...options })

const errorProperties: TProperties = {
  code: Type.Integer({ title: 'ErrorCode', description: 'Stable and never 0; see the list of errors.' }),
  message: Type.String({ examples: ['Invalid request.'] }),
  details: NullableString(),
  validationErrors: Type.Unsafe<unknown>({
    type: ['array', 'null'],
    items: Type.Object(
      {
        message: Type.String({ examples: ['amount must be greater than 0.'] }),
        members: Type.Array(Type.String(), {
          description: 'The field, such as `amount` or `callbacks[3].trackingId`.',
          examples: [['amount']],
        }),
      },
      { title: 'ValidationError' },
    ),
  }),
}

/** Always null. Not the type `null`, of which generators create a class. */
const AlwaysNull = Type.Unsafe<null>({ type: ['object', 'null'] })

const envelopeProperties = (success: object, error: TSchema, unauthorized: object = { examples: [false] }) => ({
  targetUrl: NullableString(),
  success: Type.Boolean(success),
  error,
  unAuthorizedRequest: Type.Boolean(unauthorized),
  __abp: Type.Boolean({ examples: [true] }),
})

/** Returns the schema of the response envelope around a result (specification, Resources, "Response envelope"). */
export const Envelope = <Result extends TSchema>(result: Result, description: string, title: string) =>
  Type.Object({ result, ...envelopeProperties({ examples: [true] }, AlwaysNull) }, { title, description })

/** Returns the schema of a polled response: it is 200 without a result, too, and `success` states which. */
export const PolledEnvelope = (result: { readonly [keyword: string]: unknown }, description: string) => {
  const error = Type.Unsafe<unknown>({ type: ['object', 'null'], properties: errorProperties, title: 'PendingReason' })
  const properties = { result: NullableString(result), ...envelopeProperties({}, error) }
  return Type.Object(properties, { title: 'DeviceEnvelope', description })
}

/** Returns the specification's response envelope around a result. */
export function successEnvelope<Result>(result: Result) {
  return { result, targetUrl: null, success: true, error: null, unAuthorizedRequest: false, __abp: true } as const
}

/** Returns the specification's response envelope for a failure. */
export function failureEnvelope({ refusal, particulars }: RequestError) {
  const { code, message, status } = refusals[refusal]
  const { violation, fields } = particulars
  const explanation = violation && refusalText(violation)
  const details = particulars.details ?? (explanation === message ? null : (explanation ?? null))
  const validationErrors = fields?.map(validationErrorOf) ?? null
  return {
    result: null,
    targetUrl: null,
    success: false,
    error: { code, message, details, validationErrors },
    unAuthorizedRequest: status === 401 || status === 403,
    __abp: true,
  }
}

export function validationErrorOf({ field, subject, ...violation }: InvalidField) {
  const text = refusalText(violation, field)
  return { message: subject === undefined ? text : `${subject}: ${text}`, members: [field] }
}

const failureProperties: TProperties = {
  result: AlwaysNull,
  ...envelopeProperties({ examples: [false] }, Type.Object(errorProperties, { title: 'FailureReason' }), {
    description: 'True with 401 and 403.',
  }),
}

const FailureEnvelope = (description: string) => Type.Object(failureProperties, { title: 'Failure', description })

export const tooManyRequests = { 429: FailureEnvelope('Too many requests; see Retry-After.') }

/** The failures of routes that require a WebApiKey. */
export const keyFailures = {
  401: FailureEnvelope('The WebApiKey is missing or unknown.'),
  403: FailureEnvelope(
    'Not allowed, for example because the address is not on the allow-list, the merchant is suspended, or the key lacks the scope.',
  ),
  ...tooManyRequests,
  500: FailureEnvelope('Internal error.'),
  503: FailureEnvelope('A store is unavailable; see Retry-After.'),
}

export const badRequest = { 400: FailureEnvelope('Invalid; `validationErrors` names the fields.') }
export const unknownTransfer = { 404: FailureEnvelope('You have no such transfer.') }
export const settlingFailures = { 409: FailureEnvelope('Rejected without any change; `error.code` states why.') }
export const unknownCallback = { 404: FailureEnvelope('One of the callbacks is not yours; nothing was done.') }
export const bodyFailures = {
  413: FailureEnvelope('The body is too large; `error.details` states the limit.'),
  415: FailureEnvelope('The body is not JSON.'),
}

export const walletFailures = {
  400: FailureEnvelope('Invalid, or a wrong login, token or code; `error.code` states which.'),
  ...keyFailures,
  ...unknownTransfer,
  409: FailureEnvelope('The deposit cannot be paid now; `error.code` states why.'),
  ...bodyFailures,
}

export const createFailures = {
  ...badRequest,
  ...keyFailures,
  409: FailureEnvelope('The referenceId or the hashCode was already used for a different request.'),
  ...bodyFailures,
}
