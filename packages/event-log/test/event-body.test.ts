import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { decodeBody, encodeBody, idOfBody } from '../src/file/event-body.js'

const bytes = fc.uint8Array({ maxLength: 200 })
const json = fc.oneof(fc.object(), fc.jsonValue()).map((value) => Buffer.from(JSON.stringify(value) ?? 'null'))
const spaced = fc.object().map((value) => Buffer.from(` ${JSON.stringify(value, null, 2)}\n`))
const content = fc.oneof(bytes, json, spaced)

t.test('returns every event unchanged, byte by byte', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.boolean(), content, content, (type, isJson, data, metadata) => {
      const event = { id: randomUUID(), type, isJson, data, metadata }
      const body = encodeBody(event)
      const decoded = decodeBody(body)
      return (
        idOfBody(body) === event.id &&
        decoded.id === event.id &&
        decoded.type === type &&
        decoded.isJson === isJson &&
        Buffer.compare(decoded.data, data) === 0 &&
        Buffer.compare(decoded.metadata, metadata) === 0
      )
    }),
  )
  t.pass()
})

t.test('stores JSON objects in the same form as the service', async (t) => {
  const id = randomUUID()
  const event = { id, type: 'T"1', isJson: true, data: Buffer.from('{"a":1.0}'), metadata: Buffer.from('{}') }
  t.equal(encodeBody(event), `["${id}","T\\"1",{"a":1.0},{}]`)
  t.ok(encodeBody({ ...event, metadata: Buffer.alloc(0) }) instanceof Uint8Array)
  t.ok(encodeBody({ ...event, data: Buffer.from('{"a":1}x') }) instanceof Uint8Array, 'JSON followed by other text')
})
