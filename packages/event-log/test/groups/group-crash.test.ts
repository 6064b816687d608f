import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openEventLog } from '../../src/event-log.js'
import { GroupScene, sleep, until } from '../support/group-scene.js'

const child = fileURLToPath(new URL('./group-crash-child.js', import.meta.url))
const rounds = process.env.TEST_LONG === '1' ? 5 : 2

t.test(
  'a group delivers every event until it is finished or parked, even if its process is killed repeatedly',
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'groups-crash-'))
    t.teardown(() => rmSync(directory, { recursive: true }))
    const finished = new Set<string>()
    let scene = new GroupScene(await openEventLog({ directory }))
    const { prefix } = scene
    await scene.create({
      messageTimeoutMs: 500,
      maxRetryCount: 2,
      minCheckpointCount: 1,
      maxCheckpointCount: 5,
      checkpointAfterMs: 500,
      historyBufferSize: 50,
      liveBufferSize: 20,
    })
    await scene.store.close()

    for (let round = 0; round < rounds; round += 1) {
      const { NODE_OPTIONS: _instrumentation, ...env } = process.env
      const victim = spawn(process.execPath, [child, directory, prefix, '150'], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env,
      })
      let output = ''
      victim.stdout.setEncoding('utf8').on('data', (text) => {
        output += text
      })
      const ended = once(victim, 'close')
      await until(() => output.length > 0, 60_000)
      await sleep(300 + Math.random() * 1_200)
      victim.kill('SIGKILL')
      await ended
      for (const id of output.split('\n')) finished.add(id)
    }

    scene = new GroupScene(await openEventLog({ directory }), prefix)
    t.teardown(() => scene.store.close())
    const events = (await scene.store.readAll({ maxCount: 100_000 })).events
    const before = events.filter((event) => finished.has(event.id)).length
    t.ok(before > 0, `${before} of ${events.length} were finished before the last crash`)
    await scene.consume(50, async ({ event, ackId }, { consumer }) => {
      finished.add(event.id)
      await consumer.ack(ackId)
    })
    const missing = () => events.filter((event) => !finished.has(event.id)).length
    await until(async () => {
      await sleep(100)
      if ((await scene.parkedCount()) > 0) await scene.replay()
      return missing() === 0
    }, 20_000)
    t.equal(missing(), 0)
  },
)
