import fc from 'fast-check'
import t from 'tap'
import { failureEnvelope } from '../../src/http/envelope.js'
import { RequestError } from '../../src/http/refusals.js'
import { parseJsonBody } from '../../src/http/server/json-body.js'

const parse = (text: string) => parseJsonBody(Buffer.from(text))

/** Generates JSON tokens in random order, which are mostly, but not always, invalid JSON. */
const almostJson = fc
  .array(
    fc.constantFrom('{', '}', '[', ']', ':', ',', '"', '\\', '"amount"', '"a"', '1.50', '-1e5', ' ', 'null', '\\u0061'),
  )
  .map((parts) => parts.join(''))

function hasRefusedKey(text: string): boolean {
  return text.includes('__proto__') || text.includes('constructor')
}

t.test('reads the output of JSON.stringify like JSON.parse', (t) => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (text) => {
      if (hasRefusedKey(text)) return
      t.strictSame(parse(text).value, JSON.parse(text))
    }),
    { numRuns: 500 },
  )
  t.end()
})

t.test('accepts only valid JSON, and names a member in every error', (t) => {
  fc.assert(
    fc.property(almostJson, (text) => {
      try {
        parse(text)
      } catch (error) {
        if (!(error instanceof RequestError) || !error.particulars.fields?.[0]?.field) throw error
        return
      }
      JSON.parse(text)
    }),
    { numRuns: 5000 },
  )
  t.end()
})

t.test('rejects a repeated key at any depth and in any escaped form', (t) => {
  const key = fc.string({ minLength: 1 }).filter((text) => !hasRefusedKey(text))
  fc.assert(
    fc.property(key, fc.nat({ max: 10 }), fc.boolean(), (name, depth, escaped) => {
      const plain = JSON.stringify(name)
      const code = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
      const second = escaped ? `"${name.split('').map(code).join('')}"` : plain
      const inner = `{${plain}:1,"between":{${plain}:[1]},${second}:1}`
      if (name === 'between') return
      t.throws(() => parse(`${'{"x":['.repeat(depth)}${inner}${']}'.repeat(depth)}`), RequestError)
    }),
    { numRuns: 200 },
  )
  t.end()
})

t.test('names the path of a key that appears twice or is not allowed', (t) => {
  const faults: [string, string, string][] = [
    ['{"a":1,"\\u0061":2}', 'a', 'The key "a" appears twice.'],
    ['{"metadata":{"order":"1","order":"2"}}', 'metadata.order', 'The key "order" appears twice.'],
    ['{"b":{"a":1},"a":[1,[{}],{"b":[2,{"a":1,"a":1}]}]}', 'a[2].b[1].a', 'The key "a" appears twice.'],
    ['[{"a":1},{"a":1,"a":1}]', '[1].a', 'The key "a" appears twice.'],
    ['{"a":[1,{"__proto__":1}]}', 'a[1].__proto__', 'The key __proto__ is not allowed.'],
    ['{"a":[{"constructor":{"prototype":1}}]}', 'a[0].constructor', 'The key constructor.prototype is not allowed.'],
  ]
  const long = JSON.stringify(`\u0000${'x'.repeat(5_000)}`)
  const shown = `"\\u0000${'x'.repeat(38)}…"`
  faults.push([`{${long}:1,${long}:2}`, `[${shown}]`, `The key ${shown} appears twice.`])
  for (const [text, field, details] of faults) {
    try {
      parse(text)
      t.fail(text)
    } catch (error) {
      const { validationErrors } = failureEnvelope(error as RequestError).error
      t.same(validationErrors, [{ message: details, members: [field] }], text)
    }
  }
  t.end()
})

t.test('keeps the raw text of the top-level amount in any position and form', (t) => {
  const texts: [string, string | undefined][] = [
    ['{"amount":100.00}', '100.00'],
    ['{"amount" : \n\t 1e5 ,"a":1}', '1e5'],
    ['{"a":{"amount":7},"amount":-0.10}', '-0.10'],
    ['{"a":"\\"amount\\":7","amount":8}', '8'],
    ['{"\\u0061mount":100.0}', '100.0'],
    ['{"a":{"amount":7}}', undefined],
    ['{"amount":"7"}', undefined],
    ['{"amount":[7]}', undefined],
    ['{"amount":null}', undefined],
    ['[7]', undefined],
  ]
  for (const [text, amountText] of texts) t.equal(parse(text).amountText, amountText, text)
  t.end()
})

t.test('limits nesting to twenty levels', (t) => {
  t.ok(parse('['.repeat(20) + ']'.repeat(20)))
  t.throws(() => parse('['.repeat(21) + ']'.repeat(21)), RequestError)
  t.ok(parse(`{"a":"${'['.repeat(100)}"}`), 'brackets in a string do not count as nesting')
  t.end()
})
