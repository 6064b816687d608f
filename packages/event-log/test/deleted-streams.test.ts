import { randomUUID } from 'node:crypto'
import t from 'tap'
import { openEventLog } from '../src/event-log.js'
import type { ExpectedRevision } from '../src/event-log-types.js'
import { StreamStore } from '../src/stream-store.js'
import { tempDirectory } from './support/temp-directory.js'

const newEvent = () => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} })

t.test('appends to deleted streams follow the rules of EventStoreDB', async (t) => {
  const directory = tempDirectory(t)
  const [log, streams] = [await openEventLog({ directory, writerThread: false }), StreamStore.open(directory)]
  t.teardown(() => Promise.all([log.close(), streams.close()]))
  const table: [change: 'delete' | 'tombstone', expected: ExpectedRevision, result: number | string][] = [
    ['delete', 'any', 2],
    ['delete', 'stream_exists', 'StreamDeletedError'],
    ['delete', 1, 2],
    ['delete', 0, 'WrongExpectedRevisionError'],
    ['tombstone', 'any', 'StreamDeletedError'],
    ['tombstone', 'stream_exists', 'StreamDeletedError'],
    ['tombstone', 'no_stream', 'StreamDeletedError'],
    ['tombstone', 1, 'StreamDeletedError'],
    ['tombstone', 9_007_199_254_740_991, 'StreamDeletedError'],
  ]
  for (const [change, expected, result] of table) {
    const stream = randomUUID()
    await log.append(stream, 'no_stream', [newEvent(), newEvent()])
    await streams[change](stream, 'any')
    const next = { stream: randomUUID(), expectedRevision: 'any', events: [newEvent()] } as const
    const appended = await log.appendInOrder([{ stream, expectedRevision: expected, events: [newEvent()] }, next]).then(
      ([first]) => first?.revision,
      (error: Error) => error.name,
    )
    t.equal(appended, result, `${change}, expected ${expected}`)
    t.equal((await log.readStream(next.stream)).length, typeof result === 'number' ? 1 : 0, 'the next append in order')
  }
})

t.test('a repeat whose event is hidden returns the position of the event', async (t) => {
  const directory = tempDirectory(t)
  const [log, streams] = [await openEventLog({ directory, writerThread: false }), StreamStore.open(directory)]
  t.teardown(() => Promise.all([log.close(), streams.close()]))
  const event = newEvent()
  const first = await log.append('a', 'any', [event])
  await streams.delete('a', 'any')
  t.same(await log.append('a', 'any', [event]), first)
  t.same(await log.append('a', 'no_stream', [event]), first)
})

t.test('a repeat without a revision is recognized after a restart', async (t) => {
  const directory = tempDirectory(t)
  const events = [newEvent(), newEvent()]
  const append = async () => {
    const log = await openEventLog({ directory, writerThread: false })
    try {
      return await log.append('a', 'any', events)
    } finally {
      await log.close()
    }
  }
  t.same(await append(), await append())
})
