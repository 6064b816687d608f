import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { cliJson } from '../cli/in-process.js'
import { wholeLog } from '../support/expected-documents.js'
import { long } from '../support/long.js'
import { runCli, type ServiceProcess, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { RawMerchantClient } from '../support/raw-merchant-client.js'
import { openServiceLog } from '../support/service-log.js'

const onlyLong = { skip: long ? false : 'only in the long form' }

function clientOf({ baseUrl, sandbox }: ServiceProcess): RawMerchantClient {
  return new RawMerchantClient(baseUrl, sandbox!)
}

t.test('exits with status 1 and the port number if the port is in use, and leaves no process running', async (t) => {
  const directory = temporaryDirectory(t)
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }
  const { status, stdout, stderr } = await runCli(directory, ['serve'], { PORT: String(port) })
  t.equal(status, 1)
  t.equal(stdout, '')
  t.match(stderr, `port ${port} is in use`)
})

t.test('a second service on the same directory works on another port', onlyLong, async (t) => {
  const directory = temporaryDirectory(t)
  const first = await startServiceProcess(t, { directory })
  const second = await startServiceProcess(t, { directory })
  t.same(second.sandbox, first.sandbox)
  const answer = await clientOf(first).hostedDeposit('shared', '100.00')
  const repeat = await clientOf(second).hostedDeposit('shared', '100.00')
  t.equal(repeat.body.trackingId, answer.body.trackingId)
  t.equal(await first.end('SIGTERM'), 0)
  t.equal((await clientOf(second).hostedDeposit('alone', '100.00')).status, 200)
  t.equal(await second.end('SIGTERM'), 0)
})

t.test('refuses to start with a master key other than that of the log', async (t) => {
  const directory = temporaryDirectory(t)
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example', '--sandbox']
  await cliJson(directory, 'merchants', 'create', ...shop)
  const { status, stderr } = await runCli(directory, ['serve'], { TRANSFERD_MASTER_KEY: 'ab'.repeat(32), PORT: '0' })
  t.equal(status, 1)
  t.match(stderr, /none of the given master keys opens this log/)
  rmSync(join(directory, 'data', 'master.key'))
  const withoutKey = await runCli(directory, ['serve'], { PORT: '0' })
  t.equal(withoutKey.status, 1)
  t.match(withoutKey.stderr, /master\.key is missing, but a log exists/)
})

t.test('a stop under load responds to all accepted requests, loses none, and exits with status 0', async (t) => {
  const directory = temporaryDirectory(t)
  const first = await startServiceProcess(t, { directory })
  const client = clientOf(first)
  const acknowledged: string[] = []
  let stopping = false
  const callers = Array.from({ length: 32 }, async (_, caller) => {
    for (let n = 0; n < 10_000; n++) {
      const referenceId = `load-${caller}-${n}`
      try {
        const { status } = await client.nativeDeposit(referenceId, '10.00')
        if (status === 200) acknowledged.push(referenceId)
        else if (status !== 429) {
          t.match({ status, stopping }, { status: 503, stopping: true }, 'rejects requests only while stopping')
          return
        }
      } catch {
        t.ok(stopping, 'rejects connections only while stopping')
        return
      }
    }
  })
  while (acknowledged.length < 200) await new Promise((resolve) => setTimeout(resolve, 10))
  stopping = true
  t.equal(await first.end('SIGTERM'), 0)
  await Promise.all(callers)
  const store = await openServiceLog(directory)
  t.teardown(() => store.close())
  const stored = new Set((await wholeLog(store)).map(({ data }) => data.referenceId))
  for (const referenceId of acknowledged)
    if (!stored.has(referenceId)) t.fail(`${referenceId} was acknowledged and then lost`)
  t.ok(acknowledged.length >= 200)
})

t.test('npm start forwards a signal and leaves no process running', onlyLong, async (t) => {
  const directory = temporaryDirectory(t)
  const urls = { EVENT_STORE_URL: `embedded:${directory}`, READ_MODEL_URL: `embedded:${directory}` }
  // Without prestart, because its build would replace files that other tests are using.
  const npm = spawn('npm', ['start', '--ignore-scripts'], {
    env: { ...process.env, ...urls, PORT: '0', SANDBOX: 'auto' },
  })
  t.teardown(() => npm.kill('SIGKILL'))
  let banner = ''
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    banner += text
  })
  while (!banner.includes('curl')) await new Promise((resolve) => setTimeout(resolve, 20))
  const baseUrl = /Base URL +(http\S+)/.exec(banner)?.[1]
  t.equal((await fetch(`${baseUrl}/health/live`)).status, 200)
  npm.kill('SIGTERM')
  t.same(await once(npm, 'exit'), [0, null])
  await t.rejects(fetch(`${baseUrl}/health/live`))
})

t.test('the metrics include everything that an operator monitors', async (t) => {
  const directory = temporaryDirectory(t)
  const service = await startServiceProcess(t, { directory })
  const { body } = await clientOf(service).hostedDeposit('watched', '100.00')
  // The sandbox merchant has no endpoint yet, so its callback waits.
  await cliJson(directory, 'transfers', 'complete', String(body.trackingId))
  const expected = [
    'transferd_callbacks{state="waiting"} 1',
    'transferd_callbacks{state="parked"} 0',
    'transferd_projection_lag_events{projection="transfers"} 0',
    'transferd_projection_lag_seconds{projection="transfers"} 0',
    'transferd_projection_failed{projection="totals"} 0',
  ]
  let lines: string[] = []
  for (let attempt = 0; attempt < 100 && !expected.every((line) => lines.includes(line)); attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    lines = (await (await fetch(`${service.baseUrl}/metrics`)).text()).split('\n')
  }
  for (const line of expected) t.ok(lines.includes(line), line)
  const types = lines.flatMap((line) => (line.startsWith('# TYPE ') ? [line.slice('# TYPE '.length)] : []))
  const page = readFileSync('docs/reference/metrics.md', 'utf8')
  const documented = [...page.matchAll(/^\| `(transferd_\w+)` \| (\w+) \|/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  )
  t.same(
    types.filter((type) => type.startsWith('transferd_')).sort(),
    documented.sort(),
    'the page documents each metric',
  )
  const series = lines.flatMap((line) => /^(\w+(?:\{.*\})?) /.exec(line)?.[1] ?? [])
  t.equal(new Set(series).size, series.length, 'each series is shown once')
  for (const [, name = ''] of page.matchAll(/`((?:process|nodejs)_\w+)`/g))
    t.ok(
      types.some((type) => type.startsWith(`${name} `)),
      name,
    )

  await t.test('a second signal ends the service immediately', async (t) => {
    // A callback without a response delays the graceful stop.
    const silent = createServer().listen(0, '127.0.0.1')
    t.teardown(() => silent.close())
    t.teardown(() => silent.closeAllConnections())
    await once(silent, 'listening')
    const isSent = once(silent, 'request')
    const { port } = silent.address() as { port: number }
    const { merchantId } = service.sandbox!
    await cliJson(directory, 'merchants', 'set', merchantId, '--callback-url', `http://127.0.0.1:${port}/`)
    await isSent
    const ended = service.end('SIGTERM')
    const pause = new Promise((resolve) => setTimeout(() => resolve('still stopping'), 1_000))
    t.equal(await Promise.race([ended, pause]), 'still stopping')
    process.kill(service.pid, 'SIGTERM')
    t.equal(await ended, 1)
  })
})
