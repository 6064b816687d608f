import diagnostics from 'node:diagnostics_channel'
import type { FastifyInstance, FastifySerializerCompiler } from 'fastify'
import { fieldPath } from '../../src/http/server/field-paths.js'

/**
 * Checks every JSON response of every Fastify application of the process. A serialiser omits each property that its schema does not
 * declare, and converts values of a different type, both silently.
 */
export const responseCheck = {
  /** Receives a message without values for each field that a response loses or changes. */
  report(message: string): void {
    throw new Error(message)
  },
}

diagnostics.subscribe('fastify.initialization', (message) => {
  const { fastify: app } = message as { readonly fastify: FastifyInstance }
  const { setSerializerCompiler } = app
  app.setSerializerCompiler = function (this: FastifyInstance, compiler: FastifySerializerCompiler<unknown>) {
    return setSerializerCompiler.call(this, checked(compiler))
  } as typeof setSerializerCompiler
})

function checked(compiler: FastifySerializerCompiler<unknown>): FastifySerializerCompiler<unknown> {
  return (route) => {
    const { method, url, httpStatus } = route
    const serialize = compiler(route)
    return (data) => {
      const text = serialize(data)
      for (const { fault, parts } of faultsOf(asJson(data), JSON.parse(text))) {
        const field = fieldPath(parts)
        responseCheck.report(`${method} ${url} ${httpStatus}: the response schema ${fault} the field ${field}`)
      }
      return text
    }
  }
}

function asJson(data: unknown): unknown {
  return JSON.parse(JSON.stringify(data, (_, value) => (typeof value === 'bigint' ? Number(value) : value)))
}

interface Fault {
  readonly fault: 'loses' | 'changes'
  readonly parts: readonly (string | number)[]
}

function* faultsOf(returned: unknown, sent: unknown, parts: Fault['parts'] = []): Generator<Fault> {
  if (!isContainer(returned) || !isContainer(sent) || Array.isArray(returned) !== Array.isArray(sent)) {
    if (returned !== sent) yield { fault: 'changes', parts }
    return
  }
  for (const [name, value] of Object.entries(returned)) {
    const inner = [...parts, Array.isArray(returned) ? Number(name) : name]
    if (Object.hasOwn(sent, name)) yield* faultsOf(value, sent[name], inner)
    else yield { fault: 'loses', parts: inner }
  }
}

function isContainer(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null
}
