import validators, { type ValidatorCompiler } from '@fastify/ajv-compiler'
import serializers from '@fastify/fast-json-stringify-compiler'
import type { FastifyInstance, FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'

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
