import { type RefusalName, refusals } from '../../../../src/http/refusals'

/**
 * `refused`: the server rejected the request, and nothing was changed. `unknown`: a change may or may not have been carried out, because
 * the response was lost or reports a server error. `unreachable`: a read got no usable response.
 */
export type Outcome = 'refused' | 'unknown' | 'unreachable'

interface Envelope {
  readonly error: {
    readonly code: number
    readonly message: string
    readonly details: string | null
    readonly validationErrors: readonly { readonly message: string; readonly members: readonly string[] }[] | null
  }
}

const namesByCode = new Map(Object.entries(refusals).map(([name, { code }]) => [code, name as RefusalName]))

export function refusalNamed(code: number): RefusalName | undefined {
  return namesByCode.get(code)
}

export class ApiError extends Error {
  override readonly name = 'ApiError'

  constructor(
    readonly outcome: Outcome,
    /** The reason, by its name in src/http/refusals.ts; `undefined` if the response has none. */
    readonly refusal: RefusalName | undefined,
    message: string,
    readonly details: string | null = null,
    /** The messages about fields of the request, by field name. */
    readonly fields: Readonly<Record<string, string>> = {},
    readonly status = 0,
  ) {
    super(message)
  }
}

/** Returns the error of a failed response. A change that failed with a 5xx status may have been carried out before the failure. */
export async function toApiError(response: Response, isChange: boolean): Promise<ApiError> {
  const { status } = response
  const outcome = status < 500 ? 'refused' : isChange ? 'unknown' : 'unreachable'
  const envelope = (await response.json().catch(() => undefined)) as Envelope | undefined
  if (!envelope?.error) return new ApiError(outcome, undefined, `HTTP ${status}`, null, {}, status)
  const { code, message, details, validationErrors } = envelope.error
  const fields: Record<string, string> = {}
  for (const problem of validationErrors ?? []) {
    for (const member of problem.members) fields[member] ??= problem.message
  }
  return new ApiError(outcome, refusalNamed(code), message, details, fields, status)
}
