import { BlockList, isIP } from 'node:net'
import type { Command } from 'commander'
import { print, takesJson, tell, UsageError } from './command.js'
import { logged, loggingTo } from './operator-log.js'
import { endpoint, integer } from './options.js'
import { askedToStop } from './stop-signal.js'

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

/** What is being written is finished before, whatever else goes on. */
const stopWithinMs = 10_000

export function addEventsServeCommand(events: Command): void {
  const serveCommand = events
    .command('serve')
    .description("serve the log over EventStoreDB's gRPC protocol, until SIGTERM or SIGINT")
    .option('--host <host>', 'address to listen on; one that is not loopback requires TLS', '127.0.0.1')
    .option('--port <port>', '0: any free one', integer({ min: 0, max: 65_535 }), 2113)
    .option('--data <directory>', 'the log to serve, beside a running service or without one')
    .option('--in-memory', 'an empty log, gone when it ends')
    .option('--writable', 'let clients write; without it they read')
    .option('--allow-service-streams', "let them write the service's own streams, too; goes with --writable")
    .option('--users <file>', 'who may ask, in JSON; events-users.json in the directory when absent')
    .option('--tls-cert <file>', 'certificate chain in PEM; TLS requires both files')
    .option('--tls-key <file>', 'its private key in PEM, not encrypted')
    .option('--advertise <host:port>', 'where clients that discover a cluster are sent', endpoint)
  takesJson(serveCommand).action(serve)
}

async function serve(options: Options, command: Command): Promise<void> {
  const { host, port, data, tlsCert, tlsKey, advertise } = options
  check(options)
  const tls = tlsCert === undefined || tlsKey === undefined ? undefined : { certFile: tlsCert, keyFile: tlsKey }
  const stopAsked = askedToStop()
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
      opensService: options.allowServiceStreams === true,
      tls,
      advertise,
      users,
      onFault: (error) => console.error('transferd: a call failed for a reason of ours:', error),
      onRejectedLogin: ({ throttled, ...fields }) =>
        securityLog.note(throttled ? 'security.events_throttled' : 'security.events_login_failed', fields),
    })
  const server = await (data === undefined ? start() : logged(loggingTo(data), command, start))
  for (const notice of server.users.notices) tell(command, notice)
  const started = { url: server.url, users: server.users.path ?? null }
  print(command, started, () => `${server.url}\n`)
  await stopAsked
  // Left to run: it must not keep the process, but end one that something else keeps.
  setTimeout(() => {
    tell(command, `not stopped after ${stopWithinMs} ms`)
    process.exit(1)
  }, stopWithinMs).unref()
  await server.stop()
  securityLog.close()
}

/** On stderr, as the service's is; there are no metrics. */
async function createEventsSecurityLog() {
  const { createLogger } = await import('../operations/logging/logger.js')
  const { createSecurityLog } = await import('../operations/logging/security-log-writer.js')
  return createSecurityLog(createLogger('warn', 'events'), undefined, () => performance.now())
}

/** @throws UsageError */
function check({ host, data, inMemory, writable, allowServiceStreams, users, tlsCert, tlsKey }: Options): void {
  if ((data === undefined) === (inMemory === undefined)) {
    throw new UsageError('name the log with --data, or take an empty one with --in-memory')
  }
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw new UsageError('--tls-cert and --tls-key go together')
  if (tlsCert === undefined && !isLoopback(host)) {
    throw new UsageError(`${host} can be reached from other machines: that requires TLS (--tls-cert, --tls-key)`)
  }
  if (allowServiceStreams && !writable) throw new UsageError('--allow-service-streams goes with --writable')
  const { EVENTS_USER: login, EVENTS_PASSWORD: password } = process.env
  if (Boolean(login) !== Boolean(password)) throw new UsageError('EVENTS_USER and EVENTS_PASSWORD go together')
  if (login && users !== undefined) throw new UsageError('name users with --users or with EVENTS_USER, not with both')
  if (inMemory && !login && users === undefined && !isLoopback(host)) {
    throw new UsageError(`with --in-memory on ${host} name users with --users, or with EVENTS_USER and EVENTS_PASSWORD`)
  }
}

function isLoopback(host: string): boolean {
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8)
  loopback.addAddress('::1', 'ipv6')
  const family = isIP(host)
  return family === 0 ? host === 'localhost' : loopback.check(host, family === 6 ? 'ipv6' : 'ipv4')
}

/** By EVENTS_USER or a file; undefined: nobody was named. @throws ConfigurationError */
async function usersNamed({ users }: Options) {
  const { EVENTS_USER: login, EVENTS_PASSWORD: password } = process.env
  if (login && password) return { accounts: [{ login, password, groups: ['$admins'] }], notices: [] }
  if (users === undefined) return undefined
  const { readEventsUsers } = await import('../operations/events-server/events-users.js')
  return readEventsUsers(users)
}
