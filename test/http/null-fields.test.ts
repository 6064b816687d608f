import type { FastifySchema } from 'fastify'
import t from 'tap'
import { destroyTestService, startTestService } from '../support/test-service.js'

interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly items?: Schema
}

const service = await startTestService()
t.teardown(() => destroyTestService(service))

const allowsNull = ({ type }: Schema) => [type].flat().includes('null')
const compile = service.app.validatorCompiler!

/** Validates a body in which each optional field is null, and of which only the required fields are missing. */
function nulls(schema: Schema): { readonly [name: string]: null } {
  return Object.fromEntries(
    Object.keys(schema.properties ?? {})
      .filter((name) => !schema.required?.includes(name))
      .map((name) => [name, null]),
  )
}

t.test('null means absent for every optional field of every route', async (t) => {
  const bodies = service.app.knownRoutes
    .filter(({ schema }) => (schema?.body as Schema | undefined)?.properties)
    .map(({ method, url, schema }) => ({ method, url, schema: schema as FastifySchema & { body: Schema } }))
  t.ok(bodies.length > 40)
  let fields = 0
  for (const { method, url, schema } of bodies) {
    const validate = compile({ schema: schema.body, method, url, httpPart: 'body' })
    const body: Record<string, unknown> = nulls(schema.body)
    fields += Object.keys(body).length
    const withNulls = validate(body)
    const problems = JSON.stringify(validate.errors)
    const without = validate({})
    t.equal(withNulls, without, `${method} ${url}`)
    t.equal(problems, JSON.stringify(validate.errors), `${method} ${url}`)
    for (const name of Object.keys(body))
      t.ok(allowsNull(schema.body.properties![name]!), `${method} ${url}: ${name} is absent, or null by its schema`)
  }
  t.ok(fields > 20)
})

t.test('null is removed within objects and lists, and stays invalid for a required field', async (t) => {
  const text = { type: 'string' }
  const item = { type: 'object', properties: { a: text, b: text }, required: ['a'] }
  const schema = { type: 'object', properties: { item, items: { type: 'array', items: item } }, required: [] }
  const validate = compile({ schema, method: 'POST', url: '/test', httpPart: 'body' })
  const body = { item: { a: 'x', b: null }, items: [{ a: 'x', b: null }] }
  t.equal(validate(body), true)
  t.same(body, { item: { a: 'x' }, items: [{ a: 'x' }] })
  t.equal(validate({ item: { a: null } }), false)
})
