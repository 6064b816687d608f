import { randomUUID } from 'node:crypto'
import { openEventLog } from '@transferd/event-log'
import { pino } from 'pino'
import t from 'tap'
import { listedStreamsStream } from '../../src/domain/streams.js'
import { comparePositions, type EventStore, type NewEvent } from '../../src/event-store/event-store.js'
import { listedPrefixes, readStreamList } from '../../src/event-store/stream-list.js'
import { startListingStreams } from '../../src/processes/stream-lister.js'
import { openTestReadModels } from '../support/read-models.js'

const clock = () => '2026-03-01T10:00:00.000Z'
const event = (): NewEvent => ({ id: randomUUID(), type: 'Foreign', data: {}, metadata: {} })

/** Appends many events of users among transfers. */
async function grow(store: EventStore, users: number): Promise<void> {
  const appends = Array.from({ length: users }, () => [
    {
      stream: `user-${randomUUID()}`,
      expectedRevision: 'no_stream' as const,
      events: Array.from({ length: 200 }, event),
    },
    { stream: `transfer-${randomUUID()}`, expectedRevision: 'no_stream' as const, events: [event(), event()] },
  ])
  await store.appendInOrder(appends.flat())
}

async function startLister(store: EventStore, directory: string) {
  const readModels = await openTestReadModels(directory)
  const part = startListingStreams({ store, readModels, clock, logger: pino({ level: 'silent' }) })
  return {
    async stop() {
      await part.stop()
      await readModels.close()
    },
  }
}

/** Waits for the number of valid events of the list. */
async function listedAfter(store: EventStore, position: bigint) {
  for (;;) {
    const list = await readStreamList(store)
    if (list.position && list.position.commit > position) return list
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Checks that the list contains exactly the streams with an event up to the position. */
async function isComplete(store: EventStore): Promise<boolean> {
  const { streams, position } = await readStreamList(store)
  const events: { readonly stream: string; readonly isCovered: boolean }[] = []
  for (let after = {}; ; ) {
    const page = await store.readAll({ streamPrefixes: listedPrefixes, maxCount: 1_000, ...after })
    for (const each of page.events)
      events.push({ stream: each.stream, isCovered: comparePositions(each.position, position!) <= 0 })
    if (page.atEnd) break
    after = { after: page.checkpoint }
  }
  const existing = new Set(events.map(({ stream }) => stream))
  const hasAll = events.every(({ stream, isCovered }) => !isCovered || streams.has(stream))
  return hasAll && [...streams].every((stream) => existing.has(stream))
}

t.test('the list follows the log and resumes after a restart, and a small log has no list', async (t) => {
  const directory = t.testdir({ log: {}, 'read-models': {} })
  const store = await openEventLog({ directory: `${directory}/log` })
  t.teardown(() => store.close())
  await grow(store, 2)
  const first = await startLister(store, `${directory}/read-models`)
  await grow(store, 40)
  const { position } = await listedAfter(store, 0n)
  await first.stop()
  t.ok(await isComplete(store))
  await grow(store, 40)
  const second = await startLister(store, `${directory}/read-models`)
  await listedAfter(store, position!.commit)
  await second.stop()
  t.ok(await isComplete(store))
  const written = await store.readStream(listedStreamsStream)
  t.strictSame(written[0]!.data.after, null)
  t.strictSame(written[1]!.data.after, written[0]!.data.through)
})
