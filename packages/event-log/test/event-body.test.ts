import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  type Body,
  bodyOf,
  damagedType,
  decodeBody,
  encodeBody,
  idOfBody,
  parseBody,
  parseObject,
} from '../src/file/event-body.js'

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

t.test('any other text or bytes are a damaged event with all of its bytes and the same id each time', async (t) => {
  const id = randomUUID()
  const whole = `["${id}","T",{"a":[1,"\\"]"]},{"m":null}]`
  const damaged: [name: string, body: Body][] = [
    ['empty text', ''],
    ['no bytes', new Uint8Array(0)],
    ['an object', '{"a":1}'],
    ['three values', `["${id}","T",{}]`],
    ['five values', `["${id}","T",{},{},{}]`],
    ['a number as type', `["${id}",5,{},{}]`],
    ['an array as data', `["${id}","T",[],{}]`],
    ['no id', '["x","T",{},{}]'],
    ['a blob of a later version', Buffer.from([2, 0, ...Buffer.alloc(40)])],
    ['a blob that ends early', (encodeBody({ ...eventOf(id), isJson: false }) as Uint8Array).subarray(0, 28)],
    ['a type that is not UTF-8', Buffer.from([1, 0, ...Buffer.alloc(16), 1, 0, 0, 0, 0, 0, 0, 0, 0xff])],
    ...Array.from({ length: whole.length - 1 }, (_, end): [string, Body] => [`cut at ${end}`, whole.slice(0, end)]),
  ]
  for (const [name, body] of damaged) {
    const [parsedId, type, data, metadata] = parseBody(body)
    const base64 = Buffer.from(body as string).toString('base64')
    t.same([type, data, metadata], [damagedType, { base64 }, {}], name)
    t.equal(parseBody(body)[0], parsedId)
    const content = decodeBody(body)
    t.equal(content.id, parsedId, name)
    if (content.type === damagedType) t.same(parseObject(content.data), { base64 }, name)
  }
  t.equal(parseBody(whole.slice(0, -1))[0], id, 'the id that the text starts with')
  t.not(parseBody('1')[0], parseBody('2')[0])
})

t.test('text that is not UTF-8, and values of other kinds, are read as the stored bytes', async (t) => {
  t.equal(
    bodyOf('text', () => Buffer.from('not read')),
    'text',
  )
  t.equal(
    bodyOf('\ufffd', () => Buffer.from('\ufffd')),
    '\ufffd',
    'the character itself',
  )
  t.same(
    bodyOf('\ufffd', () => Buffer.from([0xff])),
    Buffer.from([0xff]),
  )
  t.same(
    bodyOf(null, () => null),
    new Uint8Array(0),
  )
  t.same(
    bodyOf(12, () => Buffer.from('12')),
    Buffer.from('12'),
  )
})

function eventOf(id: string) {
  return { id, type: 'T', isJson: true, data: Buffer.from('{}'), metadata: Buffer.from('{}') }
}
