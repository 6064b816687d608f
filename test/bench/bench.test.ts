import { execFile, fork } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { Allocations } from '../../bench/support/allocations.js'
import { summaryOf, tableOf } from '../../bench/support/bench-report.js'
import { startPeer } from '../../bench/support/bench-service.js'
import { cpuMs, threadsMs } from '../../bench/support/cpu-usage.js'
import { prepareCreates } from '../../bench/support/create-load.js'
import { runLoad } from '../../bench/support/http-load.js'
import { arrayBytes, arraysInMain, arraysInWorker } from './support/allocated-arrays.js'

const run = promisify(execFile)
const path = '/api/services/app/TransactionRequests/CreateDeposit'
const merchant = { merchantId: 'one', webApiKey: 'key', secretKey: 'secret' }

/** Starts a server that responds to every request, and to the first one after `firstAfterMs`. */
async function startServer(t: Test, firstAfterMs = 0) {
  let requests = 0
  const server = createServer((request, response) => {
    request.resume()
    setTimeout(() => response.end('{}'), requests++ === 0 ? firstAfterMs : 0)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, requests: () => requests }
}

const load = { connections: 4, durationMs: 60_000 }
const get = () => Buffer.from('GET / HTTP/1.1\r\nHost: bench\r\n\r\n')

t.test('a load sends the given number of requests and counts every response', async (t) => {
  const server = await startServer(t)
  const result = await runLoad({ ...load, port: server.port, requests: 50, nextRequest: get })
  t.equal(server.requests(), 50)
  t.equal(result.requests, 50)
  t.same(result.statuses, { 200: 50 })
})

t.test('a paced load keeps its rate and measures latency from the time when each request was due', async (t) => {
  const server = await startServer(t, 300)
  const paced = { port: server.port, connections: 1, perSecond: 100, nextRequest: get }
  const result = await runLoad({ ...paced, durationMs: 200 })
  t.equal(result.requests, 1, 'sends no further request to a stalled server')
  const late = await startServer(t, 300)
  const { p50Ms, requests } = await runLoad({ ...paced, port: late.port, durationMs: 60_000, requests: 11 })
  t.equal(requests, 11)
  t.ok(p50Ms > 100, 'the ten requests that were due during the stall include the wait')
})

t.test(
  'the CPU time of a process includes its children and threads',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const before = cpuMs(process.pid)
    const busy = `const { cpuUsage } = process; while (cpuUsage().user < 200_000);`
    await run(process.execPath, ['-e', busy])
    t.ok(cpuMs(process.pid) - before >= 150)
    t.ok((threadsMs(process.pid).get('main') ?? 0) > 0)
  },
)

t.test('counts the bytes that each thread allocates', { skip: process.platform !== 'linux' }, async (t) => {
  const allocations = new Allocations(t.testdir())
  const program = fileURLToPath(new URL('support/allocating-program.js', import.meta.url))
  const child = fork(program, { execArgv: ['--single-threaded-gc', ...allocations.nodeOptions] })
  t.teardown(() => child.disconnect())
  await once(child, 'message')
  const before = await allocations.read(child.pid!)
  child.send('allocate')
  await once(child, 'message')
  const after = await allocations.read(child.pid!)
  t.same([...after.keys()].sort(), ['allocating-program', 'main'])
  for (const [thread, arrays] of [
    ['main', arraysInMain],
    ['allocating-program', arraysInWorker],
  ] as const) {
    const [from, to] = [before.get(thread)!, after.get(thread)!]
    const ratio = (to.bytes - from.bytes) / (arrays * arrayBytes)
    t.ok(ratio > 0.99 && ratio < 1.05, `${thread}: ${ratio} of the allocated bytes`)
    t.ok(to.collectionMs > from.collectionMs, 'includes the time of the collections')
  }
})

t.test('a row shows the median, the minimum and the maximum', async (t) => {
  t.same(summaryOf([3, 1, 2]), { median: 2, min: 1, max: 3 })
  t.same(summaryOf([4, 1, 2, 3]), { median: 2.5, min: 1, max: 4 })
  const rows = [
    { subject: 'ours', figure: 'per second', values: [10_000, 9_000, 12_345] },
    { subject: 'theirs', figure: 'per second', values: [0.1234] },
    { subject: 'ours', figure: 'p99 ms', values: [2] },
  ]
  t.equal(
    tableOf(rows),
    [
      '                                ours  theirs',
      'per second  10,000 (9,000 to 12,345)    0.12',
      'p99 ms                             2       -',
    ].join('\n'),
  )
})

t.test('the runner prints the measurements of a part as JSON and rejects an unknown part', async (t) => {
  const { stdout } = await run(process.execPath, ['dist/bench/run-bench.js', 'projections', '--json'], {
    env: { ...process.env, BENCH_TRANSFERS: '20' },
  })
  const { parts, machine } = JSON.parse(stdout)
  t.equal(machine.node, process.version)
  t.equal(parts[0].name, 'projections')
  t.match(parts[0].rows[0], { subject: 'transfers', figure: 'events per second' })
  t.ok(
    parts[0].rows.every(
      ({ median, min, max, values }: { [name: string]: unknown }) =>
        median === min && max === min && Array.isArray(values),
    ),
  )
  const rejected = await run(process.execPath, ['dist/bench/run-bench.js', 'nothing']).catch((error) => error)
  t.equal(rejected.code, 2)
  const [, names = ''] = /parts are (.*)/.exec(rejected.stderr) ?? []
  for (const name of names.split(', ')) t.ok(existsSync(`dist/bench/${name}.bench.js`), name)
})

t.test('the runner prints what a failed part has measured, and fails', async (t) => {
  const failed = await run(process.execPath, ['dist/bench/run-bench.js', 'growth', '--json'], {
    env: { ...process.env, BENCH_SIZES: 'none' },
  }).catch((error) => error)
  t.equal(failed.code, 1)
  const [{ title, notes }] = JSON.parse(failed.stdout).parts
  t.equal(title, 'growth with the size of the log')
  t.match(notes, [/^FAILED: NaN transfers: /, 'FAILED: growth, so its rows are incomplete'])
})

t.test("the peers' callbacks have a signature of the merchant's secret", async (t) => {
  const received: { body: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer(async (request, response) => {
    received.push({ body: await text(request), headers: request.headers })
    response.writeHead(202).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  // JavaScript without types.
  const { callbackSender } = await import(new URL('../../../bench/peers/callback.js', import.meta.url).href)
  const secret = Buffer.from('a secret of the merchant')
  const webhookSecret = `whsec_${secret.toString('base64')}`
  const send = callbackSender({ secretKey: 'secret', webhookSecret }, (server.address() as AddressInfo).port, 1)
  t.equal(await send('msg_1', { trackingId: 'a', referenceId: 'b', amount: 100 }), 202)
  const { body, headers } = received[0]!
  const signed = `msg_1.${headers['webhook-timestamp']}.${body}`
  t.equal(headers['webhook-signature'], `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`)
  t.match(JSON.parse(body), { TrackingId: 'a', RefereneceId: 'b', Amount: 100 })
})

t.test('a peer accepts and rejects the same requests as transferd', async (t) => {
  const { first, stop } = await startPeer('bare.js', { merchant })
  t.teardown(stop)
  const { port } = first as { port: number }
  const send = async (secretKey: string) => {
    const nextRequest = prepareCreates({ ...merchant, secretKey, path, connections: 1, count: 1 })
    return (await runLoad({ port, connections: 1, durationMs: 60_000, requests: 1, nextRequest })).statuses
  }
  t.same(await send('secret'), { 200: 1 })
  t.same(await send('another'), { 400: 1 })
})
