import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { openEventLog } from '@transferd/event-log'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t, { type Test } from 'tap'
import { type EventStore, type RecordedEvent, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { type CopyProgress, copyLog } from '../../src/operations/copy/copy-log.js'
import { startTestEventsServer } from '../support/events-server.js'
import { wholeLog } from '../support/expected-documents.js'

const engines = {
  embedded: async (t: Test): Promise<EventStore> => {
    const store = await openEventLog({ directory: tempDirectory(t) })
    t.teardown(() => store.close())
    return store
  },
  /** A server over the protocol with a new log. */
  EventStoreDB: async (t: Test): Promise<EventStore> => {
    const server = await startTestEventsServer()
    const store = openEventStoreDb({ url: server.url })
    t.teardown(async () => {
      await store.close()
      await server.stop()
    })
    return store
  },
}

/** Five events in each stream. */
async function fill(store: EventStore, streams: number): Promise<void> {
  for (let revision = 0; revision < 5; revision++) {
    await Promise.all(
      Array.from({ length: streams }, (_, n) => {
        const rest = { amountMinor: '90071992547409931', none: null, deep: { list: [1.5, false] } }
        const data = { n, text: `„ü‰“ ${'x'.repeat(n % 300)}`, ...rest }
        const metadata = { actor: 'test', $correlationId: 'c', $causationId: 'c', schemaVersion: 1 }
        return store.append(`stream-${n}`, revision === 0 ? 'no_stream' : revision - 1, [
          { id: randomUUID(), type: 'Happened', data, metadata },
        ])
      }),
    )
  }
}

function withoutPlace({ stream, revision, id, type, data, metadata }: RecordedEvent) {
  return { stream, revision, id, type, data, metadata }
}

function copy(source: EventStore, target: EventStore, progress: CopyProgress[] = []) {
  return copyLog({ source, target, signal: new AbortController().signal, onProgress: (step) => progress.push(step) })
}

for (const [from, to] of [
  ['embedded', 'EventStoreDB'],
  ['EventStoreDB', 'embedded'],
  ['EventStoreDB', 'EventStoreDB'],
] as const) {
  t.test(`copies from ${from} to ${to} with two interruptions`, async (t) => {
    const [source, target] = [await engines[from](t), await engines[to](t)]
    await source.append('$settings', 'no_stream', [{ id: randomUUID(), type: 'Set', data: {}, metadata: {} }])
    await fill(source, 220)
    let stored = 0
    for (const left of [2, 1]) {
      let calls = left
      const breaking: EventStore = {
        ...target,
        async appendInOrder(appends) {
          calls -= 1
          if (calls > 0) return target.appendInOrder(appends)
          await target.appendInOrder(appends.slice(0, 123))
          throw new StoreUnavailableError('gone')
        },
      }
      await t.rejects(copy(source, breaking), StoreUnavailableError)
      const now = (await wholeLog(target)).length
      t.ok(now > stored && now < 1_100, `${now} events`)
      stored = now
    }
    t.same(await copy(source, target), {
      events: 1_100,
      streams: 220,
      copied: 1_100 - stored,
      verified: 1_100,
      sourceHasGrown: false,
    })
    const [original, copied] = [await wholeLog(source), await wholeLog(target)]
    t.equal(copied.length, 1_100)
    t.equal(
      copied.findIndex((event, n) => !isDeepStrictEqual(withoutPlace(event), withoutPlace(original[n]!))),
      -1,
    )
    const stream = await target.readStream('stream-7')
    t.same(stream.map(withoutPlace), (await source.readStream('stream-7')).map(withoutPlace))
    t.same(await target.readStream('$settings'), [])

    const progress: CopyProgress[] = []
    await source.append('later', 'no_stream', [{ id: randomUUID(), type: 'Later', data: {}, metadata: {} }])
    t.match(await copy(source, target, progress), { events: 1_101, copied: 1 })
    t.equal(progress.length, 2, 'copies and verifies one event, and reads no other')
    await target.append('stray', 'no_stream', [{ id: randomUUID(), type: 'Stray', data: {}, metadata: {} }])
    await t.rejects(copy(source, target), { name: 'LogsDifferError', message: /^stray@0 / })
  })
}

t.test('a copy to another engine and back equals the original log', async (t) => {
  const [original, copied, back] = [await engines.embedded(t), await engines.EventStoreDB(t), await engines.embedded(t)]
  await fill(original, 60)
  await copy(original, copied)
  await copied.append('stream-0', 4, [{ id: randomUUID(), type: 'Happened', data: { there: true }, metadata: {} }])
  t.match(await copy(copied, back), { events: 301, streams: 60 })
  t.strictSame((await wholeLog(back)).slice(0, 300).map(withoutPlace), (await wholeLog(original)).map(withoutPlace))
  t.match(await copy(copied, original), { events: 301, copied: 1 }, 'the original log accepts a copy of the new event')
})
