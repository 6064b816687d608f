/** Runs transferd for a bench: the built program in a separate process with a separate directory. */
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { peakResidentMegabytes } from './cpu-usage.js'

const cli = process.env.BENCH_CLI ?? fileURLToPath(new URL('../../bin/transferd.js', import.meta.url))
const nodeOptions = (process.env.BENCH_NODE_OPTIONS ?? '--single-threaded-gc')
  .split(' ')
  .filter((option) => option !== '')
const run = promisify(execFile)
const retryMs = 20
const watchEveryMs = 50
/** The projections of ten million events take half an hour. */
const timeoutMs = 3_600_000

export interface BenchMerchant {
  readonly id: string
  readonly webApiKey: string
  readonly secretKey: string
  readonly webhookSecret: string
}

interface RunningProcess {
  readonly pid: number
  stop(): Promise<void>
}

export interface RunningService extends RunningProcess {
  readonly port: number
  /** The time from the start of the process until it was ready. */
  readonly readyAfterMs: number
}

/** Waits up to an hour until a condition is true. */
export async function waitUntil(description: string, check: () => Promise<boolean>, everyMs = retryMs): Promise<void> {
  const endsAtMs = performance.now() + timeoutMs
  while (!(await check())) {
    if (performance.now() > endsAtMs) throw new Error(`timed out waiting until ${description}`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** An installation of transferd in a directory. */
export class Installation {
  readonly #environment: NodeJS.ProcessEnv

  /** @param eventStoreUrl The URL of a shared log; defaults to the embedded log in the directory. */
  constructor(
    readonly directory: string,
    eventStoreUrl?: string,
  ) {
    const shared = { DATA_DIRECTORY: directory, TRANSFERD_MASTER_KEY: randomBytes(32).toString('hex') }
    this.#environment = {
      ...process.env,
      ...(eventStoreUrl !== undefined && shared),
      EVENT_STORE_URL: eventStoreUrl ?? `embedded:${directory}`,
      READ_MODEL_URL: `embedded:${directory}`,
      LOG_LEVEL: 'error',
      HOST: '127.0.0.1',
    }
  }

  /** Runs a command of `transferd` and returns its JSON output. */
  async command<Output>(...args: string[]): Promise<Output> {
    return (await this.watchedCommand<Output>(...args)).output
  }

  /** Runs a command of `transferd` and returns its JSON output and its largest resident memory. */
  async watchedCommand<Output>(
    ...args: string[]
  ): Promise<{ readonly output: Output; readonly peakMegabytes: number }> {
    const options = { env: this.#environment, maxBuffer: 64 * 1024 * 1024 }
    const running = run(process.execPath, [cli, ...args, '--json'], options)
    let peakMegabytes = Number.NaN
    const watching = setInterval(() => {
      peakMegabytes = peakResidentMegabytes(running.child.pid!) ?? peakMegabytes
    }, watchEveryMs)
    try {
      const { stdout } = await running
      return { output: JSON.parse(stdout) as Output, peakMegabytes }
    } finally {
      clearInterval(watching)
    }
  }

  createMerchant(callbackUrl: string, ...options: string[]): Promise<BenchMerchant> {
    const limits = ['--sandbox', '--allow-ip', '127.0.0.1', '--rate-limit', '100000']
    return this.command('merchants', 'create', '--name', 'Bench', '--callback-url', callbackUrl, ...limits, ...options)
  }

  /** Starts the whole service, or only the given roles. */
  async start(roles = 'api,projections,callbacks', moreNodeOptions: readonly string[] = []): Promise<RunningService> {
    const port = await freePort()
    const startedAtMs = performance.now()
    const child = spawn(process.execPath, [...nodeOptions, ...moreNodeOptions, cli, 'serve', '--roles', roles], {
      env: { ...this.#environment, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    await waitUntil('the service is ready', async () => {
      if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`)
      return fetch(`http://127.0.0.1:${port}/health/ready`).then(
        (response) => response.ok,
        () => false,
      )
    })
    return { port, pid: child.pid!, readyAfterMs: performance.now() - startedAtMs, stop: () => stop(child) }
  }
}

/** Returns the metrics of a service as text. */
export async function metricsOf(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
}

/** Returns the seconds from now until no projection lags. */
export async function catchUpSeconds(port: number): Promise<number> {
  const startedAtMs = performance.now()
  await waitUntil('the projections have caught up', async () => {
    const lags = [...(await metricsOf(port)).matchAll(/^transferd_projection_lag_events{.*} (\d+)$/gm)]
    return lags.length > 0 && lags.every(([, events]) => events === '0')
  })
  return (performance.now() - startedAtMs) / 1_000
}

/** Starts a program of bench/peers. These are JavaScript, because their packages are not installed when the repository is compiled. */
export async function startPeer(file: string, options: object) {
  const path = fileURLToPath(new URL(`../../../bench/peers/${file}`, import.meta.url))
  const child = fork(path, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const [first]: unknown[] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([status]) => Promise.reject(new Error(`${file} ended with ${status}`))),
  ])
  return { child, first, pid: child.pid!, stop: () => stop(child) }
}
