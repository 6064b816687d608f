import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { openEventLog } from '@transferd/event-log'
import t from 'tap'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { until } from '../support/until.js'
import { cliJson, runCli } from './in-process.js'

/** Creates a log, and a master key next to it. */
function createLog(directory: string): Promise<unknown> {
  return cliJson(directory, 'merchants', 'create', '--sandbox', '--name', 'A', '--callback-url', 'http://127.0.0.1:9/')
}

t.test('does not list an event that is skipped while no service runs', async (t) => {
  const directory = temporaryDirectory(t)
  await createLog(directory)
  const store = await openEventLog({ directory: join(directory, 'data'), writerThread: false })
  const stream = `transfer-${randomUUID()}`
  await store.append(stream, 'no_stream', [{ id: randomUUID(), type: 'Foreign', data: {}, metadata: {} }])
  await store.close()
  const service = await startServiceProcess(t, { directory })
  // Wait until the transfer projection has stopped and the problem projection has recorded the event.
  await until(async () => {
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
    return /transferd_unreadable_events\{kind="transfer"\} 1/.test(metrics)
  }, 60_000)
  await service.end('SIGTERM')
  t.match(await cliJson(directory, 'events', 'problems'), [{ event: `${stream}@0`, reason: /Foreign/ }])
  t.match(await cliJson(directory, 'events', 'skip', `${stream}@0`, '--reason', 'a test', '--yes'), { changed: true })
  t.same(await cliJson(directory, 'events', 'problems'), [])
})

t.test('escapes stream names, which a foreign writer may have chosen', async (t) => {
  const directory = temporaryDirectory(t)
  await createLog(directory)
  const store = await openEventLog({ directory: join(directory, 'data'), writerThread: false })
  const stream = 'merchant-\u202e\u001b[2J'
  await store.append(stream, 'no_stream', [{ id: randomUUID(), type: 'Foreign', data: {}, metadata: {} }])
  await store.close()
  const listed = await runCli(directory, ['merchants', 'list'])
  t.equal(listed.status, 0)
  t.match(listed.stderr, 'merchant-\\u202e\\u001b[2J@0: ')
  const problems = await runCli(directory, ['events', 'problems'])
  t.match(
    problems.stdout,
    /^EVENT +RECORDED +REASON\nmerchant-\\u202e\\u001b\[2J@0 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}unknown/,
  )
  for (const text of [listed.stderr, problems.stdout]) t.notOk(text.includes('\u202e') || text.includes('\u001b'))
})
