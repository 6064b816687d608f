import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { NewEvent, PersistentConsumer, PersistentDelivery } from '../../../src/event-store/event-store.js'
import { MemoryLog } from './memory-event-store.js'

const event = (): NewEvent => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} })
const never = new AbortController().signal

function collect(consumer: PersistentConsumer) {
  const seen = { deliveries: [] as PersistentDelivery[], hasEnded: false }
  void (async () => {
    for await (const delivery of consumer) seen.deliveries.push(delivery)
    seen.hasEnded = true
  })()
  return seen
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !condition(); turn++) await setImmediate()
}

t.test('one connection at a time consumes a group, and a crash passes its events on', async (t) => {
  const log = new MemoryLog()
  const [one, two] = [log.open(), log.open()]
  t.teardown(() => two.close())
  const groups = two.persistentSubscriptions
  await groups.create('g')
  await two.append('s', 'no_stream', [event(), event()])
  const options = { bufferSize: 10, signal: never }
  const first = collect(await one.persistentSubscriptions.consume('g', options))
  await until(() => first.deliveries.length === 2)
  await t.rejects(groups.consume('g', options), { name: 'GroupHeldElsewhereError' })
  one.crash()
  const second = collect(await groups.consume('g', options))
  await until(() => first.hasEnded && second.deliveries.length === 2)
  t.equal(first.hasEnded, true)
  t.same(
    second.deliveries.map(({ event }) => event.revision),
    [0, 1],
  )
})

t.test('nothing of a crashed connection settles or is written', async (t) => {
  const log = new MemoryLog()
  const store = log.open()
  const settled: string[] = []
  const pages = store.subscribeToAll({ signal: never })[Symbol.asyncIterator]()
  await pages.next()
  const note = (name: string) => () => settled.push(name)
  pages.next().then(note('subscription'), note('subscription'))
  store.crash()
  store.append('s', 'no_stream', [event()]).then(note('append'), note('append'))
  await log.open().append('other', 'no_stream', [event()])
  await setImmediate()
  t.same(settled, [])
  t.same(
    log.events.map(({ stream }) => stream),
    ['other'],
  )
})

t.test('a restored log has the events, revisions and reserved keys of its snapshot', async (t) => {
  const log = new MemoryLog()
  const store = log.open()
  const reserve = (stream: string) =>
    store.appendInOrder([{ stream, expectedRevision: 'no_stream', events: [event()], reserves: ['key'] }])
  await store.append('a', 'no_stream', [event()])
  const snapshot = log.snapshot()
  await reserve('b')
  await store.append('a', 0, [event()])
  await t.rejects(reserve('c'), { name: 'KeyReservedError' })
  const later = log.snapshot()
  log.restore(snapshot)
  t.equal((await store.append('a', 0, [event()])).revision, 1)
  await reserve('c')
  log.restore(later)
  await t.rejects(reserve('c'), { name: 'KeyReservedError' })
  t.same(log.events, later)
})
