import fc from 'fast-check'
import { fastify } from 'fastify'
import t from 'tap'
import { failureEnvelope } from '../../src/http/envelope.js'
import { invalidFields } from '../../src/http/refusals.js'
import { fieldPath } from '../../src/http/server/field-paths.js'
import { invalidFieldsOf, setSchemaCompilers } from '../../src/http/server/validation.js'
import { isVisible } from '../../src/kernel/text.js'

const app = fastify()
setSchemaCompilers(app)
t.teardown(() => app.close())

function violationsOf(schema: object, value: unknown) {
  const validate = app.validatorCompiler!({ schema, method: 'POST', url: '/test', httpPart: 'body' })
  return validate(value) ? [] : invalidFieldsOf(validate.errors as Parameters<typeof invalidFieldsOf>[0])
}

/** Returns the messages of the response. */
function messagesOf(schema: object, value: unknown) {
  return failureEnvelope(invalidFields(violationsOf(schema, value))).error.validationErrors!.map(
    ({ message }) => message,
  )
}

type Part = string | number

/** Returns the parts of a path that is not shortened. */
function partsIn(path: string): Part[] {
  const parts = [...path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|(?:^|\.)([\p{L}\p{N}_$-]+)/gu)]
  if (parts.map(([text]) => text).join('') !== path) throw new Error(`not a path: ${path}`)
  return parts.map(([, index, quoted, plain]) => (index ? Number(index) : quoted ? JSON.parse(quoted) : plain!))
}

interface Sample {
  readonly schema: object
  readonly value: unknown
  /** Where the texts of the value are. */
  readonly texts: readonly (readonly Part[])[]
}

const key = fc
  .oneof(
    fc.constantFrom('metadata', 'items', '3', '0', 'a/b', '~1', '~0', 'a.b', '[0]', '', '"', '\\', 'ş', '\u202e', '\n'),
    fc.string({ maxLength: 10 }),
  )
  .filter((name) => name !== '__proto__')

const { object } = fc.letrec<{ object: Sample; sample: Sample }>((tie) => ({
  object: fc.dictionary(key, tie('sample'), { minKeys: 1, maxKeys: 4, noNullPrototype: true }).map((members) => {
    const entries = Object.entries(members)
    const of = (part: 'schema' | 'value') => Object.fromEntries(entries.map(([name, each]) => [name, each[part]]))
    return {
      schema: { type: 'object', properties: of('schema'), required: Object.keys(members), additionalProperties: false },
      value: of('value'),
      texts: entries.flatMap(([name, { texts }]) => texts.map((parts) => [name, ...parts])),
    }
  }),
  sample: fc.oneof(
    { maxDepth: 4 },
    fc.constant<Sample>({ schema: { type: 'string' }, value: 'x', texts: [[]] }),
    tie('object'),
    fc.tuple(tie('sample'), fc.integer({ min: 1, max: 12 })).map(([{ schema, value, texts }, length]) => ({
      schema: { type: 'array', items: schema },
      value: Array.from({ length }, () => value),
      texts: Array.from({ length }, (_, index) => texts.map((parts) => [index, ...parts])).flat(),
    })),
  ),
}))

/** Changes the value at the end of a path. */
function changed(value: unknown, [part, ...rest]: readonly Part[], change: (end: unknown) => unknown): unknown {
  if (part === undefined) return change(value)
  if (Array.isArray(value)) return value.map((each, index) => (index === part ? changed(each, rest, change) : each))
  return { ...(value as object), [part]: changed((value as Record<string, unknown>)[part], rest, change) }
}

t.test('the field of a violation leads to the wrong value, for every schema', async (t) => {
  await fc.assert(
    fc.property(object, fc.nat(), key, fc.constantFrom('wrong', 'missing', 'unknown'), (sample, n, name, fault) => {
      const text = sample.texts[n % sample.texts.length]!
      const container = text.slice(
        0,
        text.findLastIndex((part) => typeof part === 'string'),
      )
      let place: readonly Part[] = text.slice(0, container.length + 1)
      let rule = 'required'
      let wrong: unknown
      if (fault === 'wrong') {
        ;[place, rule] = [text, 'wrong-type']
        wrong = changed(sample.value, text, () => 7)
      } else if (fault === 'missing') {
        const omitted = String(place.at(-1))
        wrong = changed(sample.value, container, (end) =>
          Object.fromEntries(Object.entries(end as object).filter(([each]) => each !== omitted)),
        )
      } else {
        ;[place, rule] = [[...container, name], 'unknown-field']
        wrong = changed(sample.value, container, (end) => ({ [name]: 'x', ...(end as object) }))
        if (JSON.stringify(wrong).length === JSON.stringify(sample.value).length) return
      }
      const found = violationsOf(sample.schema, structuredClone(wrong))
      t.strictSame(
        found.map(({ field, rule }) => [partsIn(field), rule]),
        [[place, rule]],
      )
      if (!isVisible(found[0]!.field)) throw new Error('a character of the field is hidden')
    }),
    { numRuns: 150 },
  )
})

t.test('a path is short and visible for every value', async (t) => {
  t.equal(fieldPath([]), 'body')
  t.equal(fieldPath(['items', 3, 'trackingId']), 'items[3].trackingId')
  t.equal(fieldPath(['metadata', 'Last-Event-ID']), 'metadata.Last-Event-ID')
  t.equal(fieldPath(['metadata', 'a.b']), 'metadata["a.b"]')
  t.equal(fieldPath(['metadata', 'a\n\u202e"']), String.raw`metadata["a\n\u202e\""]`)
  t.equal(fieldPath(['a\u3164b']), String.raw`["a\u3164b"]`)
  t.equal(fieldPath(['metadata', 'x'.repeat(10_000_000)]), `metadata["${'x'.repeat(39)}…"]`)
  t.equal(fieldPath(['m', '😀'.repeat(41)]), `m["${'😀'.repeat(39)}…"]`)
  const part = fc.oneof(fc.nat(), fc.string({ unit: 'binary', maxLength: 100 }))
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      const path = fieldPath(parts)
      return [...path].length <= 200 && isVisible(path)
    }),
  )
})

const text = { type: 'string', maxLength: 5 }
const metadata = {
  type: 'object',
  properties: {
    metadata: {
      type: 'object',
      maxProperties: 3,
      propertyNames: { minLength: 1, maxLength: 40 },
      additionalProperties: text,
    },
  },
}

t.test('names the rule that the keys of an object violate once', async (t) => {
  const messages = (value: unknown) => messagesOf(metadata, { metadata: value })
  t.same(messages({ order: 7 }), ['metadata.order must be of type string.'])
  t.same(messages({ order: 'too long' }), ['metadata.order must have at most 5 characters.'])
  t.same(messages({ order: null }), ['metadata.order must be of type string.'])
  t.same(messages('order'), ['metadata must be of type object.'])
  t.same(messages([]), ['metadata must be of type object.'])
  t.same(messages({ a: '', b: '', c: '', d: '' }), ['metadata must have at most 3 keys.'])
  t.same(messages({ '': '' }), ['metadata must have keys of at least 1 characters. "" is too short.'])
  t.same(messages({ '': '', ['x'.repeat(1_000_000)]: 'too long' }), [
    'metadata must have keys of at least 1 characters. "" is too short.',
    `metadata["${'x'.repeat(39)}…"] must have at most 5 characters.`,
  ])
  t.same(messages({ [`\u0000\u202e${'x'.repeat(1_000_000)}`]: '' }), [
    `metadata must have keys of at most 40 characters. "\\u0000\\u202e${'x'.repeat(37)}…" is too long.`,
  ])
  const patterned = (pattern: string) => ({ type: 'object', propertyNames: { pattern } })
  t.same(messagesOf(patterned('^[a-z]*$'), { A1: '' }), [
    'body must have keys that match the pattern ^[a-z]*$. "A1" does not.',
  ])
  t.same(messagesOf(patterned('^[^\\p{Cc}\\p{Cs}]*$'), { 'a\n': '' }), ['body must not contain control characters.'])
  t.same(messagesOf({ type: 'object', propertyNames: { enum: ['a'] } }, { b: '' }), ['The key "b" is not allowed.'])
})

t.test('reports the branch of a union that the value was meant for', async (t) => {
  const id = { type: 'object', properties: { id: text }, required: ['id'], additionalProperties: false }
  const named = { type: 'object', properties: { ids: { type: 'array', items: id } }, required: ['ids'] }
  const since = { type: 'object', properties: { since: text }, required: ['since'] }
  const closed = [named, since].map((schema) => ({ ...schema, additionalProperties: false }))
  const cases: [object, unknown, string[]][] = [
    [{ anyOf: closed }, { ids: [{ id: 7 }, {}] }, ['v.ids[0].id must be of type string.', 'v.ids[1].id is required.']],
    [{ anyOf: closed }, { since: 7 }, ['v.since must be of type string.']],
    [{ anyOf: closed }, { since: 'x', more: 1 }, ['v.more is not a field of this request.']],
    [{ anyOf: closed }, {}, ['v.ids is required.']],
    [{ anyOf: closed }, 'x', ['v must be of type object.']],
    [{ anyOf: [id, { type: 'null' }] }, { id: 7 }, ['v.id must be of type string.']],
    [{ anyOf: [id, { type: 'null' }] }, 7, ['v must be of type object.']],
    [{ anyOf: [text, { type: 'null' }] }, 'too long', ['v must have at most 5 characters.']],
    [{ anyOf: [text, { const: 7 }] }, 8, ['v must be of type string.']],
    [{ anyOf: [{ const: 'a', type: 'string' }, { enum: ['b', 'c'] }] }, 'd', ['v must be one of: a, b, c.']],
    [{ anyOf: [{ const: 'a', type: 'string' }, { enum: ['b', 'c'] }] }, 7, ['v must be one of: a, b, c.']],
    [{ oneOf: [text, { type: 'string', minLength: 1 }] }, 'x', ['v is invalid.']],
    [
      { type: 'array', items: { anyOf: [{ type: 'array', items: { anyOf: [id, { type: 'null' }] } }, id] } },
      [[{ id: 7 }, null], { id: 'x' }, { id: 8 }],
      ['v[0][0].id must be of type string.', 'v[2].id must be of type string.'],
    ],
  ]
  for (const [schema, v, messages] of cases) {
    t.same(messagesOf({ type: 'object', properties: { v: schema } }, { v }), messages, JSON.stringify(v))
  }
})

t.test('a body with ten thousand wrong entries gets a short response', async (t) => {
  const items = Array.from({ length: 10_000 }, (_, index) => index)
  const entries = { type: 'object', properties: { items: { type: 'array', items: text } } }
  const listed = messagesOf(entries, { items })
  t.equal(listed.length, 100)
  t.equal(listed[99], 'items[99] must be of type string.')
  const keys = Object.fromEntries(items.map((index) => [`${index}${'\u0000'.repeat(30)}`, 7]))
  const response = JSON.stringify(messagesOf(metadata, { metadata: keys }))
  t.ok(response.length < 40_000, `${response.length} characters`)
  const union = {
    anyOf: [
      { type: 'array', items: text },
      { type: 'array', items: { type: 'null' } },
    ],
  }
  t.equal(
    messagesOf(
      union,
      Array.from({ length: 200_000 }, () => 7),
    ).length,
    100,
  )
})
