import { type RefusalName, refusals } from '../../../../src/http/refusals'

/**
 * `refused`: the server said no, and nothing was done. `unknown`: a change that may have been done, since no answer (or none that tells)
 * came. `unreachable`: nothing was asked to change, and no answer came.
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
    /** Why, by the name in src/http/refusals.ts; undefined when the answer does not say. */
    readonly refusal: RefusalName | undefined,
    message: string,
    readonly details: string | null = null,
    /** What is wrong with each field of the request. */
    readonly fields: Readonly<Record<string, string>> = {},
    readonly status = 0,
  ) {
    super(message)
  }
}

/** Of an answer that is no success. A change that failed with 5xx may have been done before it failed. */
export async function errorOf(answer: Response, isChange: boolean): Promise<ApiError> {
  const { status } = answer
  const outcome = status < 500 ? 'refused' : isChange ? 'unknown' : 'unreachable'
  const envelope = (await answer.json().catch(() => undefined)) as Envelope | undefined
  if (!envelope?.error) return new ApiError(outcome, undefined, `HTTP ${status}`, null, {}, status)
  const { code, message, details, validationErrors } = envelope.error
  const fields: Record<string, string> = {}
  for (const { message: said, members } of validationErrors ?? []) {
    for (const member of members) fields[member] ??= said
  }
  return new ApiError(outcome, refusalNamed(code), message, details, fields, status)
}
