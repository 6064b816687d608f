import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openEventLog } from '../../src/event-log.js'
import { acking, each, GroupScene, sleep, until } from '../support/group-scene.js'

const child = fileURLToPath(new URL('./group-lock-child.js', import.meta.url))

function directoryOf(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'group-lock-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return directory
}

/** Starts a process that consumes the group, acknowledges only even numbers and prints its deliveries. */
async function startHolder(t: Test, directory: string, scene: GroupScene) {
  const { NODE_OPTIONS: _instrumentation, ...env } = process.env
  const process_ = spawn(process.execPath, [child, directory, scene.prefix], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  })
  t.teardown(() => process_.kill('SIGKILL'))
  let output = ''
  process_.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  const lines = () => output.split('\n').filter((line) => line !== '')
  await until(() => lines().includes('consuming'), 60_000)
  return {
    lines,
    async kill() {
      const ended = once(process_, 'exit')
      process_.kill('SIGKILL')
      await ended
    },
  }
}

async function open(t: Test, directory: string): Promise<GroupScene> {
  const store = await openEventLog({ directory })
  t.teardown(() => store.close())
  return new GroupScene(store)
}

t.jobs = 4

t.test(
  'only one process holds a group, which is free as soon as that process is killed',
  { buffered: true },
  async (t) => {
    const directory = directoryOf(t)
    const scene = await open(t, directory)
    await scene.put(6)
    await scene.create(each)
    const other = await startHolder(t, directory, scene)
    await until(() => other.lines().includes('got 5'), 60_000)
    await t.rejects(scene.consume(), { name: 'GroupHeldElsewhereError' })
    t.equal(await scene.untilCovered(1), 1, 'this process sees its checkpoint')
    await other.kill()
    const client = await scene.consume()
    t.same((await client.count(5)).attempts, [
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 0],
      [5, 0],
    ])
  },
)

t.test('the holder notices updates, replays and the deletion by another process', { buffered: true }, async (t) => {
  const directory = directoryOf(t)
  const here = await open(t, directory)
  const elsewhere = await open(t, directory)
  const there = new GroupScene(elsewhere.store, here.prefix)
  await here.put(3)
  await here.create(each)
  const client = await here.consume()
  await client.count(3)
  await client.nack('park', 1)
  await here.untilParked(1)
  t.equal(await there.parkedCount(), 1)
  await there.replay()
  t.same((await client.count(4)).attempts.at(-1), [1, 0])
  t.equal(await there.parkedCount(), 0)
  await t.rejects(there.consume(), { name: 'GroupHeldElsewhereError' })
  await there.update({ ...each, maxRetryCount: 1 })
  await until(() => client.error !== undefined)
  t.equal(client.error?.name, 'ConsumerDroppedError')
  const second = await here.consume()
  t.equal((await second.count(3)).deliveries.length, 3)
  await there.groups.delete(there.group)
  await until(() => second.error !== undefined)
  t.equal(second.error?.name, 'ConsumerDroppedError')
  await t.rejects(here.consume(), { name: 'PersistentSubscriptionMissingError' })
})

t.test('a group without consumers is released, and resumes with its state', { buffered: true }, async (t) => {
  const directory = directoryOf(t)
  const here = await open(t, directory)
  const there = new GroupScene((await open(t, directory)).store, here.prefix)
  await here.put(3)
  await here.create()
  const one = await here.consume()
  await one.count(3)
  await one.ack(0)
  await one.consumer.close()
  await t.rejects(there.consume(), { name: 'GroupHeldElsewhereError' }, 'the group is not free immediately')
  await sleep(7_500)
  t.equal(await here.covered(), 1, 'the checkpoint is written although neither count is reached')
  const again = await here.consume()
  t.same((await again.count(2)).attempts, [
    [1, 1],
    [2, 1],
  ])
  await again.consumer.close()
  await sleep(7_500)
  const two = await there.consume(10, acking)
  t.same((await two.count(2)).attempts, [
    [1, 0],
    [2, 0],
  ])
  await two.consumer.close()
  await there.store.close()
  const three = await here.consume()
  await here.put(1)
  t.same((await three.count(1)).attempts, [[3, 0]], 'continues after the events of the other process')
})

t.test('no group is lost when several processes create groups simultaneously', { buffered: true }, async (t) => {
  const directory = directoryOf(t)
  const scenes = [await open(t, directory), await open(t, directory)]
  const names = Array.from({ length: 20 }, () => randomUUID())
  await Promise.all(names.map((name, i) => scenes[i % 2]!.create({}, name)))
  for (const name of names) for (const scene of scenes) t.equal((await scene.groups.info(name)).group, name)
})
