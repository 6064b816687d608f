import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { logPath } from '@transferd/event-log'
import { StreamStore } from '@transferd/event-log/streams'
import { type Account, startProtocolServer } from '@transferd/event-log-server'
import { isServiceStream } from '../../domain/streams.js'
import { Type, Value } from '../../kernel/typebox.js'
import { json } from '../configuration/configuration-values.js'
import { createFileDurably, permissionNotices } from '../files/durable-file.js'
import { requireNoMark } from '../files/restored-mark.js'
import { NoLogError } from '../stores/stores.js'

type ProtocolOptions = Parameters<typeof startProtocolServer>[0]

interface EventsServerOptions
  extends Pick<ProtocolOptions, 'host' | 'port' | 'isWritable' | 'onFault' | 'onRejectedLogin' | 'onLiveBurst'> {
  /** `undefined` for a temporary log, which is deleted when the server ends. */
  readonly directory: string | undefined
  /** Whether clients may write the service's own streams. */
  readonly allowsServiceStreams: boolean
  readonly tls: ProtocolOptions['tls'] | undefined
  readonly advertise: ProtocolOptions['advertise'] | undefined
  /** Whether every caller has full access without credentials. */
  readonly isInsecure?: boolean
  /** By default the users in the directory's file, or well-known users for a temporary log. */
  readonly users: EventsUsers | undefined
}

export type EventsServer = Awaited<ReturnType<typeof startEventsServer>>

const wellKnown: EventsUsers = {
  accounts: [
    { login: 'admin', password: 'changeit', groups: ['$admins'] },
    { login: 'ops', password: 'changeit', groups: ['$ops'] },
  ],
  notices: [],
}

/** Must be called before anything is created in the directory. @throws NoLogError */
export function requireServedLog(directory: string): void {
  if (existsSync(logPath(directory))) return
  throw new NoLogError(`there is no log in ${directory}: to create one, add --writable`)
}

/** Serves the embedded log to EventStoreDB clients. @throws CannotOpenLogError, RestoreNotRecordedError */
export async function startEventsServer(options: EventsServerOptions) {
  if (options.directory !== undefined) requireNoMark(options.directory)
  const { directory, users: given, allowsServiceStreams, tls, advertise, isInsecure, ...others } = options
  const users =
    given ??
    (isInsecure ? { accounts: [], notices: [] } : directory === undefined ? wellKnown : ensureEventsUsers(directory))
  const store = directory === undefined ? StreamStore.openTemporary() : StreamStore.open(directory)
  try {
    const server = await startProtocolServer({
      ...others,
      store,
      accounts: users.accounts,
      isReservedStream: isServiceStream,
      canWriteReserved: allowsServiceStreams,
      ...(tls && { tls }),
      ...(isInsecure && { usesRecordedAccess: true }),
      ...(advertise && { advertise }),
    })
    const endpoint = advertise ?? { host: others.host, port: server.port }
    const address = isIPv6(endpoint.host) ? `[${endpoint.host}]` : endpoint.host
    return {
      /** The URL for EventStoreDB clients, without credentials. */
      url: `esdb://${address}:${endpoint.port}?tls=${tls !== undefined}`,
      users,
      stop: async () => {
        await server.close()
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The file of users is invalid. The message states what to change and does not quote the file. */
class EventsUsersError extends Error {
  override readonly name = 'ConfigurationError'
}

interface EventsUsers {
  /** The file, if the users come from one. */
  readonly path?: string
  readonly accounts: readonly Account[]
  /** Notices for the operator: that the file was created, or that others can read it. */
  readonly notices: readonly string[]
}

/** Reads the users from `<directory>/events-users.json`, which is created with one administrator if it does not exist. */
function ensureEventsUsers(directory: string): EventsUsers {
  const path = join(directory, 'events-users.json')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const administrator: Account = {
    login: 'admin',
    password: randomBytes(24).toString('base64url'),
    groups: ['$admins'],
  }
  const isNew = createFileDurably(path, `${JSON.stringify({ users: [administrator] }, null, 2)}\n`)
  const users = readEventsUsers(path)
  if (!isNew) return users
  return { ...users, notices: [`created ${path} (mode 0600) with the login and password of the user admin`] }
}

/** @throws EventsUsersError */
export function readEventsUsers(path: string): EventsUsers {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new EventsUsersError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  const accounts = accountsOf(text)
  if (accounts === undefined) {
    throw new EventsUsersError(
      `${path} must contain {"users": [{"login": …, "password": …, "groups": […]}, …]} with unique logins without a colon and no empty password`,
    )
  }
  return { path, accounts, notices: permissionNotices(path) }
}

const name = Type.String({ minLength: 1 })
const user = Type.Object(
  { login: Type.String({ pattern: '^[^:]+$' }), password: name, groups: Type.Array(name) },
  { additionalProperties: false },
)
const document = Type.Object({ users: Type.Array(user, { minItems: 1 }) })

/** Returns `undefined` for an invalid list of users. */
function accountsOf(text: string): readonly Account[] | undefined {
  const parsed = json(text)
  if (!Value.Check(document, parsed)) return undefined
  return new Set(parsed.users.map(({ login }) => login)).size === parsed.users.length ? parsed.users : undefined
}
