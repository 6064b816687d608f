import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import {
  type Append,
  AppendTooLargeError,
  comparePositions,
  type EventLog,
  type EventStore,
  type ExpectedRevision,
  eventText,
  maxAppendBytes,
  type NewEvent,
  type Page,
  type Position,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../../src/event-store/event-store.js'

interface Adapter {
  readonly name: string
  /** A store that may already hold events of other programs. */
  readonly open: () => Promise<EventStore>
}

/** Returns a unique stream name, because a real server may hold streams of earlier runs. */
function newStream(kind = 'x'): string {
  return `${kind}-${randomUUID()}`
}

/** Creates events that are identified by a letter: the same letter always returns the same event. */
class Letters {
  readonly #ids = new Map<string, string>()

  id(letter: string): string {
    const id = this.#ids.get(letter) ?? randomUUID()
    this.#ids.set(letter, id)
    return id
  }

  /** `a'` has the id of `a` and different content. */
  events(...letters: string[]): NewEvent[] {
    return letters.map((letter) => ({
      id: this.id(letter.slice(0, 1)),
      type: `T-${letter}`,
      data: { letter },
      metadata: { by: 'contract' },
    }))
  }

  show(events: readonly RecordedEvent[]): string {
    return events.map((event) => `${event.revision}:${event.type.slice(2)}`).join(' ')
  }
}

/** Returns `ok <revision>@<revision of the event at the position>`, or the rejection. */
async function attempt(
  store: EventLog,
  stream: string,
  expected: ExpectedRevision,
  events: readonly NewEvent[],
): Promise<string> {
  try {
    const { revision, position } = await store.append(stream, expected, events)
    const at = (await store.readStream(stream)).find((event) => comparePositions(event.position, position) === 0)
    return `ok ${revision}@${at?.revision ?? 'none'}`
  } catch (error) {
    if (!(error instanceof WrongExpectedRevisionError)) throw error
    return `wrong: expected ${error.expected}, actual ${error.actual}`
  }
}

function data(bytes: number): { readonly text: string } {
  const empty = Buffer.byteLength(JSON.stringify({ text: '' }))
  return { text: 'x'.repeat(bytes - empty) }
}

async function allOf(store: EventStore, options: Omit<ReadAllOptions, 'maxCount'>, maxCount = 100) {
  const events: RecordedEvent[] = []
  let after = options.after
  for (;;) {
    const page: Page = await store.readAll({ ...options, maxCount, ...(after === undefined ? {} : { after }) })
    events.push(...page.events)
    after = page.checkpoint ?? after
    if (page.atEnd) return { events, checkpoint: after }
  }
}

/** Returns the end of the log, after which all events belong to this test. */
async function endOf(store: EventStore): Promise<Position> {
  const marker = await store.append(newStream('marker'), 'no_stream', new Letters().events('m'))
  return marker.position
}

/** Iterates in the background and collects the events. */
function follow(pages: AsyncIterable<Page>) {
  const seen = { events: [] as RecordedEvent[], pages: [] as Page[], ended: Promise.resolve() }
  seen.ended = (async () => {
    for await (const page of pages) {
      seen.pages.push(page)
      seen.events.push(...page.events)
    }
  })()
  return seen
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadlineMs = Date.now() + 10_000
  while (!condition()) {
    if (Date.now() > deadlineMs) throw new Error(`timed out waiting for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Tests the rules of every event store: the behaviour of EventStoreDB 23.10. */
export function eventStoreContract(t: Test, { name, open }: Adapter): void {
  t.test(name, async (t) => {
    const store = await open()
    t.teardown(() => store.close())
    appendRules(t, store)
    idempotencyRules(t, store)
    reservationRules(t, store)
    limitRules(t, store)
    readRules(t, store)
    readAllRules(t, store)
    subscriptionRules(t, store)
  })
}

function appendRules(t: Test, store: EventStore): void {
  const table: [state: string, before: string[], expected: ExpectedRevision, result: string][] = [
    ['a missing stream', [], 'no_stream', 'ok 0@0'],
    ['a missing stream', [], 0, 'wrong: expected 0, actual no_stream'],
    ['a missing stream', [], 7, 'wrong: expected 7, actual no_stream'],
    ['a missing stream', [], 'any', 'ok 0@0'],
    ['a missing stream', [], 'stream_exists', 'wrong: expected stream_exists, actual no_stream'],
    ['a stream with two events', ['a', 'b'], 'any', 'ok 2@2'],
    ['a stream with two events', ['a', 'b'], 'stream_exists', 'ok 2@2'],
    ['a stream with two events', ['a', 'b'], 'no_stream', 'wrong: expected no_stream, actual 1'],
    ['a stream with two events', ['a', 'b'], 0, 'wrong: expected 0, actual 1'],
    ['a stream with two events', ['a', 'b'], 1, 'ok 2@2'],
    ['a stream with two events', ['a', 'b'], 2, 'wrong: expected 2, actual 1'],
    ['a stream with two events', ['a', 'b'], 2 ** 31, 'wrong: expected 2147483648, actual 1'],
    ['a stream with two events', ['a', 'b'], 2 ** 53 - 1, 'wrong: expected 9007199254740991, actual 1'],
  ]
  for (const [state, before, expected, result] of table) {
    t.test(`a new event on ${state}, expected revision ${expected}: ${result}`, async (t) => {
      const letters = new Letters()
      const stream = newStream()
      if (before.length > 0) await store.append(stream, 'no_stream', letters.events(...before))
      t.equal(await attempt(store, stream, expected, letters.events('n')), result)
      const stored = result.startsWith('ok') ? [...before, 'n'] : before
      t.equal(letters.show(await store.readStream(stream)), stored.map((letter, i) => `${i}:${letter}`).join(' '))
    })
  }

  const emptyAppends: [before: string[], expected: ExpectedRevision, result: string][] = [
    [[], 'no_stream', 'ok 0'],
    [[], 0, 'wrong: expected 0, actual no_stream'],
    [['a', 'b'], 1, 'ok 1'],
    [['a', 'b'], 0, 'wrong: expected 0, actual 1'],
    [['a', 'b'], 2, 'wrong: expected 2, actual 1'],
    [['a', 'b'], 'no_stream', 'wrong: expected no_stream, actual 1'],
    [[], 'any', 'ok 0'],
    [[], 'stream_exists', 'wrong: expected stream_exists, actual no_stream'],
    [['a', 'b'], 'any', 'ok 1'],
    [['a', 'b'], 'stream_exists', 'ok 1'],
  ]
  for (const [before, expected, result] of emptyAppends) {
    t.test(
      `no events on a stream with ${before.length}, expected ${expected}: ${result}, nothing stored`,
      async (t) => {
        const letters = new Letters()
        const stream = newStream()
        if (before.length > 0) await store.append(stream, 'no_stream', letters.events(...before))
        t.equal((await attempt(store, stream, expected, [])).replace(/@.*/, ''), result)
        t.equal((await store.readStream(stream)).length, before.length)
        const next = before.length === 0 ? 'no_stream' : before.length - 1
        t.equal(await attempt(store, stream, next, letters.events('z')), `ok ${before.length}@${before.length}`)
      },
    )
  }

  t.test('an append of several events returns the last one', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    t.equal(await attempt(store, stream, 'no_stream', letters.events('a')), 'ok 0@0')
    t.equal(await attempt(store, stream, 0, letters.events('b', 'c', 'd')), 'ok 3@3')
  })

  t.test('positions increase with every event, regardless of its stream', async (t) => {
    const letters = new Letters()
    const [x, y] = [newStream(), newStream()]
    await store.append(x, 'no_stream', letters.events('a', 'b'))
    await store.append(y, 'no_stream', letters.events('c'))
    await store.append(x, 1, letters.events('d'))
    const inOrder = [...(await store.readStream(x)), ...(await store.readStream(y))].sort((a, b) =>
      comparePositions(a.position, b.position),
    )
    t.same(
      inOrder.map((event) => event.data.letter),
      ['a', 'b', 'c', 'd'],
    )
  })

  t.test('one of twenty simultaneous appends with the same expected revision succeeds', async (t) => {
    const stream = newStream()
    await store.append(stream, 'no_stream', new Letters().events('a'))
    const results = await Promise.all(
      Array.from({ length: 20 }, () => attempt(store, stream, 0, new Letters().events('n'))),
    )
    t.equal(results.filter((result) => result === 'ok 1@1').length, 1)
    t.equal(results.filter((result) => result === 'wrong: expected 0, actual 1').length, 19)
    t.equal((await store.readStream(stream)).length, 2)
  })

  t.test('stores three hundred simultaneous appends to as many streams', async (t) => {
    const streams = Array.from({ length: 300 }, () => newStream())
    const results = await Promise.all(
      streams.map((stream) => attempt(store, stream, 'no_stream', new Letters().events('a', 'b'))),
    )
    t.same([...new Set(results)], ['ok 1@1'])
  })

  t.test('executes appends in order sequentially', async (t) => {
    const letters = new Letters()
    const [x, y] = [newStream(), newStream()]
    const results = await store.appendInOrder([
      { stream: x, expectedRevision: 'no_stream', events: letters.events('a') },
      { stream: y, expectedRevision: 'no_stream', events: letters.events('b', 'c') },
      { stream: x, expectedRevision: 0, events: letters.events('d') },
    ])
    t.same(
      results.map(({ revision }) => revision),
      [0, 1, 1],
    )
    t.equal(comparePositions(results[0]!.position, results[1]!.position), -1)
    t.equal(comparePositions(results[1]!.position, results[2]!.position), -1)
    t.same(await store.appendInOrder([]), [])
  })

  t.test('appends in order stop at the first rejection, and the earlier ones remain', async (t) => {
    const letters = new Letters()
    const [x, y, z] = [newStream(), newStream(), newStream()]
    await store.append(y, 'no_stream', letters.events('o'))
    const appends = [
      { stream: x, expectedRevision: 'no_stream', events: letters.events('a') },
      { stream: y, expectedRevision: 'no_stream', events: letters.events('b') },
      { stream: z, expectedRevision: 'no_stream', events: letters.events('c') },
    ] as const
    const refusal = await store.appendInOrder(appends).catch((error: unknown) => error)
    t.match(refusal, { name: 'WrongExpectedRevisionError', stream: y, expected: 'no_stream', actual: 0 })
    t.same(await Promise.all([x, y, z].map(async (s) => letters.show(await store.readStream(s)))), ['0:a', '0:o', ''])
  })

  t.test('pipelined appends are stored in their order, and the first rejection is thrown', async (t) => {
    const letters = new Letters()
    const streams = Array.from({ length: 40 }, () => newStream())
    const appends = Array.from({ length: 400 }, (_, n) => {
      const expectedRevision = n < 40 ? ('no_stream' as const) : Math.floor(n / 40) - 1
      return { stream: streams[n % 40]!, expectedRevision, events: letters.events('a') }
    })
    const results = await store.appendInOrder(appends, { pipelined: true })
    t.same(
      results.map(({ revision }) => revision),
      appends.map((_, n) => Math.floor(n / 40)),
    )
    t.equal(
      results.findIndex(({ position }, n) => n > 0 && comparePositions(results[n - 1]!.position, position) !== -1),
      -1,
    )
    t.same(await store.appendInOrder(appends, { pipelined: true }), results, 'a repeat returns the same results')
    const [x, y] = [newStream(), streams[0]!]
    const refused = [x, y, newStream()].map((stream) => ({
      stream,
      expectedRevision: 'no_stream' as const,
      events: letters.events('b'),
    }))
    const refusal = await store.appendInOrder(refused, { pipelined: true }).catch((error: unknown) => error)
    t.match(refusal, { name: 'WrongExpectedRevisionError', stream: y, expected: 'no_stream', actual: 9 })
    t.equal((await store.readStream(x)).length, 1, 'the earlier append remains')
  })

  t.test('a rejected append does not affect simultaneous ones', async (t) => {
    const accepted = Array.from({ length: 20 }, () => newStream())
    const existing = newStream()
    await store.append(existing, 'no_stream', new Letters().events('a'))
    const results = await Promise.all(
      accepted.flatMap((stream) => [
        attempt(store, stream, 'no_stream', new Letters().events('a')),
        attempt(store, existing, 'no_stream', new Letters().events('b')),
      ]),
    )
    t.equal(results.filter((result) => result === 'ok 0@0').length, 20)
    t.equal(results.filter((result) => result === 'wrong: expected no_stream, actual 0').length, 20)
  })
}

function idempotencyRules(t: Test, store: EventStore): void {
  // The stream is 0:a 1:b 2:c. At revision 2, its last, any events are appended. At other revisions, the ids decide.
  const matrix: [pattern: string, list: string[], done: Partial<Record<string, string>>][] = [
    ['the whole append', ['a', 'b', 'c'], { no_stream: 'ok 2@2' }],
    ['its first event', ['a'], { no_stream: 'ok 0@0' }],
    ['its first two', ['a', 'b'], { no_stream: 'ok 1@1' }],
    ['its last event', ['c'], { 1: 'ok 2@2' }],
    ['its last two', ['b', 'c'], { 0: 'ok 2@2' }],
    ['its middle', ['b'], { 0: 'ok 1@1' }],
    ['its end and a new event', ['b', 'c', 'd'], {}],
    ['its beginning and a new event', ['a', 'd'], {}],
    ['the whole append and a new event', ['a', 'b', 'c', 'd'], {}],
    ['a new event before an old one', ['d', 'a'], {}],
    ['the whole append in a different order', ['b', 'a', 'c'], {}],
    ['events with a gap', ['a', 'c'], {}],
    ['an old event twice', ['a', 'a'], {}],
    ['the last event twice', ['c', 'c'], {}],
    ['a new event twice', ['d', 'd'], {}],
    ['an old event between new ones', ['d', 'c', 'e'], {}],
    ['the same ids with different content', ["a'", "b'", "c'"], { no_stream: 'ok 2@2' }],
  ]
  for (const [pattern, list, done] of matrix) {
    t.test(`appended again: ${pattern} (${list.join('')} on abc)`, async (t) => {
      for (const expected of ['no_stream', 0, 1, 2, 3, 9] as const) {
        const letters = new Letters()
        const stream = newStream()
        await store.append(stream, 'no_stream', letters.events('a', 'b', 'c'))
        const end = 2 + list.length
        const refused = `wrong: expected ${expected}, actual 2`
        const result = expected === 2 ? `ok ${end}@${end}` : (done[expected] ?? refused)
        t.equal(await attempt(store, stream, expected, letters.events(...list)), result, `expected ${expected}`)
        const stored = ['a', 'b', 'c', ...(expected === 2 ? list : [])].map((letter, i) => `${i}:${letter}`)
        t.equal(letters.show(await store.readStream(stream)), stored.join(' '), `stored, expected ${expected}`)
      }
    })
  }

  // Without a revision, the first id decides: either the whole append is new, or all of its ids must be known.
  const byIds: [pattern: string, list: string[], result: string][] = [
    ['the whole append', ['a', 'b', 'c'], 'ok 2@2'],
    ['the whole append in a different order', ['c', 'a', 'b'], 'ok 1@1'],
    ['events with a gap', ['a', 'c'], 'ok 2@2'],
    ['its first event twice', ['a', 'a'], 'ok 0@0'],
    ['the same ids with different content', ["b'"], 'ok 1@1'],
    ['an old and a new event', ['b', 'd'], 'wrong'],
    ['a new and an old event', ['d', 'b'], 'ok 4@4'],
    ['a new event twice', ['d', 'd'], 'ok 4@4'],
  ]
  for (const [pattern, list, result] of byIds) {
    t.test(`appended again without a revision: ${pattern} (${list.join('')} on abc)`, async (t) => {
      for (const expected of ['any', 'stream_exists'] as const) {
        const letters = new Letters()
        const stream = newStream()
        await store.append(stream, 'no_stream', letters.events('a', 'b', 'c'))
        const wrong = `wrong: expected ${expected}, actual 2`
        t.equal(await attempt(store, stream, expected, letters.events(...list)), result === 'wrong' ? wrong : result)
        const stored = ['a', 'b', 'c', ...(result === 'ok 4@4' ? list : [])].map((letter, i) => `${i}:${letter}`)
        t.equal(letters.show(await store.readStream(stream)), stored.join(' '), `stored, expected ${expected}`)
      }
    })
  }

  t.test('the grouping of the first appends does not matter', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    await store.append(stream, 'no_stream', letters.events('a'))
    await store.append(stream, 0, letters.events('b'))
    await store.append(stream, 1, letters.events('c'))
    t.equal(await attempt(store, stream, 'no_stream', letters.events('a', 'b', 'c')), 'ok 2@2')
    t.equal(await attempt(store, stream, 0, letters.events('b')), 'ok 1@1')
  })

  t.test('does not recognize two appends as one repeat if other events lie between them', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    await store.append(stream, 'no_stream', letters.events('a'))
    await store.append(stream, 0, letters.events('x', 'y'))
    await store.append(stream, 2, letters.events('b'))
    t.equal(await attempt(store, stream, 'no_stream', letters.events('a', 'b')), 'wrong: expected no_stream, actual 3')
    t.equal(await attempt(store, stream, 2, letters.events('b')), 'ok 3@3')
  })

  t.test('accepts the same id in another stream', async (t) => {
    const letters = new Letters()
    const [x, y] = [newStream(), newStream()]
    await store.append(x, 'no_stream', letters.events('a'))
    t.equal(await attempt(store, y, 'no_stream', letters.events('a')), 'ok 0@0')
    t.equal((await store.readStream(y)).length, 1)
    t.equal(await attempt(store, x, 'no_stream', letters.events('a')), 'ok 0@0')
  })

  t.test('stores the same id twice in one new append, and recognizes a repeat', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    t.equal(await attempt(store, stream, 'no_stream', letters.events('a', 'b', 'a')), 'ok 2@2')
    t.equal(await attempt(store, stream, 'no_stream', letters.events('a', 'b', 'a')), 'ok 2@2')
    t.equal(await attempt(store, stream, 'no_stream', letters.events('a')), 'ok 0@0')
    t.equal(letters.show(await store.readStream(stream)), '0:a 1:b 2:a')
  })

  t.test('a repeated append returns its own revision, which is no longer the latest one', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    const first = await store.append(stream, 'no_stream', letters.events('a', 'b'))
    await store.append(stream, 1, letters.events('c'))
    const again = await store.append(stream, 'no_stream', letters.events('a', 'b'))
    t.same(again, first)
    t.equal(await attempt(store, stream, again.revision, letters.events('d')), 'wrong: expected 1, actual 2')
  })

  t.test('ten simultaneous identical appends store one event, and have the same result', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    const results = await Promise.all(
      Array.from({ length: 10 }, () => attempt(store, stream, 'no_stream', letters.events('a'))),
    )
    t.same([...new Set(results)], ['ok 0@0'])
    t.equal((await store.readStream(stream)).length, 1)
  })

  t.test('recognizes a repeated append after ten thousand other events', async (t) => {
    const letters = new Letters()
    const [stream, others] = [newStream(), newStream()]
    const first = await store.append(stream, 'no_stream', letters.events('a'))
    for (let i = 0; i < 10; i++) {
      const events = Array.from({ length: 1_000 }, () => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} }))
      await store.append(others, i === 0 ? 'no_stream' : i * 1_000 - 1, events)
    }
    t.same(await store.append(stream, 'no_stream', letters.events('a')), first)
    t.equal((await store.readStream(stream)).length, 1)
  })
}

function reservationRules(t: Test, store: EventStore): void {
  const reserving = (stream: string, reserves: readonly string[], reservedFor?: string): Append => ({
    ...{ stream, reserves, reservedFor },
    expectedRevision: 'no_stream',
    events: [{ id: randomUUID(), type: 'T', data: {}, metadata: { by: 'contract' } }],
  })
  const exists = async (stream: string) => (await store.readStream(stream)).length > 0
  const isReserved = { name: 'KeyReservedError' }
  const newKey = () => `key ${randomUUID()}`

  t.test('a key belongs to the first stream that reserves it, and nothing of another append is stored', async (t) => {
    const [x, y, key, other] = [newStream(), newStream(), newKey(), newKey()]
    await store.appendInOrder([reserving(x, [other, key])])
    await t.rejects(store.appendInOrder([reserving(y, [newKey(), key])]), { ...isReserved, stream: y })
    t.notOk(await exists(y))
    const [event] = await store.readStream(x)
    t.strictSame(event?.metadata, { by: 'contract', $reserves: [other, key] })
    await store.appendInOrder([reserving(newStream(), [key.toUpperCase(), `${key} `, x])])
    await store.append(key, 'no_stream', new Letters().events('a'))
  })

  t.test('the owner of a key can reserve it again, also for the same events', async (t) => {
    const [x, owner, key] = [newStream(), newStream(), newKey()]
    const first = reserving(x, [key], owner)
    const [appended] = await store.appendInOrder([first])
    t.same(await store.appendInOrder([first]), [appended])
    await store.appendInOrder([reserving(owner, [key])])
    await store.appendInOrder([reserving(newStream(), [key], owner)])
    await t.rejects(store.appendInOrder([reserving(newStream(), [key], x)]), isReserved)
    const [event] = await store.readStream(x)
    t.strictSame(event?.metadata, { by: 'contract', $reserves: [key], $reservedFor: owner })
  })

  t.test('one of twenty simultaneous appends with the same key succeeds', async (t) => {
    const keys = Array.from({ length: 5 }, newKey)
    const streams = keys.flatMap((key) => Array.from({ length: 20 }, () => [newStream(), key] as const))
    const results = await Promise.allSettled(
      streams.map(([stream, key]) => store.appendInOrder([reserving(stream, [key])])),
    )
    const stored = await Promise.all(streams.map(([stream]) => exists(stream)))
    t.strictSame(
      results.map(({ status }) => status === 'fulfilled'),
      stored,
    )
    for (const key of keys) t.equal(streams.filter(([, of], n) => of === key && stored[n]).length, 1)
  })

  t.test('a rejected key stops appends in order', async (t) => {
    const [x, y, z, key] = [newStream(), newStream(), newStream(), newKey()]
    const appends = [reserving(x, [key]), reserving(y, [key]), reserving(z, [newKey()])]
    await t.rejects(store.appendInOrder(appends), { ...isReserved, stream: y })
    t.strictSame(await Promise.all([x, y, z].map(exists)), [true, false, false])
  })

  t.test('pipelined appends reserve their keys', async (t) => {
    const keys = Array.from({ length: 50 }, newKey)
    const appends = keys.map((key) => reserving(newStream(), [key]))
    for (let run = 0; run < 2; run++) t.equal((await store.appendInOrder(appends, { pipelined: true })).length, 50)
    await t.rejects(store.appendInOrder([reserving(newStream(), [keys[49]!])]), isReserved)
  })

  t.test('a serialized event names its keys itself', async (t) => {
    const [x, key] = [newStream(), newKey()]
    const metadata = JSON.stringify({ $reserves: [key], by: 'contract' })
    const append = { ...reserving(x, [key]), events: [{ id: randomUUID(), type: 'T', data: '{}', metadata }] }
    await store.appendInOrder([append as unknown as Append])
    await t.rejects(store.appendInOrder([reserving(newStream(), [key])]), isReserved)
    t.equal((await store.readStream(x))[0]?.text?.includes(metadata), true)
  })

  const [named, event] = [{ $reserves: ['k'] }, { id: randomUUID(), type: 'T', data: {}, metadata: {} }]
  const invalid: readonly (readonly [why: string, changes: object])[] = [
    ['an append to an existing stream', { expectedRevision: 0 }],
    ['an append without a revision', { expectedRevision: 'any' }],
    ['an append without events', { events: [] }],
    ['an empty key', { reserves: [''] }],
    ['a key with a lone surrogate', { reserves: ['a\ud800'] }],
    ['an owner without a name', { reservedFor: '' }],
    ['too many keys', { reserves: Array.from({ length: 17 }, newKey) }],
    ['a serialized event that does not name the keys', { events: [{ ...event, data: '{}', metadata: '{}' }] }],
    [
      'an event that names keys without reserving them',
      { reserves: undefined, events: [{ ...event, metadata: named }] },
    ],
  ]
  for (const [why, changes] of invalid) {
    t.test(`rejects ${why}`, async (t) => {
      const stream = newStream()
      const append = { ...reserving(stream, [newKey()]), ...changes } as Append
      await t.rejects(store.appendInOrder([append]), { name: 'TypeError' })
      t.notOk(await exists(stream))
    })
  }
}

function limitRules(t: Test, store: EventStore): void {
  const event = (bytes: number, more: Partial<NewEvent> = {}): NewEvent => ({
    id: randomUUID(),
    type: 'T',
    data: data(bytes),
    metadata: {},
    ...more,
  })
  const half = maxAppendBytes / 2
  const sizes: [what: string, events: () => NewEvent[], fits: boolean][] = [
    ['exactly 1 MiB of data', () => [event(maxAppendBytes)], true],
    ['1 MiB and a byte', () => [event(maxAppendBytes + 1)], false],
    ['two halves', () => [event(half), event(half)], true],
    ['two halves and a byte', () => [event(half), event(half + 1)], false],
    ['1100 events of 1000 bytes', () => Array.from({ length: 1_100 }, () => event(1_000)), false],
    ['1 MiB of metadata', () => [event(20, { metadata: data(maxAppendBytes) })], true],
    ['a type of 100,000 characters', () => [event(20, { type: 't'.repeat(100_000) })], true],
    // The limit counts bytes, not characters: each of these has three.
    ['400,000 characters of three bytes', () => [event(20, { data: { text: '€'.repeat(400_000) } })], false],
  ]
  for (const [what, events, fits] of sizes) {
    t.test(`${what} ${fits ? 'fits' : 'does not fit'} in one append`, async (t) => {
      const stream = newStream()
      const list = events()
      if (fits) {
        t.equal((await store.append(stream, 'no_stream', list)).revision, list.length - 1)
        t.same((await store.readStream(stream)).at(-1)?.data, list.at(-1)?.data)
      } else {
        await t.rejects(store.append(stream, 'no_stream', list), AppendTooLargeError)
        t.equal((await store.readStream(stream)).length, 0)
      }
    })
  }

  t.test('stores ten thousand events of one append in order', async (t) => {
    const stream = newStream()
    const events = Array.from({ length: 10_000 }, (_, n) => ({
      id: randomUUID(),
      type: 'T',
      data: { n },
      metadata: {},
    }))
    await store.append(stream, 'no_stream', events)
    const stored = await store.readStream(stream)
    t.equal(stored.length, 10_000)
    t.ok(stored.every((event, i) => event.revision === i && event.data.n === i && event.id === events[i]?.id))
  })

  const bad: [what: string, event: NewEvent][] = [
    ['an id that is not a UUID', event(20, { id: 'not-a-uuid' })],
    ['an empty id', event(20, { id: '' })],
    ['an empty type', event(20, { type: '' })],
  ]
  for (const [what, wrong] of bad) {
    t.test(`rejects ${what}, with the whole append`, async (t) => {
      const stream = newStream()
      await t.rejects(store.append(stream, 'no_stream', [event(20), wrong]))
      t.equal((await store.readStream(stream)).length, 0)
      t.equal((await store.append(stream, 'no_stream', [event(20)])).revision, 0)
    })
  }

  t.test('rejects a stream without a name', async (t) => {
    await t.rejects(store.append('', 'no_stream', [event(20)]))
  })
}

function readRules(t: Test, store: EventStore): void {
  t.test('a missing stream reads as empty', async (t) => {
    t.same(await store.readStream(newStream()), [])
    t.same(await store.readStream(newStream(), { fromRevision: 3, maxCount: 2 }), [])
  })

  t.test('reads a stream from a revision, inclusive, up to the limit', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    await store.append(stream, 'no_stream', letters.events('a', 'b', 'c', 'd', 'e'))
    const reads: [fromRevision: number, maxCount: number, letters: string][] = [
      [0, 1_000, '0:a 1:b 2:c 3:d 4:e'],
      [2, 1_000, '2:c 3:d 4:e'],
      [4, 1_000, '4:e'],
      [5, 1_000, ''],
      [1_000, 5, ''],
      [2 ** 53 - 1, 5, ''],
      [0, 1, '0:a'],
      [0, 5, '0:a 1:b 2:c 3:d 4:e'],
      [3, 1, '3:d'],
      [3, 4, '3:d 4:e'],
    ]
    for (const [fromRevision, maxCount, expected] of reads) {
      const events = await store.readStream(stream, { fromRevision, maxCount })
      t.equal(letters.show(events), expected, `${maxCount} from ${fromRevision}`)
    }
  })

  t.test('reads a stream backwards from its last event or from a revision, inclusive', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    t.same(await store.readStream(stream, { direction: 'backwards', maxCount: 1 }), [], 'the stream is missing')
    await store.append(stream, 'no_stream', letters.events('a', 'b', 'c', 'd', 'e'))
    const reads: [options: Omit<ReadStreamOptions, 'direction'>, letters: string][] = [
      [{}, '4:e 3:d 2:c 1:b 0:a'],
      [{ maxCount: 1 }, '4:e'],
      [{ maxCount: 5 }, '4:e 3:d 2:c 1:b 0:a'],
      [{ fromRevision: 4, maxCount: 2 }, '4:e 3:d'],
      [{ fromRevision: 2 }, '2:c 1:b 0:a'],
      [{ fromRevision: 0 }, '0:a'],
      [{ fromRevision: 5, maxCount: 2 }, '4:e 3:d'],
      [{ fromRevision: 1_000, maxCount: 1 }, '4:e'],
    ]
    for (const [options, expected] of reads) {
      const events = await store.readStream(stream, { direction: 'backwards', ...options })
      t.equal(letters.show(events), expected, JSON.stringify(options))
    }
  })

  t.test('a long read in pages neither loses nor duplicates an event', async (t) => {
    const stream = newStream()
    const events = Array.from({ length: 2_345 }, () => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} }))
    await store.append(stream, 'no_stream', events)
    for (const [fromRevision, maxCount, count] of [
      [0, 10_000, 2_345],
      [345, 1_000, 1_000],
      [0, 1_000, 1_000],
      [0, 2_001, 2_001],
      [0, 33, 33],
    ] as const) {
      const read = await store.readStream(stream, { fromRevision, maxCount })
      t.equal(read.length, count)
      t.ok(read.every((event, i) => event.revision === fromRevision + i))
    }
    const backwards = await store.readStream(stream, { direction: 'backwards' })
    t.same(
      backwards.map(({ revision }) => revision),
      Array.from({ length: 2_345 }, (_, i) => 2_344 - i),
    )
  })

  t.test('reads an event as it was appended', async (t) => {
    const stream = newStream()
    const event = {
      id: randomUUID(),
      type: 'Häuschen 日本',
      data: { t: 'häuschen 日本 😀 \u0000 \ud800', n: [1, 1e21, -0.5, true, null], deep: { a: { b: {} } } },
      metadata: { m: 'x', $correlationId: 'c' },
    }
    const before = Date.now()
    const { position } = await store.append(stream, 'no_stream', [event])
    const [stored] = await store.readStream(stream)
    t.match(stored, { ...event, stream, revision: 0, position })
    t.ok(Math.abs((stored?.recordedAtMs ?? 0) - before) < 60_000)
  })

  const names = [
    'häuschen-日本-😀-',
    '  spaces  ',
    'a/b/c-',
    'new\nline-',
    '"quotes\'-',
    'at@sign-',
    'nul\u0000-',
    '%_-',
  ]
  for (const prefix of names) {
    t.test(`accepts the stream name ${JSON.stringify(prefix)}`, async (t) => {
      const name = `${prefix}${randomUUID()}`
      await store.append(name, 'no_stream', new Letters().events('a'))
      t.equal((await store.readStream(name))[0]?.stream, name)
    })
  }

  t.test('names are case-sensitive, and long ones can differ only at their end', async (t) => {
    const letters = new Letters()
    const name = newStream('MiXed')
    await store.append(name, 'no_stream', letters.events('a'))
    t.same(await store.readStream(name.toLowerCase()), [])
    const long = `${'x'.repeat(5_000)}${randomUUID()}`
    await store.append(`${long}1`, 'no_stream', letters.events('b'))
    await store.append(`${long}2`, 'no_stream', letters.events('c'))
    t.equal(letters.show(await store.readStream(`${long}1`)), '0:b')
    t.equal(letters.show(await store.readStream(`${long}2`)), '0:c')
  })

  t.test('event types that start with $ are ordinary in an ordinary stream', async (t) => {
    const stream = newStream()
    await store.append(stream, 'no_stream', [{ id: randomUUID(), type: '$own', data: {}, metadata: {} }])
    t.equal((await store.readStream(stream))[0]?.type, '$own')
  })
}

function readAllRules(t: Test, store: EventStore): void {
  t.test('the global order is the order of the responses, with every event once', async (t) => {
    const after = await endOf(store)
    const ids: string[] = []
    for (let i = 0; i < 40; i++) {
      const event = { id: randomUUID(), type: 'T', data: { i }, metadata: {} }
      ids.push(event.id)
      await store.append(newStream(), 'no_stream', [event])
    }
    const { events } = await allOf(store, { after }, 7)
    t.same(
      events.map(({ id }) => id),
      ids,
    )
    t.ok(events.every((event, i) => i === 0 || comparePositions(events[i - 1]!.position, event.position) < 0))
  })

  t.test('a page starts after the position, exclusive, and has at most the requested number of events', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    const after = await endOf(store)
    const { position } = await store.append(stream, 'no_stream', letters.events('a', 'b', 'c', 'd'))
    const one = await store.readAll({ after, maxCount: 1 })
    t.equal(letters.show(one.events), '0:a')
    t.equal(one.atEnd, false)
    t.same(one.checkpoint, one.events[0]?.position)
    const three = await store.readAll({ after: one.events[0]!.position, maxCount: 3 })
    t.equal(letters.show(three.events), '1:b 2:c 3:d')
    const page = await store.readAll({ after: position, maxCount: 10 })
    t.same(page.events, [])
    t.equal(page.atEnd, true)
    t.same(page.checkpoint, position)
  })

  t.test('returns the stored text of an event, parsed or not', async (t) => {
    const after = await endOf(store)
    const content = { data: { b: 1, a: ['\u20ac', 1.5e300, null, { z: '\n' }] }, metadata: { by: 'contract' } }
    await store.append(newStream(), 'no_stream', [{ id: randomUUID(), type: 'T', ...content }])
    await store.append(newStream(), 'no_stream', [{ id: randomUUID(), type: 'T', data: { 9: 1, 1: 2 }, metadata: {} }])
    const { events } = await store.readAll({ after, maxCount: 10 })
    t.equal(events.length, 2)
    for (const { id, type, data, metadata, text } of events) t.equal(text, JSON.stringify([id, type, data, metadata]))
    const unparsed = await store.readUnparsed({ after, maxCount: 10 })
    t.match(unparsed, { atEnd: true, checkpoint: events[1]!.position })
    for (const [index, { stream, revision, position, recordedAtMs, text }] of unparsed.events.entries())
      t.match(events[index], { stream, revision, position, recordedAtMs, text })
    const first = await store.readUnparsed({ after, maxCount: 1 })
    t.match(first, { events: [{ text: events[0]!.text }], atEnd: false, checkpoint: events[0]!.position })
    t.match(await store.readUnparsed({ after: events[1]!.position, maxCount: 1 }), { events: [], atEnd: true })
  })

  t.test('returns the places of the events of a stream from a revision on', async (t) => {
    const { readPlaces } = store
    // A server would need a call for each stream.
    if (!readPlaces) return
    const letters = new Letters()
    const stream = newStream()
    await store.append(stream, 'no_stream', letters.events('a', 'b', 'c', 'd'))
    const places = (await store.readStream(stream)).map(({ revision, position }) => ({ stream, revision, position }))
    const read = async (fromRevision: number, maxCount: number) =>
      (await readPlaces([{ stream, fromRevision, maxCount }]))[0]!.map(({ revision, position }) => ({
        ...{ stream, revision, position },
      }))
    t.strictSame(await read(0, 10), places)
    t.strictSame(await read(1, 2), places.slice(1, 3))
    t.strictSame(await read(4, 10), [])
    const ranges = [newStream(), stream].map((name) => ({ stream: name, fromRevision: 3, maxCount: 1 }))
    t.match(await readPlaces(ranges), [[], places.slice(3)])
    t.strictSame(await readPlaces([]), [])
  })

  t.test('stores the given JSON texts of data and metadata unchanged', async (t) => {
    const [stream, id] = [newStream(), randomUUID()]
    const serialized = {
      id,
      type: 'Type "quoted"',
      data: '{ "a": 1.50, "a": "\\u0062ü" }',
      metadata: '{"by":"contract"}',
    }
    const raw: EventLog = store
    await raw.append(stream, 'no_stream', [serialized])
    const [stored] = await store.readStream(stream)
    t.equal(stored!.text, eventText(id, serialized.type, serialized.data, serialized.metadata))
    t.match(stored, { id, type: serialized.type, data: { a: 'bü' }, metadata: { by: 'contract' } })
  })

  t.test('returns the events at places in their order, without places that hold no such event', async (t) => {
    const letters = new Letters()
    const [one, other] = [newStream(), newStream()]
    await store.append(one, 'no_stream', letters.events('a', 'b'))
    await store.append(other, 'no_stream', letters.events('c'))
    await store.append(one, 1, letters.events('d'))
    const [a, b, d] = await store.readStream(one)
    const [c] = await store.readStream(other)
    const places = [d!, c!, a!].map(({ stream, revision, position }) => ({ stream, revision, position }))
    t.strictSame(await store.readEvents(places), [d, c, a])
    const end = await endOf(store)
    const beyond = { commit: end.commit + 1_000n, prepare: end.prepare + 1_000n }
    const wrong = [
      { stream: newStream(), revision: 0, position: beyond },
      { stream: one, revision: 9, position: beyond },
    ]
    t.strictSame(await store.readEvents([...wrong, b!]), [b])
    t.strictSame(await store.readEvents([]), [])
    const many = Array.from({ length: 100 }, (_, n) => [a!, b!, c!, d!][n % 4]!)
    t.equal((await store.readEvents(many)).length, 100)
  })

  t.test('a page after the end is empty', async (t) => {
    const end = await endOf(store)
    const beyond = { commit: end.commit + 1_000_000n, prepare: end.prepare + 1_000_000n }
    const page = await store.readAll({ after: beyond, maxCount: 10 })
    t.same(page.events, [])
    t.equal(page.atEnd, true)
  })

  t.test('a stream matches any of the prefixes, which are case-sensitive', async (t) => {
    const letters = new Letters()
    const after = await endOf(store)
    const run = randomUUID()
    const append = (name: string, letter: string) => store.append(name, 'no_stream', letters.events(letter))
    await append(`apple-${run}`, 'a')
    await append(`apples-${run}`, 'b')
    await append(`Apple-${run}`, 'c')
    await append(`pear-${run}`, 'd')
    await append(`\u{10ffff}end-${run}`, 'e')
    const seen = async (...streamPrefixes: string[]) =>
      (await allOf(store, { after, streamPrefixes })).events.map(({ data }) => data.letter).join('')
    t.equal(await seen('apple-'), 'a')
    t.equal(await seen('apple'), 'ab')
    t.equal(await seen('apple-', 'pear-'), 'ad')
    t.equal(await seen('apple', 'apple-'), 'ab')
    t.equal(await seen('Apple'), 'c')
    t.equal(await seen(`pear-${run}`), 'd')
    t.equal(await seen('\u{10ffff}'), 'e')
    t.equal(await seen(''), 'abcde')
    t.equal(await seen('nothing-has-this-'), '')
    t.equal(await seen(), '', 'an empty list matches nothing')
  })

  t.test('system streams match only a prefix that starts with $', async (t) => {
    const letters = new Letters()
    const after = await endOf(store)
    const system = `$contract-${randomUUID()}`
    await store.append(system, 'no_stream', letters.events('s'))
    await store.append(newStream(), 'no_stream', letters.events('a'))
    const seen = async (filter: Omit<ReadAllOptions, 'maxCount'>) =>
      (await allOf(store, { after, ...filter })).events.map(({ data }) => data.letter).join('')
    t.equal(await seen({}), 'a')
    t.equal(await seen({ streamPrefixes: [''] }), 'a')
    t.equal(await seen({ streamPrefixes: ['$contract-'] }), 's')
    t.equal(await seen({ streamPrefixes: ['$contract-', 'x-'] }), 'sa')
    t.equal(letters.show(await store.readStream(system)), '0:s')
  })

  t.test('a checkpoint covers filtered events, and a read resumes from it without loss', async (t) => {
    const letters = new Letters()
    const after = await endOf(store)
    const run = randomUUID()
    const noise = Array.from({ length: 500 }, () => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} }))
    await store.append(`noise-${run}`, 'no_stream', noise)
    await store.append(`hit-${run}`, 'no_stream', letters.events('a'))
    const { position } = await store.append(newStream('noise'), 'no_stream', letters.events('n'))
    const filter = { streamPrefixes: [`hit-${run}`] }
    const { events, checkpoint } = await allOf(store, { after, ...filter }, 10)
    t.equal(letters.show(events), '0:a')
    t.ok(comparePositions(checkpoint!, position) >= 0)
    await store.append(`hit-${run}`, 0, letters.events('b'))
    t.equal(letters.show((await allOf(store, { after: checkpoint!, ...filter })).events), '1:b')
  })
}

function subscriptionRules(t: Test, store: EventStore): void {
  t.test('a subscription yields the existing events after its position, then new ones', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    const after = await endOf(store)
    await store.append(stream, 'no_stream', letters.events('a', 'b'))
    const stop = new AbortController()
    const seen = follow(store.subscribeToAll({ after, streamPrefixes: [stream], signal: stop.signal }))
    await until(() => seen.events.length === 2, 'two existing events')
    await store.append(stream, 1, letters.events('c'))
    await until(() => seen.events.length === 3, 'a live event')
    t.equal(letters.show(seen.events), '0:a 1:b 2:c')
    stop.abort()
    await seen.ended
  })

  t.test('from the end, a subscription yields only later events', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    await store.append(stream, 'no_stream', letters.events('a'))
    const stop = new AbortController()
    const seen = follow(store.subscribeToAll({ after: 'end', streamPrefixes: [stream], signal: stop.signal }))
    await until(() => seen.pages.some(({ atEnd }) => atEnd), 'the page at the end')
    await store.append(stream, 0, letters.events('b'))
    await until(() => seen.events.length > 0, 'a live event')
    t.equal(letters.show(seen.events), '1:b')
    stop.abort()
    await seen.ended
  })

  t.test('without a position, a subscription starts at the first event of the log', async (t) => {
    const first = await store.readAll({ maxCount: 3 })
    const stop = new AbortController()
    const pages: Page[] = []
    for await (const page of store.subscribeToAll({ pageSize: 3, signal: stop.signal })) {
      pages.push(page)
      if (pages.length === 2) break
    }
    t.same(pages[0]?.events, first.events)
    t.ok(comparePositions(pages[1]!.events[0]!.position, first.checkpoint!) > 0)
  })

  t.test('yields a page, possibly empty, when the end is first reached, and none until the next event', async (t) => {
    const stop = new AbortController()
    const { signal } = stop
    const letters = new Letters()
    const [followed, other] = [newStream(), newStream()]
    const after = await endOf(store)
    const seen = follow(store.subscribeToAll({ after, streamPrefixes: [followed], signal }))
    const others = follow(store.subscribeToAll({ after, streamPrefixes: [other], signal }))
    await until(() => seen.pages.length > 0, 'a first page')
    await store.append(other, 'no_stream', letters.events('a', 'b'))
    await until(() => others.events.length === 2, 'the events of a different stream')
    await store.append(followed, 'no_stream', letters.events('c'))
    await until(() => seen.events.length > 0, 'a live event')
    t.same(
      seen.pages.map(({ events }) => letters.show(events)),
      ['', '0:c'],
    )
    t.equal(seen.pages[0]?.atEnd, true)
    stop.abort()
    await Promise.all([seen.ended, others.ended])
  })

  t.test('an aborted subscription ends without an error, even before its first page', async (t) => {
    const stop = new AbortController()
    const seen = follow(store.subscribeToAll({ after: 'end', signal: stop.signal }))
    await until(() => seen.pages.length > 0, 'the first page')
    stop.abort()
    await t.resolves(seen.ended)
    const aborted = follow(store.subscribeToAll({ signal: AbortSignal.abort() }))
    await t.resolves(aborted.ended)
    t.equal(aborted.pages.length, 0)
  })

  t.test('ten subscriptions yield the same events in order, without gaps or duplicates, during appends', async (t) => {
    const after = await endOf(store)
    const run = randomUUID()
    const stop = new AbortController()
    const append = async (writer: number) => {
      for (let n = 0; n < 50; n++) {
        const event = { id: randomUUID(), type: 'T', data: { n }, metadata: {} }
        await store.append(`run-${run}-${writer}`, n === 0 ? 'no_stream' : n - 1, [event])
      }
    }
    const writing = Promise.all(Array.from({ length: 16 }, (_, writer) => append(writer)))
    const options = { after, streamPrefixes: [`run-${run}`], pageSize: 20, signal: stop.signal }
    const subscribers = Array.from({ length: 10 }, () => follow(store.subscribeToAll(options)))
    await writing
    await until(() => subscribers.every(({ events }) => events.length >= 800), 'all events at all subscribers')
    const log = (await allOf(store, { after, streamPrefixes: [`run-${run}`] })).events.map(({ id }) => id)
    for (const { events } of subscribers)
      t.same(
        events.map(({ id }) => id),
        log,
      )
    stop.abort()
    await Promise.all(subscribers.map(({ ended }) => ended))
  })

  t.test('a slow reader receives pages of the requested size without loss', async (t) => {
    const letters = new Letters()
    const stream = newStream()
    const after = await endOf(store)
    await store.append(stream, 'no_stream', letters.events(...'abcdefghij'))
    const stop = new AbortController()
    const seen: RecordedEvent[] = []
    for await (const page of store.subscribeToAll({
      after,
      streamPrefixes: [stream],
      pageSize: 2,
      signal: stop.signal,
    })) {
      t.ok(page.events.length <= 2)
      seen.push(...page.events)
      if (seen.length === 4) await store.append(stream, 9, letters.events('k', 'l'))
      if (seen.length === 12) break
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    t.equal(letters.show(seen), [...'abcdefghijkl'].map((letter, i) => `${i}:${letter}`).join(' '))
  })
}
