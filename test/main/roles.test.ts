import { join } from 'node:path'
import t from 'tap'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { startReceiver } from '../callbacks/receiver.js'
import { cliJson } from '../cli/in-process.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { until } from '../support/until.js'

const longMs = 120_000

t.test('each node performs only its roles, and together they form the service', async (t) => {
  const directory = temporaryDirectory(t)
  const receiver = await startReceiver(t)
  const options = ['--callback-url', receiver.url, '--sandbox', '--callback-on-create']
  const credentials = await cliJson<Credentials>(directory, 'merchants', 'create', '--name', 'Roles', ...options)
  // This node starts first and could take every lease.
  const api = await startServiceProcess(t, { directory, roles: 'api' })
  const projections = await startServiceProcess(t, { directory, environment: { ROLES: 'projections' } })
  const callbacks = await startServiceProcess(t, { directory, roles: 'callbacks', environment: { ROLES: 'api' } })
  t.strictSame([api.roles, projections.roles, callbacks.roles], [['api'], ['projections'], ['callbacks']])

  const readModels = await openEmbeddedReadModels({ directory: join(directory, 'data') })
  t.teardown(() => readModels.close())
  const holders = async () => {
    const leases = await readModels.collection('leases').find({})
    return Object.fromEntries(leases.map(({ _id, holder }) => [_id, Number(String(holder).split('/')[1])]))
  }
  const names = [
    'audit-tree',
    'bank-statements',
    'privacy:erasures',
    'expiry',
    'linked-payouts',
    'payments',
    'projection:bank-accounts',
    'projection:bank-days',
    'projection:bank-payments',
    'projection:callbacks',
    'projection:problems',
    'projection:totals',
    'projection:transfer-events',
    'projection:transfers',
    'stream-list',
  ]
  await until(async () => Object.keys(await holders()).length === names.length + 1, longMs)
  const expected = Object.fromEntries(names.map((name) => [name, projections.pid]))
  t.strictSame(await holders(), { ...expected, callbacks: callbacks.pid })

  for (const node of [projections, callbacks]) {
    t.equal((await createDeposit(node.baseUrl, credentials)).status, 404, 'does not serve creates')
    for (const path of ['/v1/transfers', '/documentation', '/pay/x']) {
      t.equal((await fetch(node.baseUrl + path)).status, 404, path)
    }
    t.equal((await fetch(`${node.baseUrl}/health/live`)).status, 200)
    t.match(await (await fetch(`${node.baseUrl}/metrics`)).text(), /transferd_projection_lag_events\{/)
    t.equal(node.sandbox, undefined)
  }

  const { status, body } = await createDeposit(api.baseUrl, credentials)
  t.equal(status, 200)
  await until(() => receiver.received.length === 1, longMs)
  t.equal(receiver.received[0]!.trackingId, body.result!.trackingId)
  await until(async () => {
    const list = await fetch(`${api.baseUrl}/v1/transfers`, { headers: { WebApiKey: credentials.webApiKey } })
    return (await list.text()).includes(body.result!.trackingId)
  }, longMs)
  const ends = await Promise.all([api, projections, callbacks].map((node) => node.end('SIGTERM')))
  t.strictSame(ends, [0, 0, 0])
})
