import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEventLog } from '@transferd/event-log'
import t from 'tap'
import { startReceiver } from '../callbacks/receiver.js'
import { runCli } from '../cli/in-process.js'
import { startEventsServerProcess } from '../support/events-server.js'
import { wholeLog } from '../support/expected-documents.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'

const outageMs = 30_000
/** The number of creates before the outage and after it. */
const enough = 50
const patienceMs = 120_000

async function until(holds: () => boolean | Promise<boolean>): Promise<boolean> {
  const giveUpAt = Date.now() + patienceMs
  while (!(await holds())) {
    if (Date.now() > giveUpAt) return false
    await sleep(100)
  }
  return true
}

// The test takes a minute on an idle machine, and several on a busy one.
t.setTimeout(600_000)

t.test(
  `returns 503 while the event store is down for ${outageMs / 1000} s, then recovers without loss or restart`,
  async (t) => {
    const [directory, log] = [temporaryDirectory(t), temporaryDirectory(t)]
    const receiver = await startReceiver(t)
    let server = await startEventsServerProcess(t, log)
    const environment = {
      EVENT_STORE_URL: server.url,
      TRANSFERD_MASTER_KEY: randomBytes(32).toString('hex'),
    }
    const cli = (...args: string[]) => runCli(directory, [...args, '--json'], environment)
    const options = ['--callback-url', receiver.url, '--sandbox', '--callback-on-create', '--rate-limit', '100000']
    const registration = await cli('merchants', 'create', '--name', 'Outage', ...options)
    t.equal(registration.status, 0, registration.stderr)
    const credentials = JSON.parse(registration.stdout) as Credentials
    const service = await startServiceProcess(t, { directory, environment })

    /** Whether the create of each sent reference was acknowledged. */
    const creates = new Map<string, boolean>()
    const responses = { ok: 0, unavailable: 0, other: [] as unknown[] }
    const create = async (referenceId: string = randomUUID()) => {
      creates.set(referenceId, creates.get(referenceId) ?? false)
      const { status, retryAfter, body } = await createDeposit(service.baseUrl, credentials, referenceId)
      if (status === 200 && body.success) {
        responses.ok++
        creates.set(referenceId, true)
      } else if (status === 503 && Number(retryAfter) > 0) responses.unavailable++
      else responses.other.push({ status, retryAfter, body })
    }
    const merchant = async (stop: AbortSignal) => {
      while (!stop.aborted) {
        await create()
        await sleep(250)
      }
    }
    const stop = new AbortController()
    const merchants = Array.from({ length: 4 }, () => merchant(stop.signal))

    t.ok(await until(() => responses.ok >= enough), 'creates succeed')
    await server.end('SIGKILL')
    await sleep(1_000)
    const before = responses.ok
    await sleep(outageMs - 1_000)
    t.equal(responses.ok, before, 'no create is acknowledged while the event store is down')
    t.ok(responses.unavailable >= 8, `${responses.unavailable} requests got 503 with Retry-After`)
    t.equal((await fetch(`${service.baseUrl}/health/ready`)).status, 503)
    t.equal((await fetch(`${service.baseUrl}/health/live`)).status, 200)

    const port = server.port
    server = await startEventsServerProcess(t, log, port)
    const restartedMs = performance.now()
    t.ok(await until(() => responses.ok >= before + enough), 'creates succeed again')
    t.comment(`${((performance.now() - restartedMs) / 1000).toFixed(1)} s until ${enough} creates succeeded again`)
    stop.abort()
    await Promise.all(merchants)
    const unacknowledged = () =>
      [...creates].flatMap(([referenceId, acknowledged]) => (acknowledged ? [] : referenceId))
    // Like merchants, the test repeats requests until they are acknowledged. It sends batches, because the service limits the
    // connections of one address.
    const repeated = async () => {
      await Promise.all(
        unacknowledged()
          .slice(0, 100)
          .map((referenceId) => create(referenceId)),
      )
      return unacknowledged().length === 0
    }
    t.ok(await until(repeated), 'every create succeeds eventually')
    t.strictSame(responses.other, [], 'every response is 200, or 503 with Retry-After')

    const store = await openEventLog({ directory: log })
    t.teardown(() => store.close())
    const created = (await wholeLog(store)).filter(({ type }) => type === 'DepositCreated')
    const stored = created.map(({ data }) => String(data.referenceId)).sort()
    t.strictSame(stored, [...creates.keys()].sort(), 'each create is in the log once')
    const calledBack = () => {
      const called = new Set(receiver.received.map(({ webhookId }) => webhookId))
      return created.every(({ id }) => called.has(id))
    }
    t.ok(await until(calledBack), `each of ${created.length} creates is called back`)
    const caughtUp = async () => {
      const { stdout } = await cli('projections', 'status')
      return (JSON.parse(stdout) as { lagEvents: number }[]).every(({ lagEvents }) => lagEvents === 0)
    }
    t.ok(await until(caughtUp), 'the projections catch up')
    t.ok(await until(async () => (await fetch(`${service.baseUrl}/health/ready`)).ok), 'the service is ready again')

    t.equal(await service.end('SIGTERM'), 0, 'the process never restarts and exits gracefully')
    t.notMatch(service.log(), decodeURIComponent(new URL(server.url).password))
    t.notMatch(service.log(), /"level":60/)
    const loud = service.log().match(/^\{"level":[45]0.*$/gm) ?? []
    t.ok(loud.length < 10, `an outage is few lines: ${loud.map((line) => line.slice(0, 200)).join('\n')}`)
    await server.end('SIGTERM')
  },
)
