import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { openEventLog } from '@transferd/event-log'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t, { type Test } from 'tap'
import {
  type Append,
  type EventStore,
  type RecordedEvent,
  StoreUnavailableError,
} from '../../../src/event-store/event-store.js'
import {
  type CopyProgress,
  CopyRefusedError,
  compareLogs,
  copyLog,
  LogsDifferError,
  nothingYet,
} from '../../../src/operations/copy/copy-log.js'
import { wholeLog } from '../../support/expected-documents.js'
import { long } from '../../support/long.js'

const never = new AbortController().signal

function event(data: object = { n: 1 }, id = randomUUID()) {
  return {
    id,
    type: 'Happened',
    data: data as { n: number },
    metadata: { actor: 'test', deep: { list: [1, null, 'ü'] } },
  }
}

/** Appends `events` events to a tenth as many streams in mixed order. */
async function fill(store: EventStore, events: number, prefix = 'stream'): Promise<void> {
  const streams = Math.ceil(events / 10)
  const appends = Array.from({ length: events }, (_, n): Append => {
    const revision = Math.floor(n / streams)
    const expectedRevision = revision === 0 ? 'no_stream' : revision - 1
    return { stream: `${prefix}-${n % streams}`, expectedRevision, events: [event({ n, text: '‰ "quoted"\u0000' })] }
  })
  for (let from = 0; from < events; from += 1_000) await store.appendInOrder(appends.slice(from, from + 1_000))
}

/** Opens each log in a separate directory. */
async function openTestStore(t: Test): Promise<EventStore> {
  const store = await openEventLog({ directory: tempDirectory(t), writerThread: false })
  t.teardown(() => store.close())
  return store
}

function copy(source: EventStore, target: EventStore, progress: CopyProgress[] = []) {
  return copyLog({ source, target, signal: never, onProgress: (step) => progress.push(step) })
}

/** Returns an event without the fields that each store assigns. */
function withoutPlace(log: readonly RecordedEvent[]) {
  return log.map(({ stream, revision, id, type, data, metadata }) => ({ stream, revision, id, type, data, metadata }))
}

async function assertSame(t: Test, source: EventStore, target: EventStore) {
  const [copied, original] = [withoutPlace(await wholeLog(target)), withoutPlace(await wholeLog(source))]
  // A difference of thousands of events would take tap minutes to print.
  t.equal(
    copied.findIndex((event, n) => !isDeepStrictEqual(event, original[n])),
    -1,
  )
  t.equal(copied.length, original.length)
}

t.test('copies every event unchanged and in order, except the engine’s own events', async (t) => {
  const [source, target] = [await openTestStore(t), await openTestStore(t)]
  await source.append('$settings', 'no_stream', [event(), event()])
  await fill(source, 1_234)
  await source.append('$settings', 1, [event()])
  await target.append('$own', 'no_stream', [event(), event(), event()])
  const progress: CopyProgress[] = []
  t.same(await copy(source, target, progress), {
    events: 1_234,
    streams: 124,
    copied: 1_234,
    verified: 1_234,
    sourceHasGrown: false,
  })
  await assertSame(t, source, target)
  t.same(await target.readStream('$settings'), [])
  t.equal((await target.readStream('$own')).length, 3)
  t.same(new Set(progress.map(({ doing }) => doing)), new Set(['copying', 'verifying']))
  t.match(progress.at(-1), { doing: 'verifying', events: 1_234, at: { commit: 1_236n }, end: { commit: 1_237n } })
  const [first] = await source.readAll({ maxCount: 1 }).then(({ events }) => events)
  const append = { stream: first!.stream, id: first!.id, type: 'Happened', data: {}, metadata: {} }
  const again = await target.append(first!.stream, 'no_stream', [append])
  t.equal(again.revision, 0, 'a repeated append returns the original result, as it does on the source')
})

t.test('copies an empty log', async (t) => {
  const [source, target] = [await openTestStore(t), await openTestStore(t)]
  t.same(await copy(source, target), { events: 0, streams: 0, copied: 0, verified: 0, sourceHasGrown: false })
})

t.test('a second run copies new events without reading the existing ones', async (t) => {
  const [source, target] = [await openTestStore(t), await openTestStore(t)]
  await fill(source, 1_500)
  await copy(source, target)
  await fill(source, 30, 'later')
  const progress: CopyProgress[] = []
  t.match(await copy(source, target, progress), { events: 1_530, streams: 153, copied: 30, verified: 30 })
  t.equal(progress.filter(({ doing }) => doing === 'comparing').length, 0)
  t.equal(progress.filter(({ doing }) => doing === 'copying').length, 1)
  t.match(await copy(source, target), { events: 1_530, streams: 153, copied: 0, verified: 0 })
  await assertSame(t, source, target)
})

t.test('resumes after repeated interruptions in the middle of an append', async (t) => {
  const [source, target] = [await openTestStore(t), await openTestStore(t)]
  // A position is recorded every 10,000 events, which only the long form reaches.
  const events = long ? 25_000 : 2_500
  await fill(source, events)
  let runs = 0
  let before = 0
  for (;;) {
    runs += 1
    let left = 1 + Math.floor(Math.random() * (events / 2_000))
    const breaking: EventStore = {
      ...target,
      async appendInOrder(appends) {
        left -= 1
        if (left > 0) return target.appendInOrder(appends)
        // A kill leaves this state: some events are stored, and the client has received no response.
        await target.appendInOrder(appends.slice(0, Math.floor(Math.random() * appends.length)))
        throw new StoreUnavailableError('gone')
      },
    }
    const report = await copy(source, breaking).catch((error: unknown) => error)
    const stored = (await wholeLog(target)).length
    t.ok(stored >= before)
    before = stored
    if (!(report instanceof StoreUnavailableError)) {
      t.match(report, { events, streams: events / 10 })
      break
    }
  }
  t.comment(`${runs} runs`)
  t.ok(runs > 1)
  await assertSame(t, source, target)
})

t.test('verifies events in the next run that were copied but not verified', async (t) => {
  const [source, target] = [await openTestStore(t), await openTestStore(t)]
  await fill(source, 900)
  const abort = new AbortController()
  const onProgress = ({ doing }: CopyProgress) => doing === 'verifying' && abort.abort()
  await t.rejects(copyLog({ source, target, signal: abort.signal, onProgress }), { message: /interrupted/ })
  t.match(await copy(source, target), { events: 900, copied: 0, verified: 900 })
})

t.test('stops soon after an abort and loses nothing', async (t) => {
  const [source, target] = [await openTestStore(t), await openTestStore(t)]
  await fill(source, 3_000)
  const abort = new AbortController()
  const interrupted = copyLog({ source, target, signal: abort.signal, onProgress: () => abort.abort() })
  await t.rejects(interrupted, CopyRefusedError)
  const stored = (await wholeLog(target)).length
  t.ok(stored > 0 && stored < 3_000, `${stored}`)
  t.match(await copy(source, target), { events: 3_000, copied: 3_000 - stored })
})

t.test('two concurrent copies produce one log in order', async (t) => {
  const [source, target] = [await openTestStore(t), await openTestStore(t)]
  await fill(source, long ? 12_000 : 1_500)
  await Promise.all([copy(source, target), copy(source, target)])
  await assertSame(t, source, target)
})

t.test('rejects a target that does not match the beginning of the source, and adds nothing', async (t) => {
  const source = await openTestStore(t)
  await source.append('a', 'no_stream', [event(), event()])
  await source.append('b', 'no_stream', [event({ secret: 'canary-77' })])
  const log = await wholeLog(source)
  const [a0, a1, b0] = withoutPlace(log) as [RecordedEvent, RecordedEvent, RecordedEvent]
  const targets: { readonly [what: string]: readonly RecordedEvent[] } = {
    'a different stream': [{ ...a0, stream: 'x' }],
    'a different id': [{ ...a0, id: randomUUID() }],
    'a different type': [a0, { ...a1, type: 'Other' }],
    'different data': [a0, a1, { ...b0, data: { secret: 'canary-78' } }],
    'different metadata': [a0, { ...a1, metadata: {} }],
    'a different order': [a0, b0, a1],
    'an additional event': [a0, a1, b0, { ...a0, stream: 'c', id: randomUUID() }],
    'a missing event in the middle': [a0, b0],
  }
  for (const [what, events] of Object.entries(targets)) {
    const target = await openTestStore(t)
    for (const { stream, revision, id, type, data, metadata } of events)
      await target.append(stream, revision === 0 ? 'no_stream' : revision - 1, [{ id, type, data, metadata }])
    const refusal = await copy(source, target).catch((error: Error) => error)
    t.ok(refusal instanceof LogsDifferError, what)
    t.match((refusal as Error).message, /^[abcx]@\d \([0-9a-f-]{36}, position \d\) of the target, wh/, what)
    t.notMatch((refusal as Error).message, /canary/)
    t.equal((await wholeLog(target)).length, events.length, what)
  }
})

t.test(
  'finds events written to the target between two runs, including those after the recorded position',
  async (t) => {
    const [source, target] = [await openTestStore(t), await openTestStore(t)]
    await fill(source, 200)
    await copy(source, target)
    await fill(source, 10, 'later')
    await target.append('stray', 'no_stream', [event()])
    await t.rejects(copy(source, target), { name: 'LogsDifferError', message: /^stray@0 .* of the target/ })
    t.equal((await wholeLog(target)).length, 201)
  },
)

t.test('rejects a target that was copied from another log', async (t) => {
  const [source, other, target] = [await openTestStore(t), await openTestStore(t), await openTestStore(t)]
  await fill(other, 20)
  await copy(other, target)
  await fill(source, 40)
  await t.rejects(copy(source, target), { name: 'CopyRefusedError', message: /is a copy of a different log/ })
})

t.test('a copy of a copy resumes at the right event, although its positions differ', async (t) => {
  const [first, second, target] = [await openTestStore(t), await openTestStore(t), await openTestStore(t)]
  await fill(first, 500)
  await second.append('$own', 'no_stream', [event()])
  await copy(first, second)
  await copy(first, target)
  await fill(second, 20, 'later')
  t.match(await copy(second, target), { events: 520, copied: 20 })
  await assertSame(t, second, target)
})

t.test('rejects a source with a truncated stream and names the stream', async (t) => {
  const [source, target] = [await openTestStore(t), await openTestStore(t)]
  await source.append('cut', 'no_stream', [event(), event()])
  const truncated: EventStore = {
    ...source,
    readAll: async (options) => {
      const page = await source.readAll(options)
      return { ...page, events: page.events.filter(({ revision }) => revision > 0) }
    },
  }
  await t.rejects(copy(truncated, target), {
    name: 'CopyRefusedError',
    message: /^cut: expected revision 0, but it is no_stream\..* no longer has the start of this stream/,
  })
})

t.test('the final verification finds events that the target returns with changes', async (t) => {
  const [source, target] = [await openTestStore(t), await openTestStore(t)]
  await fill(source, 700)
  const changing: EventStore = {
    ...target,
    readAll: async (options) => {
      const page = await target.readAll(options)
      return { ...page, events: page.events.map((event) => (event.revision === 7 ? { ...event, data: {} } : event)) }
    },
  }
  await t.rejects(copy(source, changing), {
    name: 'LogsDifferError',
    message: /@7 .* whose data differs from the source's$/,
  })
  const short: EventStore = { ...target, readAll: async () => ({ events: [], atEnd: true }) }
  await t.rejects(copy(source, short), { message: 'the target ends after 0 events, but 700 were copied' })
  const equal = await compareLogs(source, target, nothingYet, { signal: never, onProgress: () => {} })
  t.match(equal, { events: 700, streams: 70 })
})

t.test('copies events appended during the run, and reports those appended after its end', async (t) => {
  const [source, target] = [await openTestStore(t), await openTestStore(t)]
  await fill(source, 1_200)
  const added = new Set<string>()
  const addOnce = async (doing: string) => {
    if (added.has(doing)) return
    added.add(doing)
    await fill(source, 10, doing)
  }
  const busy: EventStore = {
    ...source,
    readAll: async (options) => {
      if (options.after) await addOnce('copying')
      // The verification reads from the start again.
      else if (added.has('copying')) await addOnce('verifying')
      return source.readAll(options)
    },
  }
  t.match(await copy(busy, target), { events: 1_210, copied: 1_210, sourceHasGrown: true })
  t.match(await copy(source, target), { events: 1_220, copied: 10, sourceHasGrown: false })
})
