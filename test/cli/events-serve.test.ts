import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { openEventLog } from '@transferd/event-log'
import { makeCertificate } from '@transferd/event-log-server/test/support/certificate'
import t, { type Test } from 'tap'
import type { EventStore } from '../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { readEventsUsers } from '../../src/operations/events-server/events-server.js'
import { temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { runCli } from './in-process.js'

/** Half of the 10 s that `events serve-grpc` allows itself to shut down. */
const endsWithinMs = 5_000

interface Serving {
  readonly child: ChildProcess
  readonly port: number
  /** The printed path of the user file. */
  readonly users: string | null
  stderr(): string
  /** Sends SIGTERM and returns the exit status and the duration. */
  end(): Promise<{ readonly status: number | null; readonly tookMs: number }>
}

async function serving(t: Test, ...args: string[]): Promise<Serving> {
  const child = spawn(process.execPath, [program, 'events', 'serve-grpc', '--port', '0', '--json', ...args], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const exit = once(child, 'close') as Promise<[number | null]>
  const [line] = (await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    exit.then(() => {
      throw new Error(stderr)
    }),
  ])) as [string]
  const { url, users } = JSON.parse(line) as { url: string; users: string | null }
  return {
    child,
    port: Number(new URL(url).port),
    users,
    stderr: () => stderr,
    async end() {
      const atMs = performance.now()
      child.kill('SIGTERM')
      const [status] = await exit
      return { status, tookMs: performance.now() - atMs }
    },
  }
}

function open(t: Test, port: number, credentials: string): EventStore {
  const at = credentials === '' ? '' : `${credentials}@`
  const store = openEventStoreDb({ url: `esdb://${at}127.0.0.1:${port}?tls=false`, deadlineMs: 60_000 })
  t.teardown(() => store.close())
  return store
}

const event = () => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} })
const denied = { name: 'StoreUnavailableError', message: /access denied/ }

interface User {
  readonly login: string
  readonly password: string
  readonly groups: readonly string[]
}

function usersIn(path: string): readonly User[] {
  return (JSON.parse(readFileSync(path, 'utf8')) as { users: User[] }).users
}

t.test(
  'the first start creates a user file that only its owner can read, and every call requires a user',
  async (t) => {
    const directory = join(temporaryDirectory(t), 'log')
    const server = await serving(t, '--data', directory, '--writable')
    const path = join(directory, 'events-users.json')
    t.equal(server.users, path)
    t.equal(statSync(path).mode & 0o777, 0o600)
    const [user] = usersIn(path)
    t.match(user, { login: 'admin', groups: ['$admins'] })
    const store = open(t, server.port, `admin:${user!.password}`)
    await store.append('orders-1', 'no_stream', [event()])
    for (const credentials of ['', 'admin:wrong', 'admin:changeit', `ops:${user!.password}`]) {
      const unauthorized = open(t, server.port, credentials)
      await t.rejects(unauthorized.readStream('orders-1'), denied, credentials)
      await t.rejects(unauthorized.readAll({ maxCount: 1 }), denied)
      await t.rejects(unauthorized.append('orders-1', 0, [event()]), denied)
    }
    await t.rejects(store.append('transfer-1', 'no_stream', [event()]), denied, 'rejects a write to a service stream')
    t.match(await server.end(), { status: 0 })
    t.match(server.stderr(), `created ${path}`)
    t.notMatch(server.stderr(), user!.password)

    const again = await serving(t, '--data', directory)
    const reader = open(t, again.port, `admin:${user!.password}`)
    t.equal((await reader.readStream('orders-1')).length, 1)
    await t.rejects(reader.append('orders-1', 0, [event()]), denied, 'without --writable')
    t.match(await again.end(), { status: 0 })
    t.equal(again.stderr(), '', 'the second start creates no file')
  },
)

t.test('only the users of the file or the environment have access', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'who.json')
  const users = [
    { login: 'reader', password: 'pass:word', groups: ['$ops'] },
    { login: 'outsider', password: 'pass', groups: [] },
  ]
  writeFileSync(path, JSON.stringify({ users }), { mode: 0o644 })
  const log = join(directory, 'log')
  const store = await openEventLog({ directory: log, writerThread: false })
  await store.append('transfer-1', 'no_stream', [event()])
  await store.close()
  const server = await serving(t, '--data', log, '--users', path)
  t.notOk(existsSync(join(log, 'events-users.json')))
  t.equal((await open(t, server.port, 'reader:pass%3Aword').readStream('transfer-1')).length, 1)
  await t.rejects(open(t, server.port, 'outsider:pass').readStream('transfer-1'), denied)
  await t.rejects(open(t, server.port, 'reader:pass%3Aword').readAll({ maxCount: 1 }), denied)
  t.match(await server.end(), { status: 0 })
  t.match(server.stderr(), /who\.json has mode 0644, so others can read it: change the mode to 0600/)

  const environment = { EVENTS_USER: 'service', EVENTS_PASSWORD: 'secret' }
  for (const [args, variables, reason] of [
    [['--data', log, '--users', path], environment, /cannot be combined/],
    [['--data', log], { EVENTS_USER: 'service' }, /require each other/],
  ] as const) {
    const { status, stderr } = await runCli(directory, ['events', 'serve-grpc', ...args], variables)
    t.equal(status, 2)
    t.match(stderr, reason)
  }
})

t.test('an invalid user file stops the start with status 2, and no message contains its content', async (t) => {
  const directory = temporaryDirectory(t)
  const user = { login: 'a', password: 'hunter2', groups: [] }
  const wrong: unknown[] = [
    [user],
    { users: [] },
    { users: [user, user] },
    { users: [{ ...user, login: 'a:b' }] },
    { users: [{ ...user, password: '' }] },
    { users: [{ ...user, groups: 'hunter2' }] },
    { users: [{ ...user, admin: true }] },
    { users: [{ login: 'a', password: 'hunter2' }] },
    { users: 'hunter2' },
  ]
  const path = join(directory, 'users.json')
  const texts = [...wrong.map((document) => JSON.stringify(document)), 'hunter2', '{"users": [{"password": "hunter2"']
  for (const text of texts) {
    writeFileSync(path, text, { mode: 0o600 })
    t.throws(() => readEventsUsers(path), {
      name: 'ConfigurationError',
      message: /users\.json must contain (?!.*hunter2)/,
    })
  }
  const { status, stdout, stderr } = await runCli(directory, ['events', 'serve-grpc', '--in-memory', '--users', path])
  t.same([status, stdout], [2, ''])
  t.match(stderr, /users\.json must contain/)
  t.notMatch(stderr, /hunter2/)
  const missing = await runCli(directory, [
    'events',
    'serve-grpc',
    '--in-memory',
    '--users',
    join(directory, 'none.json'),
  ])
  t.equal(missing.status, 2)
  t.match(missing.stderr, /none\.json cannot be read: ENOENT/)
})

t.test('rejects options that would expose the log', async (t) => {
  const directory = temporaryDirectory(t)
  const tls = ['--tls-cert', 'x', '--tls-key', 'y']
  const refused: readonly (readonly [args: readonly string[], reason: RegExp])[] = [
    [['--in-memory', '--host', '0.0.0.0'], /requires TLS \(--tls-cert, --tls-key\)/],
    [['--in-memory', '--host', '::'], /requires TLS/],
    [['--in-memory', '--host', '192.0.2.1'], /requires TLS/],
    [['--in-memory', '--host', '::ffff:192.0.2.1'], /requires TLS/],
    [['--in-memory', '--host', 'log.example'], /requires TLS/],
    [['--in-memory', '--host', '0.0.0.0', ...tls], /requires --users/],
    [['--in-memory', '--tls-cert', 'x'], /require each other/],
    [['--in-memory', '--allow-service-streams'], /requires --writable/],
    [[], /use --data to name the log, or --in-memory/],
  ]
  await Promise.all(
    refused.map(async ([args, reason]) => {
      const { status, stdout, stderr } = await runCli(directory, ['events', 'serve-grpc', ...args])
      t.same([status, stdout], [2, ''], args.join(' '))
      t.match(stderr, reason)
    }),
  )
  const log = join(directory, 'no-log')
  const missing = await runCli(directory, ['events', 'serve-grpc', '--data', log])
  t.equal(missing.status, 1)
  t.match(missing.stderr, /there is no log in .*no-log: to create one, add --writable/)
  t.notOk(existsSync(log), 'no log is created')
  const { stdout } = await runCli(directory, ['events', 'serve-grpc', '--help'])
  t.match(stdout.replace(/\s+/g, ' '), /one that is not loopback requires TLS/)
  t.match(stdout.replace(/\s+/g, ' '), /TLS requires both files/)
})

t.test('copies to a server that allows writes to service streams', async (t) => {
  const directory = temporaryDirectory(t)
  const from = join(directory, 'from')
  const store = await openEventLog({ directory: from, writerThread: false })
  await store.append('transfer-1', 'no_stream', [event()])
  await store.close()
  const to = join(directory, 'to')
  for (const [options, status] of [
    [[], 1],
    [['--allow-service-streams'], 0],
  ] as const) {
    const server = await serving(t, '--data', to, '--writable', ...options)
    const { login, password } = usersIn(server.users!)[0]!
    const url = `esdb://${login}:${password}@127.0.0.1:${server.port}?tls=false`
    const copied = await runCli(directory, ['events', 'copy', '--from', `embedded:${from}`, '--to', url, '--json'])
    t.equal(copied.status, status, copied.stderr)
    t.notMatch(copied.stderr, password)
    await server.end()
  }
})

/** Connects, sends only the first bytes of a handshake, and leaves the connection open. */
async function connectHalfway(port: number, bytes: Buffer): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  if (bytes.length > 0) await new Promise((resolve) => socket.write(bytes, resolve))
  return socket
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
const openHeaders = Buffer.from([0, 0, 5, 1, 0, 0, 0, 0, 1, 0x82])

t.test('SIGTERM stops the server while connections are being established, without TLS', async (t) => {
  const server = await serving(t, '--in-memory')
  const beginnings = [
    Buffer.alloc(0),
    preface.subarray(0, 10),
    preface,
    Buffer.concat([preface, settings]),
    Buffer.concat([preface, settings, openHeaders]),
  ]
  const sockets = await Promise.all(
    beginnings.flatMap((bytes) => Array.from({ length: 5 }, () => connectHalfway(server.port, bytes))),
  )
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  const { status, tookMs } = await server.end()
  t.equal(status, 0)
  t.ok(tookMs < endsWithinMs, `${tookMs.toFixed(0)} ms`)
})

const certificate = makeCertificate(temporaryDirectory(t))
const skip = certificate ? false : 'openssl is not installed'

t.test('SIGTERM stops the server while connections are being established, with TLS', { skip }, async (t) => {
  if (!certificate) return
  const tls = ['--tls-cert', certificate.cert, '--tls-key', certificate.key]
  const ca = readFileSync(certificate.cert)
  const server = await serving(t, '--in-memory', ...tls)
  const hello = Buffer.from([0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3])
  const sockets = await Promise.all([connectHalfway(server.port, Buffer.alloc(0)), connectHalfway(server.port, hello)])
  // One connection completes only the handshake, and one session makes no call.
  const silent = connectTls({ port: server.port, host: 'localhost', ca, ALPNProtocols: ['h2'] }).on('error', () => {})
  await once(silent, 'secureConnect')
  const idle = connectHttp2(`https://localhost:${server.port}`, { ca }).on('error', () => {})
  await once(idle, 'remoteSettings')
  // Clients keep connecting while the server stops.
  const connecting = setInterval(() => {
    connectTls({ port: server.port, host: 'localhost', ca, ALPNProtocols: ['h2'] }).on('error', () => {})
  }, 2)
  t.teardown(() => clearInterval(connecting))
  const { status, tookMs } = await server.end()
  clearInterval(connecting)
  t.equal(status, 0)
  t.ok(tookMs < endsWithinMs, `${tookMs.toFixed(0)} ms`)
  for (const socket of [...sockets, silent]) socket.destroy()
  idle.destroy()
})

t.test('--insecure requires no credentials, on loopback addresses only', async (t) => {
  const server = await serving(t, '--in-memory', '--writable', '--insecure')
  t.match(server.stderr(), /--insecure: every program on this machine has full access/)
  t.equal(server.users, null)
  const store = openEventStoreDb({ url: `esdb://127.0.0.1:${server.port}?tls=false` })
  t.teardown(() => store.close())
  const event = { id: randomUUID(), type: 'Tested', data: {}, metadata: {} }
  t.match(await store.append('a', 'no_stream', [event]), { revision: 0 })
  await server.end()
  for (const args of [
    ['--host', '0.0.0.0'],
    ['--users', 'a.json'],
    ['--tls-cert', 'a', '--tls-key', 'b'],
  ]) {
    const { status, stderr } = await runCli(temporaryDirectory(t), [
      'events',
      'serve-grpc',
      '--in-memory',
      '--insecure',
      ...args,
    ])
    t.equal(status, 2, args.join(' '))
    t.match(stderr, /requires TLS|--insecure requires a loopback address/)
  }
})
