import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import { pino } from 'pino'
import t from 'tap'
import { openCommandStores } from '../../src/cli/cli-stores.js'
import { currencyMismatch } from '../../src/domain/money.js'
import { startService } from '../../src/main/service.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openEventStore, openLog } from '../../src/operations/stores/stores.js'
import { runCli } from '../cli/in-process.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const lira = { code: 'TRY', decimals: 2 } as const
const refused = {
  name: 'ConfigurationError',
  message: /CURRENCY is EUR, but the log is in TRY\. Set CURRENCY=TRY, or use a different log/,
}
const output = { write: () => undefined, notify: () => undefined, announce: () => undefined, progress: () => undefined }

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

t.test('the first start decides, so a second node with another currency ends before there is a transfer', async (t) => {
  const installation = environmentOf(tempDirectory(t))
  const start = (CURRENCY: string) =>
    startService(readConfiguration({ ...installation, CURRENCY, PORT: '0' }), pino({ level: 'silent' }))
  const first = await start('TRY')
  t.teardown(() => first.stop())
  await t.rejects(start('EUR'), refused)
  const second = await start('TRY')
  await second.stop()
})

t.test('of nodes that start on a new log at the same time, only those with one currency run', async (t) => {
  const installation = environmentOf(tempDirectory(t))
  const open = async (CURRENCY: string) => openLog(readConfiguration({ ...installation, CURRENCY }), false)
  const currencies = ['TRY', 'EUR', 'TRY', 'EUR', 'JPY']
  const results = await Promise.allSettled(currencies.map(open))
  const kept = results.flatMap(({ status }, n) => (status === 'fulfilled' ? [currencies[n]] : []))
  for (const result of results) if (result.status === 'fulfilled') await result.value.close()
  t.equal(new Set(kept).size, 1, kept.join())
  for (const result of results) if (result.status === 'rejected') t.match(result.reason, { name: 'ConfigurationError' })
  const log = await openLog(readConfiguration({ ...installation, CURRENCY: kept[0] }), false)
  t.teardown(() => log.close())
  t.equal((await log.eventStore.readStream('installation-currency')).length, 1)
})

t.test('the program ends with status 2 and the reason, and a verification works with any currency', async (t) => {
  const directory = tempDirectory(t)
  const run = (CURRENCY: string, ...args: string[]) => runCli(directory, args, { CURRENCY })
  const callback = ['--name', 'Shop', '--callback-url', 'https://93.184.216.34/', '--sandbox']
  t.match(await run('JPY', 'merchants', 'create', ...callback), { status: 0 })
  const reason = /CURRENCY is EUR, but the log is in JPY\. Set CURRENCY=JPY/
  t.match(await run('EUR', 'merchants', 'list'), { status: 2, stderr: reason })
  t.match(await run('EUR', 'audit', 'verify', '--report'), { status: 2, stderr: reason, stdout: '' })
  const verified = await run('EUR', 'audit', 'verify', '--json')
  t.notMatch(verified.stderr, 'CURRENCY')
  t.match(JSON.parse(verified.stdout), { codesVerified: true })
  t.match(await run('EUR', 'events', 'save', 'copy.db'), { status: 0 })
})

t.test('the same currency with different minor units is another one', async (t) => {
  t.equal(currencyMismatch({ currency: 'TRY', decimals: 2 }, lira), undefined)
  t.match(currencyMismatch({ currency: 'TRY', decimals: 0 }, lira), /TRY with 0 decimals/)
})

t.test('an unreadable event in the stream prevents no start', async (t) => {
  const directory = tempDirectory(t)
  const masterKey = randomBytes(32)
  const configuration = readConfiguration({ ...environmentOf(directory, masterKey), CURRENCY: 'EUR' })
  const raw = await openEventStore({ engine: 'embedded', directory }, false)
  await raw.eventStore.append('installation-currency', 'no_stream', [
    { id: '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10', type: 'Foreign', data: {}, metadata: {} },
  ])
  await raw.eventStore.close()
  for (let start = 0; start < 2; start++) await (await openLog(configuration)).close()
  await t.rejects(openLog(readConfiguration({ ...environmentOf(directory, masterKey), CURRENCY: 'TRY' })), {
    message: /CURRENCY is TRY, but the log is in EUR/,
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
