import { randomUUID } from 'node:crypto'
import t from 'tap'
import { eventAt, firstEventIn, type NewEvent } from '../../src/event-store/event-store.js'
import { openTestStore } from '../support/embedded-store.js'

const event = (): NewEvent => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} })

t.test('finds the first event in a range of the log', async (t) => {
  const store = await openTestStore(t)
  const end = async () => (await store.readAll({ maxCount: 100 })).checkpoint!
  t.equal(await firstEventIn(store, { after: undefined, until: undefined }), undefined, 'an empty log has none')
  await store.append('a-1', 'no_stream', [event(), event()])
  const second = await end()
  await store.append('a-2', 'no_stream', [event(), event()])
  t.match(await firstEventIn(store, { after: undefined, until: second }), { stream: 'a-1', revision: 0 })
  t.equal(await firstEventIn(store, { after: second, until: second }), undefined, 'an empty range has none')
  t.match(await firstEventIn(store, { after: second, until: await end() }), { stream: 'a-2', revision: 0 })
  await store.append('a-1', 1, [event()])
  t.match(await firstEventIn(store, { after: second, until: await end() }), { stream: 'a-2', revision: 0 })
})

t.test('finds the event at a place if it is in the log', async (t) => {
  const store = await openTestStore(t)
  await store.append('a-1', 'no_stream', [event(), event()])
  t.strictSame((await eventAt(store, { stream: 'a-1', revision: 1 }))?.position, { commit: 2n, prepare: 2n })
  t.equal(await eventAt(store, { stream: 'a-1', revision: 2 }), undefined)
  t.equal(await eventAt(store, { stream: 'a-2', revision: 0 }), undefined)
})
