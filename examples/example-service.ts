import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Credentials } from './merchant/callback-receiver.js'

const transferd = fileURLToPath(new URL('../bin/transferd.js', import.meta.url))

/** The parts of the output of `transferd serve --json` that the examples use. */
interface ServiceInfo {
  readonly baseUrl: string
  readonly sandbox: Credentials & {
    readonly merchantId: string
    readonly wallet: { readonly email: string; readonly password: string; readonly balance: number }
    /** The users of the dashboard, one per role. */
    readonly users: readonly { readonly role: string; readonly email: string; readonly password: string }[]
  }
}

/** Starts a service on a free port with a temporary directory, and provides its command line. */
export async function startService(program = transferd) {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-demo-'))
  const env = {
    ...process.env,
    HOST: '127.0.0.1',
    PORT: '0',
    PUBLIC_URL: '',
    LOG_LEVEL: 'error',
    SANDBOX: 'auto',
    EVENT_STORE_URL: `embedded:${directory}`,
    READ_MODEL_URL: `embedded:${directory}`,
  }
  const service = spawn(process.execPath, ['--single-threaded-gc', program, 'serve', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(service, 'exit')
  const [output] = await Promise.race([once(service.stdout, 'data'), exited])
  if (service.exitCode !== null) throw new Error(`the service did not start: exit status ${service.exitCode}`)
  return {
    ...(JSON.parse(String(output)) as ServiceInfo),
    pid: service.pid!,
    /** Runs a command on the service's directory and returns its JSON output. */
    async cli<Output>(...args: string[]): Promise<Output> {
      const { stdout } = await promisify(execFile)(process.execPath, [program, ...args, '--json'], { env })
      return JSON.parse(stdout) as Output
    },
    /** Stops the service and returns its exit status, which is 0 on success. */
    async stop(): Promise<number | null> {
      service.kill('SIGTERM')
      await exited
      rmSync(directory, { recursive: true, force: true })
      return service.exitCode
    },
  }
}
