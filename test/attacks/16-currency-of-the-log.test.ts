import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { openEventLog } from '@transferd/event-log'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import { pino } from 'pino'
import t from 'tap'
import { openCommandStores } from '../../src/cli/cli-stores.js'
import { bindCurrency } from '../../src/commands/transfer/log-currency.js'
import { currencyMismatch } from '../../src/domain/money.js'
import { startService } from '../../src/main/service.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openLog } from '../../src/operations/stores/stores.js'
import { seed } from '../../src/sandbox/seed/seed.js'
import { context } from '../support/embedded-store.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const [lira, euro] = [
  { code: 'TRY', decimals: 2 },
  { code: 'EUR', decimals: 2 },
] as const
const refused = {
  name: 'ConfigurationError',
  message: /CURRENCY is EUR, but the transfers in the log are in TRY\. Set CURRENCY=TRY, or use a different log/,
}
const output = { write: () => undefined, notify: () => undefined, progress: () => undefined }

function environmentOf(directory: string, masterKey = randomBytes(32)) {
  const data = `embedded:${directory}`
  return { EVENT_STORE_URL: data, READ_MODEL_URL: data, TRANSFERD_MASTER_KEY: masterKey.toString('base64') }
}

/** Returns the environment of an installation whose log has one transfer in Turkish lira. */
async function installationWithTransfer() {
  const masterKey = randomBytes(32)
  const service = await startTestService({ masterKey })
  t.teardown(() => destroyTestService(service))
  const { webApiKey: key, secretKey } = await service.merchant()
  const created = await post(service.app, paths.native, createBody('native', secretKey), { key })
  if (created.statusCode !== 200) throw new Error(created.body)
  const { trackingId } = created.json().result
  await service.stop()
  return { trackingId, environment: environmentOf(service.path, masterKey) }
}

const { environment, trackingId } = await installationWithTransfer()

t.test('a service with another currency does not start, and listens on no port', async (t) => {
  const port = await freePort()
  const configuration = readConfiguration({ ...environment, CURRENCY: 'EUR', PORT: String(port) })
  await t.rejects(startService(configuration, pino({ level: 'silent' })), refused)
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  t.pass('the port is free')
  await new Promise((resolve) => server.close(resolve))
})

t.test('a command with another currency is refused, and one with the same currency works', async (t) => {
  await t.rejects(openCommandStores({ ...environment, CURRENCY: 'EUR' }, 'must exist', output), refused)
  const stores = await openCommandStores({ ...environment, CURRENCY: 'TRY' }, 'must exist', output)
  t.teardown(() => stores.close())
  t.equal((await stores.transfers.find(trackingId))?.transfer.amountMinor, 10050n)
})

t.test('a log without transfers accepts any currency, and the first create decides for all nodes', async (t) => {
  const store = await openEventLog({ directory: tempDirectory(t), writerThread: false })
  t.teardown(() => store.close())
  const at = '2026-03-01T10:00:00.000Z'
  const bind = (currency: typeof lira | typeof euro) => bindCurrency(store, currency, at, context)
  const results = await Promise.allSettled([bind(lira), bind(euro), bind(lira), bind(euro)])
  const kept = results.flatMap(({ status }, n) => (status === 'fulfilled' ? [n % 2] : []))
  t.equal(new Set(kept).size, 1, 'only nodes with one of the currencies create transfers')
  t.equal(kept.length, 2)
  const { events } = await store.readAll({ maxCount: 10 })
  t.strictSame(
    events.map(({ type }) => type),
    ['CurrencyBound'],
  )
})

t.test('samples of a sandbox bind the log too', async (t) => {
  const installation = environmentOf(tempDirectory(t))
  const configuration = readConfiguration({ ...installation, CURRENCY: 'EUR' })
  const log = await openLog(configuration)
  const parts = { store: log.eventStore, box: log.box, clock: () => new Date().toISOString(), frame: configuration }
  await seed({ ...parts, shouldContinue: () => false })
  await log.close()
  await t.rejects(openLog(readConfiguration({ ...installation, CURRENCY: 'TRY' })), {
    message: /CURRENCY is TRY, but the transfers in the log are in EUR/,
  })
})

t.test('the same currency with different minor units is another one', async (t) => {
  t.equal(currencyMismatch({ currency: 'TRY', decimals: 2 }, lira), undefined)
  t.match(currencyMismatch({ currency: 'TRY', decimals: 0 }, lira), /TRY with 0 decimals/)
})

t.test('an unreadable event in the stream prevents no start', async (t) => {
  const configuration = readConfiguration({ ...environmentOf(tempDirectory(t)), CURRENCY: 'EUR' })
  const log = await openLog(configuration)
  await log.rawEventStore.append('installation-currency', 'no_stream', [
    { id: '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10', type: 'Foreign', data: {}, metadata: {} },
  ])
  await bindCurrency(log.eventStore, euro, '2026-03-01T10:00:00.000Z', context)
  await log.close()
  await (await openLog(configuration)).close()
  t.pass()
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
