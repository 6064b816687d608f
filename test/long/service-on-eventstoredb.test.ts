import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startReceiver } from '../callbacks/receiver.js'
import { startEventsServerProcess } from '../support/events-server.js'
import { runCli, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { RawMerchantClient } from '../support/raw-merchant-client.js'
import { until } from '../support/until.js'

const masterKey = () => randomBytes(32).toString('hex')

t.test('exits with status 1 and the reason if the server is missing', async (t) => {
  const EVENT_STORE_URL = 'esdb://user:hunter2@127.0.0.1:1?tls=false'
  const environment = { EVENT_STORE_URL, TRANSFERD_MASTER_KEY: masterKey(), PORT: '0' }
  for (const args of [['serve'], ['transfers', 'list']]) {
    const { status, stderr } = await runCli(temporaryDirectory(t), args, environment)
    t.equal(status, 1)
    t.match(stderr, /the event store is unavailable: .*ECONNREFUSED/)
    t.notMatch(stderr, /hunter2/)
  }
})

t.test('exits with status 2 for an invalid URL without repeating it', async (t) => {
  const environment = { EVENT_STORE_URL: 'esdb://user:hunter2@host?tls=hunter2', TRANSFERD_MASTER_KEY: masterKey() }
  const { status, stderr } = await runCli(temporaryDirectory(t), ['serve'], environment)
  t.equal(status, 2)
  t.match(stderr, /EVENT_STORE_URL must have tls as true or false/)
  t.notMatch(stderr, /hunter2/)
})

t.test('generates no master key for a shared log, and uses a provided one', async (t) => {
  const server = await startEventsServerProcess(t, temporaryDirectory(t))
  const directory = temporaryDirectory(t)
  const environment = { EVENT_STORE_URL: server.url, DATA_DIRECTORY: directory }
  const { status, stderr } = await runCli(directory, ['merchants', 'list'], environment)
  t.equal(status, 1)
  t.match(stderr, /set TRANSFERD_MASTER_KEY/)
  t.notOk(existsSync(join(directory, 'master.key')))
  writeFileSync(join(directory, 'master.key'), masterKey(), { mode: 0o600 })
  t.equal((await runCli(directory, ['merchants', 'list'], environment)).status, 0)
  await server.end('SIGTERM')
})

t.test('runs deposits, callbacks, lists and the command line, and stops during an outage of the server', async (t) => {
  const server = await startEventsServerProcess(t, temporaryDirectory(t))
  const directory = temporaryDirectory(t)
  const receiver = await startReceiver(t)
  const environment = { EVENT_STORE_URL: server.url, TRANSFERD_MASTER_KEY: masterKey() }
  const service = await startServiceProcess(t, { directory, environment })
  t.equal(service.directory, join(directory, 'data'))
  t.ok(existsSync(join(directory, 'data', 'sandbox.json')))
  t.notOk(existsSync(join(directory, 'data', 'events.db')))
  const cli = async <Answer>(...args: string[]): Promise<Answer> => {
    const { status, stdout, stderr } = await runCli(directory, [...args, '--json'], environment)
    t.equal(status, 0, `${args.join(' ')} ${stderr}`)
    return JSON.parse(stdout) as Answer
  }
  const { merchantId } = service.sandbox!
  await cli('merchants', 'set', merchantId, '--callback-url', receiver.url)
  await cli('callbacks', 'enable', merchantId)
  const client = new RawMerchantClient(service.baseUrl, service.sandbox!)
  const { status, body } = await client.hostedDeposit('first', '100.00')
  t.equal(status, 200)
  const trackingId = String(body.trackingId)
  t.match(await cli('transfers', 'complete', trackingId), { changed: true, statusDescription: 'Completed' })
  await until(() => receiver.received.length === 1)
  t.match(receiver.received[0]?.body, { TrackingId: trackingId, Status: 2 })
  const events = await cli<{ type: string }[]>('events', 'show', trackingId)
  t.same(
    events.map(({ type }) => type),
    ['DepositCreated', 'TransferCompleted'],
  )
  const list = async () => {
    const headers = { webapikey: service.sandbox!.webApiKey }
    return (await (await fetch(`${service.baseUrl}/v1/transfers`, { headers })).json()) as { items: object[] }
  }
  await until(async () => (await list()).items.length === 1)
  await until(async () => {
    const { items } = await cli<{ items: { status: string }[] }>('callbacks', 'list')
    return items.every(({ status }) => status === 'delivered')
  })
  t.match(await cli('projections', 'rebuild', 'totals'), { name: 'totals', state: 'done' })
  const projections = await cli<{ lagEvents: number }[]>('projections', 'status')
  t.ok(projections.length > 0 && projections.every(({ lagEvents }) => lagEvents === 0))

  let scrapes = 0
  const count = async () => {
    scrapes += 1
    const lines = (await (await fetch(`${service.baseUrl}/metrics`)).text()).split('\n')
    const sampleOf = (series: string) =>
      Number(
        lines
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')
          .at(-1),
      )
    const [appends, reads] = ['append', 'read_stream'].map((call) =>
      sampleOf(`transferd_log_calls_total{call="${call}"}`),
    ) as [number, number]
    return { appends, reads, received: sampleOf('transferd_log_events_received_total'), scrapes }
  }
  const creates = 40
  const create = async (name: string) => {
    const before = await count()
    await Promise.all(Array.from({ length: creates }, (_, n) => client.hostedDeposit(`${name}-${n}`, '100.00')))
    return before
  }
  const first = await create('silent')
  const silent = await count()
  // The hashCode uses a different form of the amount than callbacks, so each create reserves two texts.
  t.equal(silent.appends - first.appends, creates * 3, 'a create costs an append, and one for each reserved text')

  await cli('merchants', 'set', merchantId, '--callback-on-create')
  const before = await create('notified')
  await until(async () => receiver.received.length === 1 + creates)
  await until(async () => (await count()).appends >= before.appends + creates * 5)
  const { appends, reads, received, scrapes: through } = await count()
  const written = appends - before.appends
  // A scrape reads the last event of each projection, and the next one counts these reads.
  const readsPerScrape = (await count()).reads - reads
  const forCallbacks = reads - before.reads - (through - before.scrapes) * readsPerScrape
  t.ok(written <= creates * 5.1, `a create costs three appends and its callback two: ${written}`)
  // A callback whose event the follower receives late is recorded from its stream.
  t.ok(forCallbacks <= creates * 0.25, `${forCallbacks} reads of streams for ${creates} callbacks`)
  // The main thread and the two background threads follow the log.
  const perEvent = (received - before.received) / written / 3
  t.ok(perEvent > 0 && perEvent <= 2.5, `each thread received each event ${perEvent} times`)

  await server.end('SIGKILL')
  await until(async () => (await client.hostedDeposit('second', '100.00')).status === 503)
  t.equal(await service.end('SIGTERM'), 0, 'the stop does not wait for the server')
})
