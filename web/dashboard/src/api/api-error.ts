import type { RuleName } from '../../../../src/domain/rules'
import type { CommonRefusalName } from '../../../../src/http/refusals'

/**
 * `refused`: the server rejected the request, and nothing was changed. `unknown`: a change may or may not have been carried out, because
 * the response was lost or reports a server error. `unreachable`: a read got no usable response.
 */
export type Outcome = 'refused' | 'unknown' | 'unreachable'

/** Why the server rejects a request or one of its fields. */
export interface Reason {
  /** `undefined` in a response from outside the dashboard's API. */
  readonly rule?: RuleName | CommonRefusalName
  readonly values?: Readonly<Record<string, unknown>>
  /** The server's English text, for a rule without a text on the page. */
  readonly message: string
  /** The item of a batch to which the reason applies. */
  readonly subject?: string
}

interface Envelope {
  readonly error: Reason & {
    readonly validationErrors: readonly (Reason & { readonly members: readonly string[] })[] | null
  }
}

export class ApiError extends Error {
  override readonly name = 'ApiError'

  constructor(
    readonly outcome: Outcome,
    message: string,
    /** `undefined` without a response from the service. */
    readonly reason?: Reason,
    /** The messages by field of the request. */
    readonly fields: Readonly<Record<string, Reason>> = {},
    readonly status = 0,
  ) {
    super(message)
  }

  get rule(): Reason['rule'] | undefined {
    return this.reason?.rule
  }
}

/** Returns the error of a failed response. A change that failed with a 5xx status may have been carried out before the failure. */
export async function toApiError(response: Response, isChange: boolean): Promise<ApiError> {
  const { status } = response
  const outcome = status < 500 ? 'refused' : isChange ? 'unknown' : 'unreachable'
  const envelope = (await response.json().catch(() => undefined)) as Envelope | undefined
  if (!envelope?.error) return new ApiError(outcome, `HTTP ${status}`, undefined, {}, status)
  const { validationErrors, ...error } = envelope.error
  const fields: Record<string, Reason> = {}
  for (const { members, ...problem } of validationErrors ?? []) {
    for (const member of members) fields[member] ??= problem
  }
  return new ApiError(outcome, error.message, error, fields, status)
}
