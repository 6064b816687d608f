import diagnostics from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { Type } from '../../src/kernel/typebox.js'
import { responseCheck } from '../support/response-check.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const Item = Type.Object({ id: Type.String(), inner: Type.Optional(Type.Object({ b: Type.String() })) })
const Recursive = Type.Recursive((This) => Type.Object({ id: Type.String(), children: Type.Array(This) }))

/** The declared schema, the returned value, and the faults. */
const cases: { readonly [name: string]: readonly [object, unknown, readonly string[]] } = {
  correct: [Item, { id: 'x', inner: { b: 'x' } }, []],
  'undefined is not returned': [Item, { id: 'x', inner: undefined, more: undefined }, []],
  'top level': [Item, { id: 'x', secret: 'canary' }, ['loses the field secret']],
  nested: [Item, { id: 'x', inner: { b: 'x', secret: 'canary' } }, ['loses the field inner.secret']],
  array: [
    Type.Object({ items: Type.Array(Item) }),
    { items: [{ id: 'x' }, { id: 'x', 'a b': 'canary' }] },
    ['loses the field items[1]["a b"]'],
  ],
  union: [
    Type.Object({ v: Type.Union([Item, Type.Object({ n: Type.Integer(), deep: Item }), Type.Null()]) }),
    { v: { n: 1, deep: { id: 'x', secret: 'canary' } } },
    ['loses the field v.deep.secret'],
  ],
  'null in a union': [Type.Object({ v: Type.Union([Item, Type.Null()]) }), { v: null }, []],
  // The serialiser takes the first branch that accepts the value.
  'the first branch': [
    Type.Union([Type.Object({ a: Type.String() }), Type.Object({ a: Type.String(), b: Type.String() })]),
    { a: 'x', b: 'canary' },
    ['loses the field b'],
  ],
  'additional properties': [
    Type.Object({ id: Type.String() }, { additionalProperties: true }),
    { id: 'x', b: [1] },
    [],
  ],
  record: [Type.Record(Type.String(), Item), { a: { id: 'x' }, b: { id: 'x', c: 'canary' } }, ['loses the field b.c']],
  pattern: [
    Type.Record(Type.String({ pattern: '^a' }), Type.String()),
    { ab: 'x', b: 'canary' },
    ['loses the field b'],
  ],
  unsafe: [
    Type.Object({ v: Type.Unsafe<object>({ type: ['object', 'null'], properties: { a: { type: 'string' } } }) }),
    { v: { a: 'x', b: 'canary' } },
    ['loses the field v.b'],
  ],
  unknown: [Type.Object({ v: Type.Unknown() }), { v: { a: [{ b: null }] } }, []],
  reference: [
    Recursive,
    { id: 'x', children: [{ id: 'x', children: [{ id: 'x', children: [], more: 'canary' }] }] },
    ['loses the field children[0].children[0].more'],
  ],
  converted: [Type.Object({ a: Type.String(), n: Type.Integer() }), { a: null, n: 5n }, ['changes the field a']],
  'missing field': [Item, { inner: { b: 'x' } }, []],
}

function plant(message: unknown) {
  const { fastify: app } = message as { readonly fastify: FastifyInstance }
  for (const [name, [schema, value]] of Object.entries(cases)) {
    app.get(`/planted/${name.replaceAll(' ', '-')}`, { schema: { response: { '2xx': schema } } }, async () => value)
  }
}

t.test('a response that loses or changes a field fails the test, and the message names the field', async (t) => {
  const { report } = responseCheck
  const messages: string[] = []
  diagnostics.subscribe('fastify.initialization', plant)
  const service = await startTestService()
  diagnostics.unsubscribe('fastify.initialization', plant)
  responseCheck.report = (message) => void messages.push(message)
  t.teardown(async () => {
    responseCheck.report = report
    await destroyTestService(service)
  })
  for (const [name, [, , faults]] of Object.entries(cases)) {
    const url = `/planted/${name.replaceAll(' ', '-')}`
    const { statusCode, body } = await service.app.inject(url)
    if (name === 'missing field') t.match(body, 'is required!')
    t.equal(statusCode, name === 'missing field' ? 500 : 200, name)
    const expected = faults.map((fault) => `GET ${url} 2xx: the response schema ${fault}`)
    t.same(messages.splice(0), expected, name)
  }
})
