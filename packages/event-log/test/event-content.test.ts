import { randomUUID } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { type EventToAppend, openEventLog, type SerializedEvent } from '../src/event-log.js'
import { tempDirectory } from './support/temp-directory.js'

const log = await openEventLog({ directory: tempDirectory(t), writerThread: false })
t.teardown(() => log.close())

class Money {
  readonly amount = 1
}

t.test('stores every JSON object as the same object', async (t) => {
  const object = fc.dictionary(fc.string(), fc.jsonValue())
  await fc.assert(
    fc.asyncProperty(object, object, async (data, metadata) => {
      const stream = randomUUID()
      await log.append(stream, 'no_stream', [{ type: 'T', data, metadata }])
      const [stored] = await log.readStream(stream)
      t.strictSame(JSON.stringify([stored?.data, stored?.metadata]), JSON.stringify([data, metadata]))
    }),
    { numRuns: 50 },
  )
})

t.test('rejects data and metadata that are not plain objects, and names the event', async (t) => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const wrong: [kind: string, value: unknown][] = [
    ['an array', []],
    ['null', null],
    ['a number', 1],
    ['a function', () => ({})],
    ['a map', new Map([['a', 1]])],
    ['a date', new Date(0)],
    ['an error', new Error('x')],
    ['bytes', Buffer.from('{}')],
    ['an instance of a class', new Money()],
    ['an object whose toJSON returns a number', { toJSON: () => 1 }],
    ['an object whose toJSON returns nothing', { toJSON: () => undefined }],
    ['a bigint', { amount: { minor: 1n } }],
    ['a circular object', circular],
    ['the text of an array', '[]'],
    ['the text of a number', '1'],
    ['an empty text', ''],
    ['a text with a space before it', ' {}'],
    ['a text that is cut off', '{"a":1'],
  ]
  for (const [kind, value] of wrong) {
    for (const part of ['data', 'metadata'] as const) {
      const event = { id: randomUUID(), type: 'OrderPlaced', data: {}, metadata: {}, [part]: value }
      const appended = log.append('order', 'no_stream', [event as unknown as SerializedEvent])
      const named = { name: 'TypeError', message: new RegExp(`\\b${part} of the event OrderPlaced\\b`) }
      await t.rejects(appended, named, `${kind} as ${part}`)
    }
  }
  t.same(await log.readStream('order'), [])
})

t.test('rejects types and stream names that are not text, and only these appends', async (t) => {
  const others = [undefined, null, 5, true, {}, ['T'], new String('T'), Symbol('T'), () => 'T', '', 'a\ud800']
  for (const other of others) {
    const append = (stream: unknown, type: unknown) =>
      log.append(stream as string, 'any', [{ type: type as string, data: {} }])
    const simultaneous = [append('names', other), append(other, 'T'), append('simultaneous', 'T')]
    const [type, stream, valid] = await Promise.allSettled(simultaneous)
    const required = { name: 'TypeError', message: /must be well-formed text and not empty$/ }
    t.match(type, { status: 'rejected', reason: required }, `the type ${typeof other}`)
    t.match(stream, { status: 'rejected', reason: required }, `the name ${typeof other}`)
    t.match(valid, { status: 'fulfilled' })
  }
  t.same(await log.readStream('names'), [])
  t.equal((await log.readStream('simultaneous')).length, others.length)
})

t.test('accepts objects without a prototype, of another realm, and with a toJSON that returns an object', async (t) => {
  const objects = [
    Object.assign(Object.create(null), { a: 1 }),
    runInNewContext('({ a: 1 })'),
    { toJSON: () => ({ a: 1 }) },
  ]
  const events: EventToAppend[] = objects.map((data) => ({ type: 'T', data }))
  await log.append('objects', 'no_stream', events)
  t.same(
    (await log.readStream('objects')).map(({ data }) => data),
    objects.map(() => ({ a: 1 })),
  )
})

t.test('an omitted id is a new UUID, and omitted metadata is empty', async (t) => {
  await log.append('ids', 'no_stream', [
    { type: 'T', data: {} },
    { type: 'T', data: {} },
  ])
  const [first, second] = await log.readStream('ids')
  t.match(first, { id: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, metadata: {} })
  t.not(first?.id, second?.id)
})
