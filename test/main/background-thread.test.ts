import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import t from 'tap'
import { startBackgroundThread } from '../../src/main/background-thread.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { ServiceRegistry } from '../../src/operations/metrics.js'
import { openStores } from '../../src/operations/stores/stores.js'
import type { KeyRing } from '../../src/security/secret-box.js'
import { temporaryDirectory } from '../support/processes.js'
import { until } from '../support/until.js'

function logLines() {
  const lines: { msg: string; crashes?: number; err?: { message: string } }[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { lines, logger }
}

async function thread(t: { teardown(work: () => unknown): unknown }, broken: () => boolean) {
  const directory = temporaryDirectory(t)
  const url = `embedded:${directory}`
  const configuration = readConfiguration({ EVENT_STORE_URL: url, READ_MODEL_URL: url, LOG_LEVEL: 'warn' })
  const stores = await openStores(configuration)
  const dataWith = (keyRing: KeyRing) => {
    const eventStore = stores.shareEventStore()
    return {
      data: { configuration, installationName: 'pay.example', keyRing, eventStore },
      transfer: eventStore ? [eventStore.port] : [],
    }
  }
  // The key has the wrong length, so the thread fails at its start.
  const data = () => dataWith(broken() ? { current: Buffer.alloc(3) } : stores.keyRing)
  return { stores, data, dataWith }
}

t.test('restarts a failed thread and reports the problem in the meantime', async (t) => {
  let broken = true
  const { stores, data } = await thread(t, () => broken)
  const { lines, logger } = logLines()
  const background = startBackgroundThread({
    role: 'callbacks',
    data,
    logger,
    onGivenUp: () => t.fail('the thread is still being restarted'),
  })
  t.match(background.problems(), ['the callbacks thread is starting'])
  await until(() => lines.length === 2)
  t.match(lines, [
    { crashes: 1, err: { message: /master key/ } },
    { crashes: 2, err: { message: /master key/ } },
  ])
  t.match(background.problems(), ['the callbacks thread died and is being restarted'])
  t.same(await background.metrics(), [])
  broken = false
  await until(() => background.problems().length === 0)
  const names = (await background.metrics()).map(({ name }) => name)
  t.ok(names.includes('transferd_callback_attempt_duration_seconds'))
  await background.stop()
  await stores.close()
  t.equal(lines.length, 2, 'a stop is not reported as a failure')
})

t.test('a crash of one thread is reported and does not stop the thread of another role', async (t) => {
  let broken = true
  const failing = await thread(t, () => broken)
  const { lines, logger } = logLines()
  const onGivenUp = () => t.fail('the thread is still being restarted')
  const data = () => failing.dataWith(failing.stores.keyRing)
  const projections = startBackgroundThread({ role: 'projections', data, logger, onGivenUp })
  const callbacks = startBackgroundThread({ role: 'callbacks', data: failing.data, logger, onGivenUp })
  await until(() => projections.problems().length === 0 && lines.length > 0)
  t.match(callbacks.problems(), ['the callbacks thread died and is being restarted'])
  const registry = new ServiceRegistry(() => Promise.all([projections, callbacks].map((each) => each.metrics())))
  t.match(await registry.metrics(), /^transferd_background_restarts_total\{part="payments"\} 0$/m)
  broken = false
  await until(() => callbacks.problems().length === 0)

  const text = await registry.metrics()
  t.match(text, /^transferd_background_restarts_total\{part="payments"\} 0$/m)
  t.match(text, /^transferd_background_restarts_total\{part="callbacks"\} 0$/m)
  t.match(text, /^transferd_callbacks\{state="waiting"\} 0$/m)
  t.match(text, /^transferd_callback_wait_seconds_count 0$/m)
  const names = text.split('\n').filter((line) => line !== '')
  const series = names.map((line) => (line.startsWith('#') ? line : line.slice(0, line.lastIndexOf(' '))))
  t.equal(new Set(series).size, series.length, 'each series and each description is shown once')
  await callbacks.stop()
  t.same(projections.problems(), [])
  await projections.stop()
  await failing.stores.close()
})

t.test('stops a thread immediately while it is being restarted', async (t) => {
  const { stores, data } = await thread(t, () => true)
  const { lines, logger } = logLines()
  const background = startBackgroundThread({ role: 'projections', data, logger, onGivenUp: () => undefined })
  await until(() => lines.length === 1)
  await background.stop()
  await stores.close()
})

t.test('reports a part of the work that only restarts', async (t) => {
  const { stores, data } = await thread(t, () => false)
  const { logger } = logLines()
  // A list of subscriptions that a newer program wrote.
  const newer = { id: randomUUID(), type: '$PersistentConfig', data: { version: 99, entries: [] }, metadata: {} }
  await stores.rawEventStore.append('$persistentSubscriptionConfig', 'no_stream', [newer])
  const background = startBackgroundThread({
    ...{ role: 'callbacks', data, logger },
    onGivenUp: () => t.fail('only a part of the thread fails'),
  })
  await until(() => background.problems().some((problem) => problem.includes('callbacks only restarts')))
  const metrics = await new ServiceRegistry(async () => [await background.metrics()]).metrics()
  t.match(metrics, /^transferd_background_restarts_total\{part="callbacks"\} [3-9]/m)
  await background.stop()
  await stores.close()
})
