import type { FastifySchemaValidationError } from 'fastify'
import type { ValidationError } from '../errors.js'
import { patternTexts } from '../merchant-api/create-schemas.js'

/** One entry for each field a schema refused, whatever else is wrong with it; a body that is no object at all is called `body`. */
export function validationErrorsOf(problems: readonly FastifySchemaValidationError[]): ValidationError[] {
  const told = new Map<string, ValidationError>()
  for (const problem of problems) {
    const { keyword, params, instancePath } = problem
    const missing = keyword === 'required' ? String(params.missingProperty) : undefined
    const member = missing ?? (instancePath.split('/')[1] || 'body')
    // Its type, where that is wrong: what else there is to say of the value follows from it.
    if (told.has(member) && keyword !== 'type') continue
    told.set(member, { message: `${member} ${missing ? 'is required' : describe(problem)}`, members: [member] })
  }
  return [...told.values()]
}

function describe({ keyword, params, message }: FastifySchemaValidationError): string {
  if (keyword === 'const') return `must be ${String(params.allowedValue)}`
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
  if (keyword === 'type') return `must be ${[params.type].flat().join(' or ')}`
  if (keyword === 'pattern') return patternTexts[String(params.pattern)] ?? message ?? 'is not valid'
  return message ?? 'is not valid'
}
