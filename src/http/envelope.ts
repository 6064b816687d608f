import type { TProperties, TSchema } from '@sinclair/typebox'
import { refusalText } from '../commands/refusal-texts.js'
import { Type } from '../kernel/typebox.js'
import { type InvalidField, type RequestError, refusals } from './refusals.js'

/** Written as a type list, which serialises faster than a union and is what OpenAPI 3.1 prefers. */
export const NullableString = (options: { readonly [keyword: string]: unknown } = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...options })

export const NullableInteger = (options: { readonly [keyword: string]: unknown } = {}) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], ...options })

/** The specification's envelope around a result (Resources, "Response envelope"). */
export const Envelope = <Result extends TSchema>(result: Result, description: string, title: string) =>
  Type.Object(
    {
      result,
      targetUrl: Type.Null(),
      success: Type.Boolean({ examples: [true] }),
      error: Type.Null(),
      unAuthorizedRequest: Type.Boolean({ examples: [false] }),
      __abp: Type.Boolean({ examples: [true] }),
    },
    { title, description },
  )

const errorProperties: TProperties = {
  code: Type.Integer({ description: 'Stable and never 0; see the list of errors.', examples: [40001] }),
  message: Type.String({ examples: ['Invalid request.'] }),
  details: NullableString(),
  validationErrors: Type.Unsafe<unknown>({
    type: ['array', 'null'],
    items: Type.Object({
      message: Type.String({ examples: ['amount must be greater than 0.'] }),
      members: Type.Array(Type.String(), { description: 'JSON field names.', examples: [['amount']] }),
    }),
  }),
}

/** What is polled answers 200 also while it has no result yet: `success` tells. */
export const PolledEnvelope = (result: { readonly [keyword: string]: unknown }, description: string) =>
  Type.Object(
    {
      result: NullableString(result),
      targetUrl: Type.Null(),
      success: Type.Boolean(),
      error: Type.Unsafe<unknown>({ type: ['object', 'null'], properties: errorProperties }),
      unAuthorizedRequest: Type.Boolean({ examples: [false] }),
      __abp: Type.Boolean({ examples: [true] }),
    },
    { title: 'DeviceEnvelope', description },
  )

/** The specification's response envelope around a result. */
export function successEnvelope<Result>(result: Result) {
  return { result, targetUrl: null, success: true, error: null, unAuthorizedRequest: false, __abp: true } as const
}

/** The specification's response envelope on failure. */
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
  result: Type.Null(),
  targetUrl: Type.Null(),
  success: Type.Boolean({ examples: [false] }),
  error: Type.Object(errorProperties),
  unAuthorizedRequest: Type.Boolean({ description: 'True with 401 and 403.' }),
  __abp: Type.Boolean({ examples: [true] }),
}

const FailureEnvelope = (description: string) => Type.Object(failureProperties, { title: 'Failure', description })

/** Of routes that ask for a WebApiKey. */
export const keyFailures = {
  401: FailureEnvelope('The WebApiKey is missing or unknown.'),
  403: FailureEnvelope('The address is not on the allow-list, the merchant is suspended, or the key lacks the scope.'),
  429: FailureEnvelope('Too many requests; see Retry-After.'),
  500: FailureEnvelope('A fault of the service.'),
  503: FailureEnvelope('A store is unavailable; see Retry-After.'),
}

export const badRequest = { 400: FailureEnvelope('Not valid; validationErrors names the fields.') }

export const unknownTransfer = { 404: FailureEnvelope('There is no such transfer of yours.') }

export const settlingFailures = {
  409: FailureEnvelope('Refused, and nothing was changed; `error.code` tells why.'),
}

export const unknownCallback = { 404: FailureEnvelope('One of them is no callback of yours; nothing was done.') }

export const bodyFailures = {
  413: FailureEnvelope('The body is larger than 16 KiB.'),
  415: FailureEnvelope('The body is not JSON.'),
}

export const walletFailures = {
  400: FailureEnvelope('Not valid, or a wrong log-in, token or code; `error.code` tells which.'),
  ...keyFailures,
  ...unknownTransfer,
  409: FailureEnvelope('The deposit cannot be paid now; `error.code` tells why.'),
  ...bodyFailures,
}

export const createFailures = {
  ...badRequest,
  ...keyFailures,
  409: FailureEnvelope('The referenceId or the hashCode was used before, for another request.'),
  ...bodyFailures,
}
