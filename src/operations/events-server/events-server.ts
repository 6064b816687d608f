import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { logPath } from '@transferd/event-log'
import { StreamStore } from '@transferd/event-log/streams'
import { type Account, type Endpoint, type RejectedLogin, startProtocolServer } from '@transferd/event-log-server'
import { isServiceStream } from '../../domain/streams.js'
import { createFileDurably } from '../files/durable-file.js'
import { NoLogError } from '../stores/stores.js'

export interface EventsServerOptions {
  readonly host: string
  readonly port: number
  /** `undefined` for a temporary log, which is deleted when the server ends. */
  readonly directory: string | undefined
  readonly isWritable: boolean
  /** Whether clients may write the service's own streams. */
  readonly allowsServiceStreams: boolean
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly advertise: Endpoint | undefined
  /** By default the users in the directory's file, or well-known users for a temporary log. */
  readonly users: EventsUsers | undefined
  readonly onFault: (error: unknown) => void
  readonly onRejectedLogin?: (rejected: RejectedLogin) => void
}

export interface EventsServer {
  /** The URL for EventStoreDB clients, without credentials. */
  readonly url: string
  readonly users: EventsUsers
  stop(): Promise<void>
}

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

/** Serves the embedded log to EventStoreDB clients. @throws CannotOpenLogError */
export async function startEventsServer(options: EventsServerOptions): Promise<EventsServer> {
  const { directory, host, tls, advertise } = options
  const users = options.users ?? (directory === undefined ? wellKnown : ensureEventsUsers(directory))
  const store = directory === undefined ? StreamStore.openTemporary() : StreamStore.open(directory)
  try {
    const server = await startProtocolServer({
      store,
      host,
      port: options.port,
      isWritable: options.isWritable,
      isReservedStream: isServiceStream,
      canWriteReserved: options.allowsServiceStreams,
      accounts: users.accounts,
      onFault: options.onFault,
      ...(options.onRejectedLogin && { onRejectedLogin: options.onRejectedLogin }),
      ...(tls && { tls }),
      ...(advertise && { advertise }),
    })
    const endpoint = advertise ?? { host, port: server.port }
    const address = isIPv6(endpoint.host) ? `[${endpoint.host}]` : endpoint.host
    return {
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
export class EventsUsersError extends Error {
  override readonly name = 'ConfigurationError'
}

export interface EventsUsers {
  /** The file, if the users come from one. */
  readonly path?: string
  readonly accounts: readonly Account[]
  /** Notices for the operator: that the file was created, or that others can read it. */
  readonly notices: readonly string[]
}

/** Reads the users from `<directory>/events-users.json`, which is created with one administrator if it does not exist. */
export function ensureEventsUsers(directory: string): EventsUsers {
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
  const mode = statSync(path).mode & 0o777
  const isTooOpen = process.platform !== 'win32' && (mode & 0o077) !== 0
  const notice = `${path} has mode 0${mode.toString(8)}, so others can read it: change the mode to 0600`
  return { path, accounts, notices: isTooOpen ? [notice] : [] }
}

/** Returns `undefined` for an invalid list of users. */
function accountsOf(text: string): readonly Account[] | undefined {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    return undefined
  }
  const users = isObject(document) ? document.users : undefined
  if (!Array.isArray(users) || users.length === 0 || !users.every(isAccount)) return undefined
  return new Set(users.map(({ login }) => login)).size === users.length ? users : undefined
}

function isAccount(user: unknown): user is Account {
  if (!isObject(user)) return false
  const { login, password, groups, ...others } = user
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
  const isLogin = isText(login) && !login.includes(':')
  return isLogin && isText(password) && isGroups(groups) && Object.keys(others).length === 0
}

function isGroups(groups: unknown): boolean {
  return Array.isArray(groups) && groups.every((group) => typeof group === 'string' && group !== '')
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
