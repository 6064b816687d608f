import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type ScenarioName, scenarioNames } from '../../src/domain/scenarios.js'
import { accepts, startReceiver } from '../callbacks/receiver.js'
import { cleanEnvironment, type ServiceProcess, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { until } from '../support/until.js'
import { cliJson, runCli } from './in-process.js'

type Printed = { readonly [field: string]: unknown; readonly statusDescription: string; readonly trackingId: string }

interface Running {
  readonly stdout: () => string
  readonly stderr: () => string
  /** Returns the lines of JSON so far. */
  readonly lines: () => readonly Printed[]
  end(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>
}

/** Runs a program until it is ended. */
function start(t: Test, directory: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Running {
  const env = { ...cleanEnvironment(), ...environment }
  const child = spawn(process.execPath, args, { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal))
  })
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    lines: () => stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Printed])),
    end(signal = 'SIGTERM') {
      child.kill(signal)
      return ended
    },
  }
}

async function listening(t: Test, directory: string, args: readonly string[] = [], environment = {}): Promise<Running> {
  const listener = start(t, directory, [program, 'listen', ...args], environment)
  await until(() => listener.stderr().includes('listening to the callbacks'))
  return listener
}

async function sandbox(t: Test): Promise<{ directory: string; service: ServiceProcess }> {
  const directory = temporaryDirectory(t)
  return { directory, service: await startServiceProcess(t, { directory }) }
}

const page = readFileSync('docs/start/README.md', 'utf8')

t.test('three commands bring a verified callback to the five lines of the documentation', async (t) => {
  const { directory, service } = await sandbox(t)
  const [, code] = /^```js\n([\s\S]*?)^```$/m.exec(page)!
  t.equal(code!.trim().split('\n').length, 5)
  const port = await freePort()
  // In this repository, because the receiver imports a package of it.
  const receiverFile = join('dist', `receiver-${port}.mjs`)
  writeFileSync(receiverFile, code!.replace('listen(4000)', `listen(${port})`))
  t.teardown(() => rmSync(receiverFile))
  const { webhookSecret } = service.sandbox!
  const receiver = start(t, '.', [receiverFile], { WEBHOOK_SECRET: webhookSecret })
  await until(() => answers(port))
  const startedMs = Date.now()
  const target = `http://127.0.0.1:${port}/callbacks`
  const listener = await listening(t, directory, ['--forward-to', target])
  const triggered = start(t, directory, [program, 'trigger', 'completed'])
  await until(() => receiver.stdout().includes('Completed'))
  t.ok(Date.now() - startedMs < 10_000, `the callback arrived after ${Date.now() - startedMs} ms`)
  await until(() => /^Transfer [0-9a-f-]{36}$/m.test(triggered.stdout()))
  t.match(receiver.stdout(), /StatusDescription: 'Completed'[\s\S]*RefereneceId: 'scenario-completed-/)
  await until(() => listener.stdout().includes('signature'))
  t.match(listener.stdout(), /Completed {2}scenario-completed-\w+ {2}\(transfer \w{8}, callback \w{8}\)/)
  t.match(listener.stdout(), /\{"Status":2,"StatusDescription":"Completed"/)
  t.match(listener.stdout(), /callbacks: HTTP 200 after \d+ ms; signature valid/)
  t.match(triggered.stdout(), /Deposit created, by the merchant\n.*Completed, by the customer\n/)
  t.match(
    triggered.stdout(),
    /Callbacks \(the endpoint is disabled: no receiver yet.*\):\n {2}Completed, 66.01 TRY: waiting/,
  )
  const forged = await fetch(target, { method: 'POST', body: '{}', headers: { 'webhook-id': 'x' } })
  t.equal(forged.status, 400, 'the receiver rejects an unsigned request')
  t.equal(await listener.end(), 0)
  for (const output of [listener, triggered])
    for (const secret of [webhookSecret, service.sandbox!.secretKey, service.sandbox!.webApiKey])
      t.notOk(`${output.stdout()}${output.stderr()}`.includes(secret))
})

async function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}`).then(
    () => true,
    () => false,
  )
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

t.test('listen works with only the base URL and the key, from another directory', async (t) => {
  const { directory, service } = await sandbox(t)
  const { webApiKey, webhookSecret } = service.sandbox!
  const elsewhere = temporaryDirectory(t)
  const access = { TRANSFERD_URL: `${service.baseUrl}/`, TRANSFERD_API_KEY: webApiKey }
  const all = await listening(t, elsewhere, ['--print-json'], access)
  const some = await listening(t, elsewhere, ['--print-json', '--only', 'cancelled,manual-control'], {
    ...access,
    TRANSFERD_WEBHOOK_SECRET: webhookSecret,
  })
  const wrong = await listening(t, elsewhere, ['--json', '--webhook-secret', 'whsec_AAAA'], access)
  const played = await cliJson<Printed>(directory, 'trigger', 'reopened')
  await until(() => all.lines().length === 3 && some.lines().length === 2 && wrong.lines().length === 3)
  const statuses = ['Cancelled', 'ManualControl', 'Completed']
  t.same(
    all.lines().map(({ statusDescription }) => statusDescription),
    statuses,
    'in the order of the transfer',
  )
  t.match(all.lines()[0], {
    trackingId: played.trackingId,
    resent: false,
    signature: 'not checked',
    response: null,
    request: { method: 'POST', headers: { 'webhook-id': String, 'content-type': 'application/json' }, body: String },
  })
  t.same(
    some.lines().map(({ statusDescription, signature }) => [statusDescription, signature]),
    [
      ['Cancelled', 'valid'],
      ['ManualControl', 'valid'],
    ],
  )
  t.same([...new Set(wrong.lines().map(({ signature }) => signature))], ['invalid'])

  await t.test('a replay sends a callback again, although its endpoint is disabled', async (t) => {
    const { webhookId, trackingId } = all.lines()[2] as Printed & { webhookId: string }
    for (const id of [webhookId, trackingId, webhookId.slice(0, 13).toUpperCase()])
      t.match(await cliJson(directory, 'callbacks', 'replay', id), { webhookId, trackingId, requeued: 1 })
    await until(() => all.lines().length === 6)
    for (const line of all.lines().slice(3)) t.match(line, { webhookId, resent: true })
    const unknown = await runCli(directory, ['callbacks', 'replay', '00000000-0000-4000-8000-000000000000', '--json'])
    t.match([unknown.status, JSON.parse(unknown.stderr)], [1, { error: { code: 'unknown-callback' } }])
    for (const id of ['abc', 'not-an-id', '']) {
      const short = await runCli(directory, ['callbacks', 'replay', id])
      t.match([short.status, short.stderr], [2, /8 characters/])
    }
  })
})

t.test('a restart of the service and a failing receiver lose nothing', async (t) => {
  const { directory, service } = await sandbox(t)
  const receiver = await startReceiver(t, (_received, response) => {
    response.writeHead(503).end('try later')
  })
  const listener = await listening(t, directory, ['--forward-to', receiver.url, '--print-json'])
  await cliJson(directory, 'trigger', 'cancelled')
  await until(() => listener.lines().length === 1)
  t.match(listener.lines()[0], { response: { status: 503, body: 'try later', failure: null, durationMs: Number } })
  receiver.behave = accepts
  t.equal(await service.end('SIGKILL'), 'SIGKILL')
  await until(() => listener.stderr().includes('interrupted'))
  await startServiceProcess(t, { directory, port: service.port })
  const played = await cliJson<Printed>(directory, 'trigger', 'failed')
  await until(() => listener.lines().length === 2)
  t.match(listener.lines()[1], { trackingId: played.trackingId, response: { status: 200 } })
  await receiver.close()
  await cliJson(directory, 'trigger', 'cancelled')
  await until(() => listener.lines().length === 3)
  t.match(listener.lines()[2], { response: { status: null, failure: 'ECONNREFUSED' } })
  t.equal(await listener.end('SIGINT'), 0)
})

t.test('listen issues a key for a merchant of the log, and revokes it', async (t) => {
  const { directory, service } = await sandbox(t)
  const other = await cliJson<{ id: string; webApiKey: string; secretKey: string }>(
    ...([directory, 'merchants', 'create', '--sandbox', '--name', 'Second'] as const),
    ...['--callback-url', 'http://127.0.0.1:1/'],
  )
  const args = ['--merchant', other.id.slice(0, 8), '--url', service.baseUrl, '--print-json']
  const listener = await listening(t, directory, args)
  const keys = () => cliJson<readonly { name: string }[]>(directory, 'merchants', 'keys', 'list', other.id)
  t.ok((await keys()).some(({ name }) => name.startsWith('listen-')))
  const access = ['--url', service.baseUrl, '--api-key', other.webApiKey, '--secret-key', other.secretKey]
  await cliJson(directory, 'trigger', 'cancelled', ...access)
  await cliJson(directory, 'trigger', 'cancelled')
  await until(() => listener.lines().length === 1)
  t.match(listener.lines()[0], { signature: 'valid' })
  t.equal(await listener.end('SIGINT'), 0)
  t.notOk((await keys()).some(({ name }) => name.startsWith('listen-')))
  t.match(readFileSync(join(directory, 'data', 'security.log'), 'utf8'), /"command":"listen","subject":"[0-9a-f]{8}/)
})

t.test('all requests are signed for a merchant that requires it', async (t) => {
  const { directory, service } = await sandbox(t)
  await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, '--require-signature', 'all')
  const { trackingId } = await cliJson<Printed>(directory, 'trigger', 'withdrawal-cancelled')
  t.match(await cliJson(directory, 'callbacks', 'replay', trackingId), { trackingId, requeued: 1 })
})

t.test('trigger waits for the last callback, and explains a rejected value', async (t) => {
  const { directory, service } = await sandbox(t)
  const settings = ['--callback-on-create', '--max-amount', '100']
  await cliJson(directory, 'merchants', 'set', service.sandbox!.merchantId, ...settings)
  // The service soon follows the change.
  let rejected = await runCli(directory, ['trigger', 'completed', '--amount', '100.01'])
  await until(async () => {
    if (rejected.status === 0) rejected = await runCli(directory, ['trigger', 'completed', '--amount', '100.01'])
    return rejected.status !== 0
  })
  t.match([rejected.status, rejected.stderr], [1, /40001 \(HTTP 400\): Invalid request.*amount/])
  const { callbacks } = await cliJson<Printed>(directory, 'trigger', 'completed')
  t.match(callbacks, [{ statusDescription: 'Pending' }, { statusDescription: 'Completed' }])
})

t.test('a live merchant is neither listened to nor triggered', async (t) => {
  const directory = temporaryDirectory(t)
  const live = await cliJson<{ id: string; webApiKey: string; secretKey: string }>(
    ...([directory, 'merchants', 'create', '--name', 'Live', '--callback-url', 'https://shop.example/'] as const),
    ...['--allow-ip', '127.0.0.1', '--no-require-signature'],
  )
  const service = await startServiceProcess(t, { directory })
  const access = ['--url', service.baseUrl, '--api-key', live.webApiKey, '--secret-key', live.secretKey]
  for (const name of ['completed', 'withdrawal-completed']) {
    const { status, stderr } = await runCli(directory, ['trigger', name, ...access, '--json'])
    t.match([status, JSON.parse(stderr)], [1, { error: { code: 'live-merchant' } }])
  }
  const listen = (...args: string[]) => runCli(directory, ['listen', ...args, '--json'])
  const stream = await listen(...access.slice(0, 4))
  t.match([stream.status, JSON.parse(stream.stderr)], [1, { error: { code: 'request-rejected', message: /sandbox/ } }])
  const issued = await listen('--merchant', live.id)
  t.match([issued.status, JSON.parse(issued.stderr)], [1, { error: { code: 'live-merchant' } }])
  t.same(await cliJson(directory, 'transfers', 'list'), { items: [], nextCursor: null })
})

t.test('missing or wrong access is explained', async (t) => {
  const elsewhere = temporaryDirectory(t)
  const failed = async (args: readonly string[], environment = {}) => {
    const { status, stderr } = await runCli(elsewhere, [...args, '--json'], environment)
    return [status, JSON.parse(stderr).error]
  }
  t.match(await failed(['listen']), [1, { code: 'no-access', message: /TRANSFERD_API_KEY/ }])
  t.match(await failed(['trigger', 'completed', '--api-key', 'k']), [2, { code: 'wrong-usage', message: /--url/ }])
  const onlyUrl = [2, { code: 'wrong-usage', message: /--api-key/ }]
  t.match(await failed(['trigger', 'completed'], { TRANSFERD_URL: 'http://127.0.0.1:1' }), onlyUrl)
  const both = ['listen', '--merchant', '7b0f2c1e', '--api-key', 'k']
  t.match(await failed(both), [2, { code: 'wrong-usage', message: /--merchant/ }])
  t.match(await failed(['listen'], { TRANSFERD_API_KEY: '' }), [1, { code: 'no-access' }])
  const unreachable = ['--url', `http://127.0.0.1:${await freePort()}`, '--api-key', 'k']
  for (const command of [['listen'], ['trigger', 'completed'], ['callbacks', 'replay', '7b0f2c1e']])
    t.match(await failed([...command, ...unreachable]), [1, { code: 'service-unreachable', message: /ECONNREFUSED/ }])
  const { service } = await sandbox(t)
  const wrong = ['--url', service.baseUrl, '--api-key', 'wrong']
  t.match(await failed(['trigger', 'completed', ...wrong]), [1, { code: 'request-rejected', message: /40101/ }])
  const withoutSecret = ['--url', service.baseUrl, '--api-key', service.sandbox!.webApiKey]
  t.match(await failed(['trigger', 'completed', ...withoutSecret]), [1, { code: 'no-access', message: /SecretKey/ }])
  t.match(await failed(['trigger', 'unknown']), [2, { code: 'wrong-usage', message: /late-money/ }])
})

t.test('a hundred triggers side by side leave a sandbox that reconciles', async (t) => {
  const { directory, service } = await sandbox(t)
  const names = scenarioNames.filter((name) => name !== 'delayed-callback')
  const played = await Promise.all(
    Array.from({ length: 100 }, (_, n) => cliJson<Printed>(directory, 'trigger', names[n % names.length]!)),
  )
  t.equal(new Set(played.map(({ trackingId }) => trackingId)).size, 100)
  const last: { readonly [name in ScenarioName]?: string } = {
    ...{ 'manual-control': 'TransferSentToManualControl', 'late-money': 'LateFundsReceived', failed: 'TransferFailed' },
    ...{ declined: 'TransferCancelled', cancelled: 'TransferCancelled', expired: 'TransferCancelled' },
    'withdrawal-cancelled': 'TransferCancelled',
  }
  for (const { scenario, steps } of played) {
    const types = (steps as readonly { type: string }[]).map(({ type }) => type)
    t.equal(types.at(-1), last[scenario as ScenarioName] ?? 'TransferCompleted', String(scenario))
  }
  t.equal(await service.end('SIGTERM'), 0)
  // Both commands fail if anything differs.
  t.ok(await cliJson(directory, 'audit', 'reconcile'))
  t.ok(await cliJson(directory, 'audit', 'verify'))
})
