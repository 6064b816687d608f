import { BlockList, isIP } from 'node:net'
import type { Command } from 'commander'
import { addJsonOption, notify, print, UsageError } from './command.js'
import { securityLogIn, withSecurityLog } from './operator-log.js'
import { endpoint, integer } from './options.js'
import { waitForStopSignal } from './stop-signal.js'

interface Options {
  readonly host: string
  readonly port: number
  readonly data?: string
  readonly inMemory?: true
  readonly writable?: true
  readonly allowServiceStreams?: true
  readonly users?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly advertise?: { readonly host: string; readonly port: number }
}

/** Writes in progress always finish first. */
const stopWithinMs = 10_000

export function addEventsServeCommand(events: Command): void {
  const serveCommand = events
    .command('serve')
    .description("serve the log over EventStoreDB's gRPC protocol, until SIGTERM or SIGINT")
    .option('--host <host>', 'address to listen on; one that is not loopback requires TLS', '127.0.0.1')
    .option('--port <port>', '0 for any free port', integer({ min: 0, max: 65_535 }), 2113)
    .option('--data <directory>', 'the directory of the log, with or without a running service')
    .option('--in-memory', 'an empty log that ends with the process')
    .option('--writable', 'allow clients to write')
    .option('--allow-service-streams', "allow writes to the service's own streams; requires --writable")
    .option('--users <file>', 'users in JSON (default: events-users.json in the directory)')
    .option('--tls-cert <file>', 'certificate chain in PEM; TLS requires both files')
    .option('--tls-key <file>', 'unencrypted private key in PEM')
    .option('--advertise <host:port>', 'the address for clients that use cluster discovery', endpoint)
  addJsonOption(serveCommand).action(serve)
}

async function serve(options: Options, command: Command): Promise<void> {
  const { host, port, data, tlsCert, tlsKey, advertise } = options
  check(options)
  const tls = tlsCert === undefined || tlsKey === undefined ? undefined : { certFile: tlsCert, keyFile: tlsKey }
  const stopAsked = waitForStopSignal()
  const users = await usersNamed(options)
  const { requireServedLog, startEventsServer } = await import('../operations/events-server/events-server.js')
  if (data !== undefined && !options.writable) requireServedLog(data)
  const securityLog = await createEventsSecurityLog()
  const start = () =>
    startEventsServer({
      host,
      port,
      directory: data,
      isWritable: options.writable === true,
      allowsServiceStreams: options.allowServiceStreams === true,
      tls,
      advertise,
      users,
      onFault: (error) => console.error('transferd: a call failed because of a bug:', error),
      onRejectedLogin: ({ throttled, ...fields }) =>
        securityLog.note(throttled ? 'security.events_throttled' : 'security.events_login_failed', fields),
    })
  const server = await (data === undefined ? start() : withSecurityLog(securityLogIn(data), command, start))
  for (const notice of server.users.notices) notify(command, notice)
  const started = { url: server.url, users: server.users.path ?? null }
  print(command, started, () => `${server.url}\n`)
  await stopAsked
  // The timer must not keep the process alive, but it must end a process that something else keeps alive.
  setTimeout(() => {
    notify(command, `not stopped within ${stopWithinMs} ms`)
    process.exit(1)
  }, stopWithinMs).unref()
  await server.stop()
  securityLog.close()
}

/** Writes the security log to stderr, like the service. There are no metrics. */
async function createEventsSecurityLog() {
  const { createLogger } = await import('../operations/logging/logger.js')
  const { createSecurityLog } = await import('../operations/logging/security-log-writer.js')
  return createSecurityLog(createLogger('warn', 'events'), undefined, () => performance.now())
}

/** @throws UsageError */
function check({ host, data, inMemory, writable, allowServiceStreams, users, tlsCert, tlsKey }: Options): void {
  if ((data === undefined) === (inMemory === undefined)) {
    throw new UsageError('use --data to name the log, or --in-memory for an empty one')
  }
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UsageError('--tls-cert and --tls-key require each other')
  if (tlsCert === undefined && !isLoopback(host)) {
    throw new UsageError(`${host} is reachable from other machines and requires TLS (--tls-cert, --tls-key)`)
  }
  if (allowServiceStreams && !writable) throw new UsageError('--allow-service-streams requires --writable')
  const { EVENTS_USER: login, EVENTS_PASSWORD: password } = process.env
  if (Boolean(login) !== Boolean(password)) throw new UsageError('EVENTS_USER and EVENTS_PASSWORD require each other')
  if (login && users !== undefined) throw new UsageError('--users and EVENTS_USER cannot be combined')
  if (inMemory && !login && users === undefined && !isLoopback(host)) {
    throw new UsageError(`--in-memory on ${host} requires --users, or EVENTS_USER and EVENTS_PASSWORD`)
  }
}

function isLoopback(host: string): boolean {
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8)
  loopback.addAddress('::1', 'ipv6')
  const family = isIP(host)
  return family === 0 ? host === 'localhost' : loopback.check(host, family === 6 ? 'ipv6' : 'ipv4')
}

/** Reads the users from EVENTS_USER or a file. Returns `undefined` if none are configured. @throws ConfigurationError */
async function usersNamed({ users }: Options) {
  const { EVENTS_USER: login, EVENTS_PASSWORD: password } = process.env
  if (login && password) return { accounts: [{ login, password, groups: ['$admins'] }], notices: [] }
  if (users === undefined) return undefined
  const { readEventsUsers } = await import('../operations/events-server/events-users.js')
  return readEventsUsers(users)
}
