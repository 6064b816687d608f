import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import t from 'tap'
import { type BackgroundThreadOptions, startBackgroundThread } from '../../src/main/background-thread.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openStores } from '../../src/operations/stores/stores.js'
import { temporaryDirectory } from '../support/processes.js'

function logLines() {
  const lines: { msg: string; crashes?: number; err?: { message: string } }[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { lines, logger }
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('the condition did not become true within 60 s')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function thread(t: { teardown(work: () => unknown): unknown }, broken: () => boolean) {
  const directory = temporaryDirectory(t)
  const url = `embedded:${directory}`
  const configuration = readConfiguration({ EVENT_STORE_URL: url, READ_MODEL_URL: url, LOG_LEVEL: 'warn' })
  const stores = await openStores(configuration)
  const data: BackgroundThreadOptions['data'] = () => {
    const eventStore = stores.shareEventStore()
    // The key has the wrong length, so the thread fails at its start.
    const keyRing = broken() ? { current: Buffer.alloc(3) } : stores.keyRing
    return {
      data: { configuration, installationName: 'pay.example', keyRing, eventStore },
      transfer: eventStore ? [eventStore.port] : [],
    }
  }
  return { stores, data }
}

t.test('restarts a failed thread and reports the problem in the meantime', async (t) => {
  let broken = true
  const { stores, data } = await thread(t, () => broken)
  const { lines, logger } = logLines()
  const background = startBackgroundThread({
    data,
    logger,
    onGivenUp: () => t.fail('the thread is still being restarted'),
  })
  t.match(background.problems(), [/starting/])
  await until(() => lines.length === 2)
  t.match(lines, [
    { crashes: 1, err: { message: /master key/ } },
    { crashes: 2, err: { message: /master key/ } },
  ])
  t.match(background.problems(), [/died and is being restarted/])
  t.equal(await background.metrics(), '')
  broken = false
  await until(() => background.problems().length === 0)
  t.match(await background.metrics(), /transferd_callback_attempt_duration_seconds/)
  await background.stop()
  await stores.close()
  t.equal(lines.length, 2, 'a stop is not reported as a failure')
})

t.test('stops a thread immediately while it is being restarted', async (t) => {
  const { stores, data } = await thread(t, () => true)
  const { lines, logger } = logLines()
  const background = startBackgroundThread({ data, logger, onGivenUp: () => undefined })
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
    ...{ data, logger },
    onGivenUp: () => t.fail('only a part of the thread fails'),
  })
  await until(() => background.problems().some((problem) => problem.includes('callbacks only restarts')))
  const metrics = await background.metrics()
  t.match(metrics, /^transferd_background_restarts_total\{part="callbacks"\} [3-9]/m)
  t.match(metrics, /^transferd_background_restarts_total\{part="payments"\} 0$/m)
  await background.stop()
  await stores.close()
})
