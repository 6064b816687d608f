import { pino } from 'pino'
import t from 'tap'
import { allProjections } from '../../src/projections/all-projections.js'
import { type ProjectionTask, ProjectionTasks } from '../../src/projections/projection-tasks.js'
import { watchTasks } from '../../src/projections/start-projections.js'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { openWorld } from './world.js'

t.test('sends and loses no callback when projections are rebuilt', async (t) => {
  const world = await openWorld(t, { project: false })
  const { store, readModels, clock } = world
  // About a third of the callbacks fail and wait for their next attempt during the rebuilds.
  const receiver = await startReceiver(t, ({ body }, response) => {
    const fails = String(body.RefereneceId).charCodeAt(0) % 3 === 0
    response.writeHead(fails ? 503 : 200, fails ? { 'retry-after': '3600' } : {}).end()
  })
  const { id } = await world.merchant(receiver.url)
  const deps = { store, readModels, clock: clock.now, logger: pino({ level: 'silent' }) }
  const rebuildAll = async () => {
    const tasks = new ProjectionTasks(readModels, clock.now)
    const requested: ProjectionTask[] = []
    for (const { name } of allProjections)
      requested.push((await tasks.request(name, { what: 'rebuild', by: 'test' })).task)
    let last: readonly (ProjectionTask | null)[] = []
    for await (const watched of watchTasks(deps, requested, new AbortController().signal)) last = [...watched.values()]
    t.same(
      last.map((task) => task?.state),
      allProjections.map(() => 'done'),
    )
  }
  const part = world.start()
  const transfers = await Promise.all(Array.from({ length: 20 }, () => world.completed(id)))
  await until(() => new Set(receiver.received.map(({ trackingId }) => trackingId)).size === transfers.length)
  const attempts = () => world.counts.attempts.delivered + world.counts.attempts.failed
  await until(() => attempts() === receiver.received.length)
  const sent = receiver.received.length
  const eventCounts = async () =>
    (await Promise.all(transfers.map((each) => world.deliveryLog(each)))).map(({ length }) => length)
  await until(async () => (await eventCounts()).every((count) => count === 2))

  for (let round = 0; round < 2; round++) await rebuildAll()
  // After a restart, delivery reads its work from the rebuilt documents.
  await part.stop()
  world.start()
  await rebuildAll()
  const another = await world.completed(id)
  await until(() => receiver.received.some(({ trackingId }) => trackingId === another))
  t.equal(receiver.received.length, sent + 1, 'only the callback of the new change is sent')
  t.same([...new Set(await eventCounts())], [2])
})
