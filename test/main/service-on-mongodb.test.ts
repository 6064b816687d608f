import { randomUUID } from 'node:crypto'
import t from 'tap'
import { openMongodbReadModels } from '../../src/read-models/mongodb/mongodb-read-models.js'
import { mongodbUrl, testDatabaseUrl, withoutMongodb } from '../support/mongodb.js'
import { runCli, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { RawMerchantClient } from '../support/raw-merchant-client.js'
import { severableProxy } from '../support/severable-proxy.js'
import { until } from '../support/until.js'

t.test('exits with status 1 and the reason if the server is missing', async (t) => {
  const READ_MODEL_URL = 'mongodb://user:hunter2@127.0.0.1:1/transferd'
  const { status, stderr } = await runCli(temporaryDirectory(t), ['serve'], { READ_MODEL_URL, PORT: '0' })
  t.equal(status, 1)
  t.match(stderr, /the read models are unavailable.*ECONNREFUSED/)
  t.notMatch(stderr, /hunter2/)
})

t.test(
  'accepts transfers and responds to lists with 503 during an outage of MongoDB, and lists everything afterwards',
  { skip: withoutMongodb, timeout: 240_000 },
  async (t) => {
    const direct = testDatabaseUrl(`service_${randomUUID().slice(0, 8)}`)
    const { hostname, port, pathname } = new URL(direct.replace(/^mongodb/, 'http'))
    const proxy = await severableProxy({ host: hostname, port: Number(port || 27_017) })
    await proxy.restore()
    const READ_MODEL_URL = mongodbUrl(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`, pathname.slice(1))
    const environment = { READ_MODEL_URL, SANDBOX: 'auto' }
    const service = await startServiceProcess(t, { directory: temporaryDirectory(t), environment })
    const readModels = openMongodbReadModels({ url: direct })
    t.teardown(async () => {
      await proxy.sever()
      for (const name of await readModels.listCollections()) await readModels.drop(name)
      await readModels.close()
    })
    const client = new RawMerchantClient(service.baseUrl, service.sandbox!)
    const headers = { webapikey: service.sandbox!.webApiKey }
    const list = () => fetch(`${service.baseUrl}/v1/transfers`, { headers })
    const listed = async () => ((await (await list()).json()) as { items?: unknown[] }).items?.length

    t.equal((await client.hostedDeposit('before', '100.00')).status, 200)
    await until(async () => (await listed()) === 1)
    await proxy.sever()
    for (let n = 0; n < 5; n++) t.equal((await client.hostedDeposit(`meanwhile-${n}`, '100.00')).status, 200)
    t.equal((await list()).status, 503)
    await proxy.restore()
    await until(async () => (await listed()) === 6)
    t.equal(await service.end('SIGTERM'), 0)
    t.notMatch(service.log(), /"level":60/)
  },
)
