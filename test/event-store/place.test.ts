import { randomUUID } from 'node:crypto'
import t from 'tap'
import { type NewEvent, positionOfPlace, ReadProgress } from '../../src/event-store/event-store.js'
import { openTestStore } from '../support/embedded-store.js'

const event = (): NewEvent => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} })

t.test('progress is the place of an event in the part of the log that was read', async (t) => {
  const store = await openTestStore(t)
  const end = async () => (await store.readAll({ maxCount: 100 })).checkpoint!
  const progress = new ReadProgress(store, undefined)
  await store.append('a-1', 'no_stream', [event(), event()])
  const second = await end()
  await store.append('a-2', 'no_stream', [event(), event()])
  t.strictSame(await progress.advanceTo(second), { stream: 'a-1', revision: 0 })
  t.equal(await progress.advanceTo(second), undefined, 'a repeat does not advance')
  t.strictSame(await progress.advanceTo(await end()), { stream: 'a-2', revision: 0 })
  t.equal(await progress.advanceTo(await end()), undefined)
  await store.append('a-1', 1, [event()])
  const resumed = new ReadProgress(store, second)
  t.strictSame(await resumed.advanceTo(await end()), { stream: 'a-2', revision: 0 })
})

t.test('finds the position of a place if its event is in the log', async (t) => {
  const store = await openTestStore(t)
  await store.append('a-1', 'no_stream', [event(), event()])
  t.strictSame(await positionOfPlace(store, { stream: 'a-1', revision: 1 }), { commit: 2n, prepare: 2n })
  t.equal(await positionOfPlace(store, { stream: 'a-1', revision: 2 }), undefined)
  t.equal(await positionOfPlace(store, { stream: 'a-2', revision: 0 }), undefined)
})
