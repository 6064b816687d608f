import type { FastifySchemaValidationError } from 'fastify'
import type { ValidationError } from './errors.js'
import { patternTexts } from './schemas/creates.js'

/** One entry for each field a schema refused; a body that is no object at all is called `body`. */
export function validationErrorsOf(problems: readonly FastifySchemaValidationError[]): ValidationError[] {
  return problems.map((problem) => {
    const { keyword, params, instancePath } = problem
    const missing = keyword === 'required' ? String(params.missingProperty) : undefined
    const member = missing ?? (instancePath.split('/')[1] || 'body')
    return { message: `${member} ${missing ? 'is required' : describe(problem)}`, members: [member] }
  })
}

function describe({ keyword, params, message }: FastifySchemaValidationError): string {
  if (keyword === 'const') return `must be ${String(params.allowedValue)}`
  if (keyword === 'pattern') return patternTexts[String(params.pattern)] ?? message ?? 'is not valid'
  return message ?? 'is not valid'
}
