import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type EventsServer, startEventsServer } from '../../src/operations/events-server/events-server.js'
import { program } from './program.js'

const account = { login: 'service', password: 'p@ss:word/1', groups: ['$admins'] }

/** The URL with credentials, in the form of EVENT_STORE_URL. */
function withCredentials(url: string, { login, password }: { login: string; password: string }): string {
  return url.replace('//', `//${encodeURIComponent(login)}:${encodeURIComponent(password)}@`)
}

/** Starts a writable server in this process, on a new log or on that of the directory. */
export async function startTestEventsServer(
  directory?: string,
  options: Pick<Parameters<typeof startEventsServer>[0], 'onLiveBurst'> = {},
): Promise<Pick<EventsServer, 'url' | 'stop'>> {
  const server = await startEventsServer({
    host: '127.0.0.1',
    port: 0,
    directory,
    isWritable: true,
    allowsServiceStreams: true,
    tls: undefined,
    advertise: undefined,
    users: { accounts: [account], notices: [] },
    onFault: (error) => console.error('A call of the events server failed:', error),
    ...options,
  })
  return { url: withCredentials(server.url, account), stop: server.stop }
}

interface EventsServerProcess {
  /** The URL with the credentials of the users file. */
  readonly url: string
  readonly port: number
  readonly pid: number
  end(signal: NodeJS.Signals): Promise<void>
}

/** Starts `transferd events serve-grpc` for the service on the directory, and waits until it is ready. Killed after the test. */
export async function startEventsServerProcess(
  t: { teardown(work: () => unknown): unknown },
  directory: string,
  port = 0,
): Promise<EventsServerProcess> {
  const args = ['events', 'serve-grpc', '--data', directory, '--writable', '--allow-service-streams', '--json']
  const { NODE_OPTIONS: _instrumentation, ...env } = process.env
  const child = spawn(process.execPath, [program, ...args, '--port', String(port)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  const [line] = (await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    exit.then(([code]) => {
      throw new Error(`the events server ended with status ${code}`)
    }),
  ])) as [string]
  const { url, users } = JSON.parse(line) as { url: string; users: string }
  const [user] = (JSON.parse(readFileSync(users, 'utf8')) as { users: (typeof account)[] }).users
  return {
    url: withCredentials(url, user!),
    port: Number(new URL(url).port),
    pid: child.pid!,
    async end(signal) {
      child.kill(signal)
      await exit
    },
  }
}
