import type { FastifySchemaValidationError } from 'fastify'
import { fieldProblem, type ValidationError } from '../refusals.js'

/** Neither control characters nor halves of surrogate pairs: both are lost or changed where text is stored and shown. */
export const printable = '^[^\\p{Cc}\\p{Cs}]*$'

export const printableNotBlank = '^(?=.*\\S)[^\\p{Cc}\\p{Cs}]*$'

/** What the caller reads in place of the pattern. */
const patternTexts: { readonly [pattern: string]: string } = {
  [printable]: 'must have no control characters',
  [printableNotBlank]: 'must not be blank and have no control characters',
}

/** One entry for each field a schema refused, whatever else is wrong with it; a body that is no object at all is called `body`. */
export function validationErrorsOf(problems: readonly FastifySchemaValidationError[]): ValidationError[] {
  const found = new Map<string, ValidationError>()
  for (const problem of problems) {
    const { keyword, params, instancePath } = problem
    const missing = keyword === 'required' ? String(params.missingProperty) : undefined
    const unknown = keyword === 'additionalProperties' ? String(params.additionalProperty) : undefined
    const member = missing ?? unknown ?? (instancePath.split('/')[1] || 'body')
    // A wrong type replaces what was found before: the rest follows from it.
    if (found.has(member) && keyword !== 'type') continue
    found.set(member, fieldProblem(member, missing ? 'is required' : describe(problem)))
  }
  return [...found.values()]
}

function describe({ keyword, params, message = 'is not valid' }: FastifySchemaValidationError): string {
  if (keyword === 'const') return `must be ${String(params.allowedValue)}`
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
  if (keyword === 'type') return `must be ${[params.type].flat().join(' or ')}`
  if (keyword === 'additionalProperties') return 'is no field of this request'
  if (keyword === 'pattern') return patternTexts[String(params.pattern)] ?? message
  return message
}
