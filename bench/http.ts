/**
 * Creates per second through HTTP: the whole service (durable log, projections, the callbacks' subscription) beside bare
 * Fastify with the same schema and hash and no store, by turns in one run. `npm run bench` prints it.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepareCreates } from './support/creates.js'
import { type LoadResult, runLoad } from './support/load.js'

const connections = Number(process.env.BENCH_CONNECTIONS ?? 64)
const durationMs = Number(process.env.BENCH_SECONDS ?? 8) * 1000
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const path = '/api/services/app/TransactionRequests/CreateDeposit'
const maxPerSecond = 60_000

const cli = fileURLToPath(new URL('../src/cli/main.js', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'transferd-bench-'))

async function startBare(secretKey: string) {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('support/bare-fastify.js', import.meta.url)), secretKey],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const [line] = await once(child.stdout, 'data')
  return { port: Number(String(line)), stop: () => stop(child) }
}

async function startService(environment: NodeJS.ProcessEnv) {
  const port = await freePort()
  const child = spawn(process.execPath, [cli, 'serve'], {
    env: { ...environment, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (let attempt = 0; attempt < 100; attempt++) {
    const ready = await fetch(`http://127.0.0.1:${port}/health/ready`).then(
      (response) => response.ok,
      () => false,
    )
    if (ready) return { port, pid: child.pid!, stop: () => stop(child) }
    await sleep(100)
  }
  throw new Error('the service did not become ready')
}

async function stop(child: ReturnType<typeof spawn>) {
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
}

function row(name: string, results: LoadResult[]): string {
  const figure = (of: (result: LoadResult) => number, digits: number) => median(results.map(of)).toFixed(digits)
  return [
    name.padEnd(34),
    figure((result) => result.requestsPerSecond, 0).padStart(9),
    figure((result) => result.p50Ms, 2).padStart(9),
    figure((result) => result.p99Ms, 2).padStart(9),
    figure((result) => result.maxMs, 1).padStart(9),
  ].join(' ')
}

/** How long the projections need until nothing is behind, from now on. */
async function catchUpSeconds(environment: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const projections: { lagEvents: number }[] = JSON.parse(
      execFileSync(process.execPath, [cli, 'projections', 'status', '--json'], { env: environment, encoding: 'utf8' }),
    )
    if (projections.every(({ lagEvents }) => lagEvents === 0)) return (performance.now() - startedAt) / 1000
    if (performance.now() - startedAt > 300_000) throw new Error('the projections did not catch up')
    await sleep(250)
  }
}

const environment = {
  ...process.env,
  EVENT_STORE_URL: `embedded:${directory}`,
  READ_MODEL_URL: `embedded:${directory}`,
  LOG_LEVEL: 'error',
  HOST: '127.0.0.1',
}
try {
  const merchant = JSON.parse(
    execFileSync(
      process.execPath,
      [cli, 'merchants', 'create', '--name', 'Bench', '--callback-url', 'http://127.0.0.1:9/', '--sandbox'].concat([
        '--allow-ip',
        '127.0.0.1',
        '--rate-limit',
        '100000',
        '--json',
      ]),
      { env: environment, encoding: 'utf8' },
    ),
  )
  const bare = await startBare(merchant.secretKey)
  const service = await startService(environment)
  const count = Math.ceil((maxPerSecond * durationMs) / 1000)
  const load = (port: number, ms: number) => {
    const nextRequest = prepareCreates({ ...merchant, path, connections, count })
    return runLoad({ port, connections, durationMs: ms, nextRequest })
  }
  await load(bare.port, 2000)
  await load(service.port, 2000)
  const results: { bare: LoadResult[]; service: LoadResult[]; catchUp: number[] } = {
    bare: [],
    service: [],
    catchUp: [],
  }
  for (let round = 0; round < rounds; round++) {
    results.bare.push(await load(bare.port, durationMs))
    results.service.push(await load(service.port, durationMs))
    results.catchUp.push(await catchUpSeconds(environment))
  }
  for (const { statuses } of [...results.bare, ...results.service]) {
    if (Object.keys(statuses).join() !== '200')
      throw new Error(`not every create was answered 200: ${JSON.stringify(statuses)}`)
  }
  const ratios = results.service.map((result, i) => result.requestsPerSecond / results.bare[i]!.requestsPerSecond)
  console.log(`creates through HTTP, ${connections} connections, median of ${rounds} x ${durationMs / 1000} s`)
  console.log(`${''.padEnd(34)} ${['per s', 'p50 ms', 'p99 ms', 'max ms'].map((head) => head.padStart(9)).join(' ')}`)
  console.log(row('bare Fastify, no store', results.bare))
  console.log(row('transferd, durable, all running', results.service))
  console.log(`ratio ${median(ratios).toFixed(2)} (${ratios.map((ratio) => ratio.toFixed(2)).join(' ')})`)
  console.log(`projections behind at the end of a round: ${median(results.catchUp).toFixed(1)} s to catch up`)
  await bare.stop()
  await service.stop()
} finally {
  rmSync(directory, { recursive: true, force: true })
}
