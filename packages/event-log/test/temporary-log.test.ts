import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { attachEventLog, openEventLog } from '../src/event-log.js'

const child = fileURLToPath(new URL('./support/temporary-child.js', import.meta.url))

async function start(count: number, end: 'exit' | 'wait') {
  const { NODE_OPTIONS: _instrumentation, ...env } = process.env
  const started = spawn(process.execPath, [child, `${count}`, end], { stdio: ['ignore', 'pipe', 'inherit'], env })
  const directories: string[] = []
  for await (const line of createInterface({ input: started.stdout })) {
    directories.push(line.split(' ')[0] ?? '')
    if (directories.length === count) break
  }
  return { started, directories }
}

t.test('a temporary log has threads and subscriptions like any other, and leaves no file', async (t) => {
  const log = await openEventLog({ temporary: true })
  const handle = log.share()
  const attached = attachEventLog(handle)
  await attached.append('a', 'no_stream', [{ type: 'T', data: {} }])
  t.equal((await log.readStream('a')).length, 1)
  t.ok(existsSync(handle.directory))
  t.equal(dirname(handle.directory), existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'in memory if possible')
  await attached.close()
  await log.close()
  await log.close()
  t.notOk(existsSync(handle.directory))
})

t.test('two temporary logs are separate', async (t) => {
  await using first = await openEventLog({ temporary: true, writerThread: false })
  await using second = await openEventLog({ temporary: true, writerThread: false })
  await first.append('a', 'no_stream', [{ type: 'T', data: {} }])
  t.same(await second.readStream('a'), [])
})

t.test('the exit of the process deletes its temporary logs', async (t) => {
  const { started, directories } = await start(12, 'exit')
  if (started.exitCode === null) await once(started, 'exit')
  t.equal(directories.length, 12)
  t.same(directories.filter(existsSync), [])
})

t.test('the logs of a killed process are deleted later, and those of a running one never', async (t) => {
  const [killed, running] = await Promise.all([start(2, 'wait'), start(2, 'wait')])
  killed.started.kill('SIGKILL')
  await once(killed.started, 'exit')
  const old = new Date(Date.now() - 3_600_000)
  const open = async () => (await openEventLog({ temporary: true, writerThread: false })).close()
  await open()
  t.same(killed.directories.filter(existsSync), killed.directories, 'a young one may not have its lock yet')
  for (const directory of [...killed.directories, ...running.directories]) utimesSync(directory, old, old)
  await open()
  t.same(killed.directories.filter(existsSync), [])
  t.same(running.directories.filter(existsSync), running.directories)
  running.started.kill('SIGKILL')
  await once(running.started, 'exit')
  for (const directory of running.directories) utimesSync(directory, old, old)
  await open()
  t.same(running.directories.filter(existsSync), [])
})
