import { BlockList, isIP } from 'node:net'
import type { Command } from 'commander'
import { defineBareCommand, print, UsageError } from './command.js'
import { waitForStopSignal } from './long-running.js'
import { securityLogIn, withSecurityLog } from './operator-log.js'
import { defaulting, flag, integer, option, parsed, type Values } from './options.js'

/** Writes in progress always finish first. */
const stopWithinMs = 10_000

const endpoint = parsed((text) => {
  const [, v6, name, digits] = /^(?:\[([0-9a-fA-F:]+)\]|([^\s:/]+)):(\d{1,5})$/.exec(text) ?? []
  const host = v6 ?? name
  const port = Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}, 'It must be host:port.')
const hostOption = option('<host>', 'address to listen on; one that is not loopback requires TLS')
const portOption = option('<port>', '0 for any free port', integer({ min: 0, max: 65_535 }))

const options = {
  host: defaulting('127.0.0.1', hostOption),
  port: defaulting(2113, portOption),
  data: option('<directory>', 'the directory of the log, with or without a running service'),
  inMemory: flag('an empty log that ends with the process'),
  writable: flag('allow clients to write'),
  allowServiceStreams: flag("allow writes to the service's own streams; requires --writable"),
  users: option('<file>', 'users in JSON (default: events-users.json in the directory)'),
  tlsCert: option('<file>', 'certificate chain in PEM; TLS requires both files'),
  tlsKey: option('<file>', 'unencrypted private key in PEM'),
  advertise: option('<host:port>', 'the address for clients that use cluster discovery', endpoint),
}

export function addEventsServeCommand(events: Command): void {
  const description = "serve the log over EventStoreDB's gRPC protocol, until SIGTERM or SIGINT"
  defineBareCommand(events, 'serve', description, {
    options,
    async run({ command, notify }, given) {
      check(given)
      const { host, port, data: directory, writable, allowServiceStreams, tlsCert, tlsKey, advertise } = given
      const stopAsked = waitForStopSignal()
      const users = await usersNamed(given)
      const { requireServedLog, startEventsServer } = await import('../operations/events-server/events-server.js')
      if (directory !== undefined && !writable) requireServedLog(directory)
      const securityLog = await createEventsSecurityLog()
      const start = () =>
        startEventsServer({
          ...{ host, port, directory, advertise, users },
          isWritable: writable === true,
          allowsServiceStreams: allowServiceStreams === true,
          tls: tlsCert === undefined || tlsKey === undefined ? undefined : { certFile: tlsCert, keyFile: tlsKey },
          onFault: (error) => console.error('transferd: a call failed because of a bug:', error),
          onRejectedLogin: ({ throttled, ...fields }) =>
            securityLog.note(throttled ? 'security.events_throttled' : 'security.events_login_failed', fields),
        })
      const server = await (directory === undefined
        ? start()
        : withSecurityLog(securityLogIn(directory), command, start))
      for (const notice of server.users.notices) notify(notice)
      print(command, { url: server.url, users: server.users.path ?? null }, () => `${server.url}\n`)
      await stopAsked
      // The timer must not keep the process alive, but it must end a process that something else keeps alive.
      setTimeout(() => {
        notify(`not stopped within ${stopWithinMs} ms`)
        process.exit(1)
      }, stopWithinMs).unref()
      await server.stop()
      securityLog.close()
    },
  })
}

/** Writes the security log to stderr, like the service. There are no metrics. */
async function createEventsSecurityLog() {
  const { createLogger } = await import('../operations/logging/logger.js')
  const { createSecurityLog } = await import('../operations/logging/security-log-writer.js')
  return createSecurityLog(createLogger('warn', 'events'), undefined, () => performance.now())
}

type Given = Values<typeof options>

/** @throws UsageError */
function check({ host, data, inMemory, writable, allowServiceStreams, users, tlsCert, tlsKey }: Given): void {
  if ((data === undefined) === (inMemory === undefined))
    throw new UsageError('use --data to name the log, or --in-memory for an empty one')
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UsageError('--tls-cert and --tls-key require each other')
  if (tlsCert === undefined && !isLoopback(host))
    throw new UsageError(`${host} is reachable from other machines and requires TLS (--tls-cert, --tls-key)`)
  if (allowServiceStreams && !writable) throw new UsageError('--allow-service-streams requires --writable')
  const { EVENTS_USER: login, EVENTS_PASSWORD: password } = process.env
  if (Boolean(login) !== Boolean(password)) throw new UsageError('EVENTS_USER and EVENTS_PASSWORD require each other')
  if (login && users !== undefined) throw new UsageError('--users and EVENTS_USER cannot be combined')
  if (inMemory && !login && users === undefined && !isLoopback(host))
    throw new UsageError(`--in-memory on ${host} requires --users, or EVENTS_USER and EVENTS_PASSWORD`)
}

function isLoopback(host: string): boolean {
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8)
  loopback.addAddress('::1', 'ipv6')
  const family = isIP(host)
  return family === 0 ? host === 'localhost' : loopback.check(host, family === 6 ? 'ipv6' : 'ipv4')
}

/** Reads the users from EVENTS_USER or a file. Returns `undefined` if none are configured. @throws ConfigurationError */
async function usersNamed({ users }: Given) {
  const { EVENTS_USER: login, EVENTS_PASSWORD: password } = process.env
  if (login && password) return { accounts: [{ login, password, groups: ['$admins'] }], notices: [] }
  if (users === undefined) return undefined
  const { readEventsUsers } = await import('../operations/events-server/events-server.js')
  return readEventsUsers(users)
}
