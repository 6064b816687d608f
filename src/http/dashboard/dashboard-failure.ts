import type { RuleValue, RuleValues } from '../../domain/rule-values.js'
import type { Violation } from '../../domain/rules.js'
import { failureEnvelope, validationErrorOf } from '../envelope.js'
import type { CommonRefusalName, RequestError } from '../refusals.js'

/** The envelope of the merchant API, with the violated rules: pages have their own texts for these. */
export function dashboardFailure(failed: RequestError) {
  const { error, ...envelope } = failureEnvelope(failed)
  const validationErrors = failed.particulars.fields?.map((field) => ({
    ...validationErrorOf(field),
    ...ruleOf(field),
    ...(field.subject !== undefined && { subject: field.subject }),
  }))
  return { ...envelope, error: { ...error, ...ruleOfFailure(failed), validationErrors: validationErrors ?? null } }
}

/** The rule that explains a failure: the refusal itself if no other rule does. */
export function ruleOfFailure({ refusal, particulars }: RequestError) {
  // The dashboard's routes throw none of the other refusals.
  return ruleOf(particulars.violation ?? { rule: refusal as CommonRefusalName, values: {} })
}

export function ruleOf<Rule extends string>({ rule, values }: Violation<Rule>) {
  return { rule, values: jsonValues(values) }
}

/** Amounts become JSON numbers of minor units, as everywhere in the dashboard's API. */
function jsonValues(values: RuleValues): Record<string, Exclude<RuleValue, bigint>> {
  return JSON.parse(JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? Number(value) : value)))
}
