import validators, { type ValidatorCompiler } from '@fastify/ajv-compiler'
import serializers from '@fastify/fast-json-stringify-compiler'
import type {
  FastifyInstance,
  FastifySchemaCompiler,
  FastifySchemaValidationError,
  FastifySerializerCompiler,
} from 'fastify'
import { violate } from '../../domain/decider.js'
import type { FieldViolation, Violation } from '../../domain/rules.js'
import { typedAs, typedForms } from '../../kernel/typed-text.js'
import { shownKey, withFieldPaths } from './field-paths.js'

type Validate = ReturnType<FastifySchemaCompiler<unknown>>

const ajv = {
  customOptions: {
    keywords: [typedAs],
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
    allErrors: true,
  },
}

// Shared by all applications of the process, which have equal schemas, so that each schema is compiled once.
const validatorsBySchema = new Map<string, Validate>()
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
  const isBody = route.httpPart === 'body'
  let compiled: Validate | undefined
  const validate: Validate = (data) => {
    if (isBody) prepare(route.schema as ObjectSchema, data)
    compiled ??= compiledOnce(route)
    const holds = compiled(data)
    if (holds === false) validate.errors = withFieldPaths(compiled.errors ?? [], data)
    return holds
  }
  return validate
}

function compiledOnce(route: Parameters<typeof validator>[0]): Validate {
  const text = JSON.stringify(route.schema)
  const known = validatorsBySchema.get(text) ?? (compileValidator(route) as Validate)
  validatorsBySchema.set(text, known)
  return known
}

interface ObjectSchema {
  readonly type?: string | readonly string[]
  readonly properties?: { readonly [name: string]: ObjectSchema }
  readonly required?: readonly string[]
  readonly items?: ObjectSchema
  readonly [typedAs]?: keyof typeof typedForms
}

/** Cleans what people typed, and removes optional fields that are null, because some serializers write null for a field that is not set. */
function prepare({ properties = {}, required = [], items }: ObjectSchema, data: unknown): void {
  if (Array.isArray(data)) {
    if (items) for (const each of data) prepare(items, each)
  } else if (typeof data === 'object' && data !== null) {
    const fields = data as Record<string, unknown>
    for (const [name, schema] of Object.entries(properties)) {
      const [value, kind] = [fields[name], schema[typedAs]]
      if (kind && typeof value === 'string') fields[name] = typedForms[kind](value)
      const isNull = value === null
      if (isNull && !required.includes(name) && ![schema.type].flat().includes('null')) delete fields[name]
      else if (schema.properties || schema.items) prepare(schema, value)
    }
  }
}

type Serialize = (data: unknown) => string
// Unlike Ajv, this compiler does not remember its schemas.
const serializersBySchema = new WeakMap<object, Serialize>()

const serializer: FastifySerializerCompiler<unknown> = (route) => {
  const schema = route.schema as object
  let compiled: Serialize | undefined
  return (data) => {
    if (!compiled) {
      compiled = serializersBySchema.get(schema) ?? compileSerializer(route)
      serializersBySchema.set(schema, compiled)
    }
    return compiled(data)
  }
}

/** Neither control characters nor halves of surrogate pairs: both are lost or changed when a text is stored and shown. */
export const printable = '^[^\\p{Cc}\\p{Cs}]*$'

export const printableNotBlank = '^(?=.*\\S)[^\\p{Cc}\\p{Cs}]*$'

/** Returns one violation for each field that a schema rejects. `problems`: of a validator of `setSchemaCompilers`. */
export function invalidFieldsOf(problems: readonly FastifySchemaValidationError[]): FieldViolation[] {
  const found = new Map<string, FieldViolation>()
  for (const { keyword, params, instancePath: field } of problems) {
    // A wrong type replaces an earlier violation, which follows from it.
    if (found.has(field) && keyword !== 'type') continue
    found.set(field, { field, ...(violations[keyword]?.(params) ?? violate('invalid')) })
  }
  return [...found.values()]
}

const violations: { readonly [keyword: string]: (params: FastifySchemaValidationError['params']) => Violation } = {
  required: () => violate('required'),
  additionalProperties: () => violate('unknown-field'),
  type: ({ type }) => violate('wrong-type', { types: [type].flat().join(' | ') }),
  const: ({ allowedValue }) => violate('not-equal', { expected: String(allowedValue) }),
  enum: ({ allowedValues }) => violate('not-one-of', { allowed: [allowedValues].flat().join(', ') }),
  pattern: ({ pattern }) => ofPattern(pattern) ?? violate('pattern-mismatch', { pattern: String(pattern) }),
  minLength: ({ limit }) => violate('too-short', { least: Number(limit) }),
  maxLength: ({ limit }) => violate('too-long', { most: Number(limit) }),
  minimum: ({ limit }) => violate('too-small', { least: Number(limit) }),
  maximum: ({ limit }) => violate('too-large', { most: Number(limit) }),
  exclusiveMinimum: ({ limit }) => violate('above', { limit: Number(limit) }),
  minItems: ({ limit }) => violate('too-few-items', { least: Number(limit) }),
  maxItems: ({ limit }) => violate('too-many-items', { most: Number(limit) }),
  maxProperties: ({ limit }) => violate('too-many-keys', { most: Number(limit) }),
  propertyNames: ({ propertyName, rule, limit, pattern }) => {
    const key = shownKey(String(propertyName))
    if (rule === 'minLength') return violate('key-too-short', { key, least: Number(limit) })
    if (rule === 'maxLength') return violate('key-too-long', { key, most: Number(limit) })
    if (rule === 'pattern') {
      return ofPattern(pattern) ?? violate('key-pattern-mismatch', { key, pattern: String(pattern) })
    }
    return violate('key-not-allowed', { key })
  },
}

function ofPattern(pattern: unknown): Violation | undefined {
  if (pattern === printable) return violate('control-characters')
  return pattern === printableNotBlank ? violate('blank-or-control-characters') : undefined
}
