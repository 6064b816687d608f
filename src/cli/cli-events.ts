import { BlockList, isIP } from 'node:net'
import type { Command } from 'commander'
import { violate } from '../domain/decider.js'
import type { CopyProgress } from '../operations/copy/copy-log.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineBareCommand, defineCommand, defineStandaloneCommand, print } from './command.js'
import { Refused, refusedBy, UsageError } from './failures.js'
import { fieldTable } from './field-table.js'
import { interruptSignal, percentOf, progressReporter, waitForStopSignal } from './long-running.js'
import { eventName, type Names, namesOf } from './names.js'
import { securityLogIn, withSecurityLog } from './operator-log.js'
import { defaulting, flag, integer, matching, option, parsed, reason, required, type Values } from './options.js'
import { exactTime, exactTimes } from './readable.js'

/** Accepts `merchant-…@3` as text, which the command splits. */
const place = matching((text) => /^.+@\d{1,10}$/s.test(text), 'It must be stream@revision.')

export function addEventCommands(program: Command): void {
  const events = program.command('events').description('the event log')
  /** The names for the running command. */
  let names: Names | undefined
  defineCommand(events, 'show <trackingId>', 'all events of a transfer', {
    examples: ['7b0f2c1e', '7b0f2c1e --json'],
    async run(stores, _, trackingId: string) {
      const { transferStream } = await import('../domain/streams.js')
      const { formatPosition } = await import('../event-store/event-store.js')
      const recorded = await stores.eventStore.readStream(transferStream(trackingId))
      if (recorded.length === 0) throw refusedBy(violate('unknown-transfer'))
      const events = recorded.map(({ id, type, revision, position, recordedAtMs, data, metadata, isSkipped }) => ({
        revision,
        type,
        recordedAt: new Date(recordedAtMs).toISOString(),
        position: formatPosition(position),
        id,
        data,
        metadata,
        ...(isSkipped && { skipped: true }),
      }))
      names = await namesOf(stores)
      return events
    },
    text(events) {
      const known = names as Names
      const times = exactTimes(events.map(({ recordedAt }) => recordedAt))
      return events
        .map(({ revision, type, data, metadata, skipped }, index) => {
          const actor = known.actor(String(metadata.actor ?? ''))
          const head = `${revision}  ${times[index]}  ${eventName(type)}${skipped ? ' (skipped)' : ''}  by ${actor}`
          return `${head}\n${fieldTable(data, known, '     ')}`
        })
        .join('\n')
    },
    list: {
      columns: {
        revision: { align: 'right' },
        type: {},
        recordedAt: {},
        position: {},
        id: {},
        data: {},
        metadata: {},
        skipped: {},
      },
      none: 'No events.',
    },
  })
  defineCommand(events, 'problems', 'unreadable events that are not skipped', {
    examples: ['', '--json'],
    async run(stores) {
      const eventProblems = await import('../projections/event-problems.js')
      const { isStillOpen, openProblems, placeOf, problemsNotFoundYet } = eventProblems
      const { eventStore } = stores
      const readModels = await stores.readModels()
      const problems = new Map<string, string>()
      // First the events that the projection has not reached, or those that it reaches in the meantime would be missing.
      for await (const problem of problemsNotFoundYet(eventStore, readModels))
        problems.set(placeOf(problem), problem.reason)
      for (const problem of await openProblems(readModels, await knownProblems(stores)))
        if (await isStillOpen(eventStore, problem)) problems.set(placeOf(problem), problem.reason)
      const found = [...problems].map(async ([event, reason]) => {
        return { event, recordedAt: await recordedAtOf(stores, event), reason }
      })
      names = await namesOf(stores)
      return Promise.all(found)
    },
    list: {
      columns: {
        event: {},
        recordedAt: { head: 'RECORDED', cell: ({ recordedAt }) => recordedAt && exactTime(recordedAt) },
        reason: {
          cell({ event, reason }) {
            const [, kind, id = ''] = /^(merchant|user)-(.*)@\d+$/s.exec(event) ?? []
            return kind === undefined ? reason : `${names?.actor(`${kind}:${id}`)}: ${reason}`
          },
        },
      },
      none: 'No problems found.',
      hint: ([first]) => first && 'to skip an event permanently: transferd events skip <event> --reason <text>',
    },
  })
  defineCommand(events, 'skip <event>', 'ignore an unreadable event permanently', {
    examples: [
      'transfer-7b0f2c1e-93a4-4f0e-9d53-2f0f3a6f1b77@3 --reason "damaged row, ticket 204"',
      'transfer-7b0f2c1e-93a4-4f0e-9d53-2f0f3a6f1b77@3 --reason "damaged row, ticket 204" --yes',
    ],
    args: { event: { description: 'stream@revision, as `events problems` prints it', parse: place } },
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    confirmation: {
      question: (_, __, event: string) => ({
        effect: 'The service behaves permanently as if this event had not happened.',
        word: event,
      }),
    },
    async run({ eventStore: store, clock, context }, { reason }, event: string) {
      const { skipEvent } = await import('../commands/skip-events.js')
      const at = event.lastIndexOf('@')
      const target = { stream: event.slice(0, at), revision: Number(event.slice(at + 1)), reason }
      const { problem, changed } = accepted(await skipEvent({ store, clock }, target, context))
      return { event, problem, changed }
    },
  })
  addEventsServeCommand(events)
  addEventsCopyCommands(events)
}

/** Adds the commands that copy the whole log to another engine or to a file. */
function addEventsCopyCommands(events: Command): void {
  defineStandaloneCommand(events, 'copy', 'copy the log to another engine, to move the service there', {
    examples: [
      '--from embedded:./data --to esdb://admin:changeit@localhost:2113',
      '--from embedded:./data --to embedded:/srv/transferd/data',
    ],
    options: {
      from: required(option('<url>', 'like EVENT_STORE_URL: embedded:<directory> or esdb://…')),
      to: required(option('<url>', 'the same; empty or with a prefix of the same log')),
    },
    async run({ progress }, { from, to }) {
      const { copyEvents } = await import('../operations/copy/copy-events.js')
      const onProgress = progressReporter(progress, copyProgress())
      const { sourceHasGrown, ...result } = await copyEvents(from, to, { signal: interruptSignal(), onProgress })
      if (!sourceHasGrown) return result
      throw new Refused(
        'source-grown',
        `${result.events} events are copied and verified, but the source has grown since: stop its writers and run the command again`,
      )
    },
  })
  defineStandaloneCommand(
    events,
    'save <file>',
    'write the embedded log to one file, with or without a running service',
    {
      examples: ['/backup/events-2026-11-21.db', '/backup/events-2026-11-21.db --json'],
      async run({ configuration }, _, file: string) {
        const { backUpEvents } = await import('../operations/backup/backup-commands.js')
        return backUpEvents(configuration, file)
      },
    },
  )
}

async function recordedAtOf({ eventStore }: CommandStores, event: string): Promise<string | undefined> {
  const at = event.lastIndexOf('@')
  const fromRevision = Number(event.slice(at + 1))
  const [recorded] = await eventStore.readStream(event.slice(0, at), { fromRevision, maxCount: 1 })
  return recorded && new Date(recorded.recordedAtMs).toISOString()
}

/** Returns the events that put merchants and users out of service. */
async function knownProblems(stores: CommandStores) {
  const { UserDirectory } = await import('../commands/user/user-commands.js')
  const users = new UserDirectory(stores.eventStore, () => undefined)
  await users.catchUp()
  const merchants = (await stores.merchantDirectory()).problems()
  return [...merchants.map(({ problem }) => problem), ...users.problems()]
}

/** Returns a formatter that also computes the rate since the previous line of the same phase. */
function copyProgress(): (progress: CopyProgress) => string {
  let previous = { doing: '', events: 0, atMs: performance.now() }
  return ({ doing, events, at, end }) => {
    const nowMs = performance.now()
    const added = previous.doing === doing ? events - previous.events : 0
    const perSecond = Math.round((added * 1_000) / (nowMs - previous.atMs))
    previous = { doing, events, atMs: nowMs }
    // Show 100 only when the copy is complete.
    return `${doing}: ${events} events, ${Math.min(99, percentOf(at, end))} %, ${perSecond} per second`
  }
}

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
  insecure: flag('require no credentials, as EventStoreDB does with this option; on loopback addresses only'),
  advertise: option('<host:port>', 'the address for clients that use cluster discovery', endpoint),
}

function addEventsServeCommand(events: Command): void {
  const description = "serve the log over EventStoreDB's gRPC protocol, until SIGTERM or SIGINT"
  defineBareCommand(events, 'serve-grpc', description, {
    examples: ['--data ./data --tls-cert server.crt --tls-key server.key', '--in-memory --insecure --port 0'],
    options,
    async run({ command, announce }, given) {
      check(given)
      const { host, port, data: directory, writable, allowServiceStreams, tlsCert, tlsKey, advertise, insecure } = given
      const stopAsked = waitForStopSignal()
      const users = await usersNamed(given)
      const { requireServedLog, startEventsServer } = await import('../operations/events-server/events-server.js')
      if (directory !== undefined && !writable) requireServedLog(directory)
      const { createLogger } = await import('../operations/logging/logger.js')
      const { createSecurityLog } = await import('../operations/logging/security-log-writer.js')
      // On stderr, like that of the service. There are no metrics.
      const securityLog = createSecurityLog(createLogger('warn', 'events'), undefined, () => performance.now())
      const start = () =>
        startEventsServer({
          host,
          port,
          directory,
          advertise,
          users,
          isWritable: writable === true,
          isInsecure: insecure === true,
          allowsServiceStreams: allowServiceStreams === true,
          tls: tlsCert === undefined || tlsKey === undefined ? undefined : { certFile: tlsCert, keyFile: tlsKey },
          onFault: (error) => console.error('transferd: a call failed because of a bug:', error),
          onRejectedLogin: ({ throttled, ...fields }) =>
            securityLog.note(throttled ? 'security.events_throttled' : 'security.events_login_failed', fields),
        })
      const server = await (directory === undefined
        ? start()
        : withSecurityLog(securityLogIn(directory), command, start))
      for (const notice of server.users.notices) announce(notice)
      if (insecure) announce('--insecure: every program on this machine has full access, without a password')
      print(command, { url: server.url, users: server.users.path ?? null }, () => `${server.url}\n`)
      await stopAsked
      // The timer must not keep the process alive, but it must end a process that something else keeps alive.
      setTimeout(() => {
        announce(`not stopped within ${stopWithinMs} ms`)
        process.exit(1)
      }, stopWithinMs).unref()
      await server.stop()
      securityLog.close()
    },
  })
}

type Given = Values<typeof options>

/** @throws UsageError */
function check(given: Given): void {
  const { host, data, inMemory, writable, allowServiceStreams, users, tlsCert, tlsKey, insecure } = given
  if ((data === undefined) === (inMemory === undefined))
    throw new UsageError('use --data to name the log, or --in-memory for an empty one')
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UsageError('--tls-cert and --tls-key require each other')
  if (tlsCert === undefined && !isLoopback(host))
    throw new UsageError(`${host} is reachable from other machines and requires TLS (--tls-cert, --tls-key)`)
  if (allowServiceStreams && !writable) throw new UsageError('--allow-service-streams requires --writable')
  const { EVENTS_USER: login, EVENTS_PASSWORD: password } = process.env
  if (Boolean(login) !== Boolean(password)) throw new UsageError('EVENTS_USER and EVENTS_PASSWORD require each other')
  if (insecure && (tlsCert !== undefined || users !== undefined || login || !isLoopback(host)))
    throw new UsageError('--insecure requires a loopback address, and cannot be combined with TLS or users')
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
