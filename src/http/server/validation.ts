import validators, { type ValidatorCompiler } from '@fastify/ajv-compiler'
import serializers from '@fastify/fast-json-stringify-compiler'
import type {
  FastifyInstance,
  FastifySchemaCompiler,
  FastifySchemaValidationError,
  FastifySerializerCompiler,
} from 'fastify'
import { type FieldViolation, type Violation, violate } from '../../kernel/rules.js'

type Validate = ReturnType<FastifySchemaCompiler<unknown>>

const ajv = { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: true } }

// Shared by all applications of the process, so that each schema is compiled once.
const compileValidator: ValidatorCompiler = validators()({}, ajv)
const compileSerializer = serializers()({}, {}) as FastifySerializerCompiler<unknown>

/**
 * Sets Fastify's own compilers, but compiles a schema on the first request that needs it: all of them took 0.4 s of each start, for
 * routes of which a process serves only a few. A test checks that all of them compile.
 */
export function setSchemaCompilers(app: FastifyInstance): void {
  app.setValidatorCompiler(validator).setSerializerCompiler(serializer)
}

const validator: FastifySchemaCompiler<unknown> = (route) => {
  let compiled: Validate | undefined
  const validate: Validate = (data) => {
    compiled ??= compileValidator(route) as Validate
    const holds = compiled(data)
    if (holds === false) validate.errors = compiled.errors ?? null
    return holds
  }
  return validate
}

const serializer: FastifySerializerCompiler<unknown> = (route) => {
  let compiled: ((data: unknown) => string) | undefined
  return (data) => {
    compiled ??= compileSerializer(route)
    return compiled(data)
  }
}

/** Neither control characters nor halves of surrogate pairs: both are lost or changed when a text is stored and shown. */
export const printable = '^[^\\p{Cc}\\p{Cs}]*$'

export const printableNotBlank = '^(?=.*\\S)[^\\p{Cc}\\p{Cs}]*$'

/** Returns one violation for each field that a schema rejects. A body that is not an object is called `body`. */
export function invalidFieldsOf(problems: readonly FastifySchemaValidationError[]): FieldViolation[] {
  const found = new Map<string, FieldViolation>()
  for (const problem of problems) {
    const { keyword, params, instancePath } = problem
    const missing = keyword === 'required' ? String(params.missingProperty) : undefined
    const unknown = keyword === 'additionalProperties' ? String(params.additionalProperty) : undefined
    const field = missing ?? unknown ?? (instancePath.split('/')[1] || 'body')
    // A wrong type replaces an earlier violation, which follows from it.
    if (found.has(field) && keyword !== 'type') continue
    found.set(field, { field, ...violationOf(problem) })
  }
  return [...found.values()]
}

function violationOf({ keyword, params }: FastifySchemaValidationError): Violation {
  const limit = Number(params.limit)
  switch (keyword) {
    case 'required':
      return violate('required')
    case 'additionalProperties':
      return violate('unknown-field')
    case 'type':
      return violate('wrong-type', { types: [params.type].flat().join(' | ') })
    case 'const':
      return violate('not-equal', { expected: String(params.allowedValue) })
    case 'enum':
      return violate('not-one-of', { allowed: [params.allowedValues].flat().join(', ') })
    case 'pattern':
      if (params.pattern === printable) return violate('control-characters')
      if (params.pattern === printableNotBlank) return violate('blank-or-control-characters')
      return violate('pattern-mismatch', { pattern: String(params.pattern) })
    case 'minLength':
      return violate('too-short', { least: limit })
    case 'maxLength':
      return violate('too-long', { most: limit })
    case 'minimum':
      return violate('too-small', { least: limit })
    case 'maximum':
      return violate('too-large', { most: limit })
    case 'exclusiveMinimum':
      return violate('above', { limit })
    case 'minItems':
      return violate('too-few-items', { least: limit })
    case 'maxItems':
      return violate('too-many-items', { most: limit })
    default:
      return violate('invalid')
  }
}
