import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { NewEvent } from '../../src/event-store/event-store.js'
import { Checkpoint, inReadModels } from '../../src/subscriptions/checkpoint.js'
import { openTestStore } from '../support/embedded-store.js'
import { openTestReadModels } from '../support/read-models.js'

const event = (): NewEvent => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} })
const follower = 'sample'

t.test('a follower resumes at its last event, also in another engine, and starts over in another log', async (t) => {
  const readModels = await openTestReadModels(t.testdir())
  t.teardown(() => readModels.close())
  const [first, second, other] = [event(), event(), event()]
  const store = await openTestStore(t)
  await store.append('a-1', 'no_stream', [first, second])
  const checkpoint = await Checkpoint.load(store, inReadModels(readModels, follower))
  t.equal(checkpoint.position, undefined, 'without a checkpoint it starts at the start of the log')
  await checkpoint.save({ now: true })
  const [, last] = await store.readStream('a-1')
  checkpoint.advance(last!.position, last)
  await checkpoint.save({ now: true })
  t.strictSame((await Checkpoint.load(store, inReadModels(readModels, follower))).position, last!.position)
  t.equal((await Checkpoint.load(store, inReadModels(readModels, 'another'))).position, undefined)

  const copy = await openTestStore(t)
  await copy.append('b-1', 'no_stream', [event()])
  await copy.append('a-1', 'no_stream', [first, second])
  const [, copied] = await copy.readStream('a-1')
  t.strictSame((await Checkpoint.load(copy, inReadModels(readModels, follower))).position, copied!.position)

  const restored = await openTestStore(t)
  await restored.append('a-1', 'no_stream', [first])
  t.equal(
    (await Checkpoint.load(restored, inReadModels(readModels, follower))).position,
    undefined,
    'it lacks the event',
  )
  await restored.append('a-1', 0, [other])
  t.equal(
    (await Checkpoint.load(restored, inReadModels(readModels, follower))).position,
    undefined,
    'it has another one',
  )
})

t.test('a checkpoint is saved at most once a second, and also by a process that has lost its lease', async (t) => {
  const readModels = await openTestReadModels(t.testdir())
  t.teardown(() => readModels.close())
  const store = await openTestStore(t)
  await store.append('a-1', 'no_stream', [event(), event(), event()])
  const events = await store.readStream('a-1')
  const saved = async () => (await readModels.collection('checkpoints').findOne({ _id: follower }))?.revision
  const stale = await Checkpoint.load(store, inReadModels(readModels, follower))
  const current = await Checkpoint.load(store, inReadModels(readModels, follower))
  current.advance(events[1]!.position, events[1])
  await current.save({ now: false })
  t.equal(await saved(), 1)
  current.advance(events[2]!.position, events[2])
  await current.save({ now: false })
  t.equal(await saved(), 1)
  await current.save({ now: true })
  t.equal(await saved(), 2)
  stale.advance(events[0]!.position, events[0])
  await stale.save({ now: true })
  t.equal(await saved(), 0)
})
