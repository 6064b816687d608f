import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type EventsServer, startEventsServer } from '../../src/runtime/events-server.js'

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

/** A writable server of the protocol in this process, with a log of its own or that of the directory. */
export function startTestEventsServer(directory?: string): Promise<EventsServer> {
  return startEventsServer({
    host: '127.0.0.1',
    port: 0,
    directory,
    isWritable: true,
    tls: undefined,
    advertise: undefined,
    accounts: [],
    onFault: (error) => console.error('a call of the events server failed:', error),
  })
}

export interface EventsServerProcess {
  /** Without credentials. */
  readonly url: string
  readonly port: number
  readonly pid: number
  end(signal: NodeJS.Signals): Promise<void>
}

/** Starts `transferd events serve --writable` on the directory, and waits until it is ready. Killed after the test. */
export async function startEventsServerProcess(
  t: { teardown(work: () => unknown): unknown },
  directory: string,
  port = 0,
): Promise<EventsServerProcess> {
  const args = ['events', 'serve', '--data', directory, '--writable', '--port', String(port), '--json']
  const { NODE_OPTIONS: _instrumentation, ...env } = process.env
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  const [line] = (await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    exit.then(([code]) => {
      throw new Error(`the events server ended with status ${code}`)
    }),
  ])) as [string]
  const { url } = JSON.parse(line) as { url: string }
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid!,
    async end(signal) {
      child.kill(signal)
      await exit
    },
  }
}
