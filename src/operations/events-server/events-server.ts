import { existsSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { logPath } from '@transferd/event-log'
import { StreamStore } from '@transferd/event-log/streams'
import { type Endpoint, type RejectedLogin, startProtocolServer } from '@transferd/event-log-server'
import { isServiceStream } from '../../domain/streams.js'
import { NoLogError } from '../stores/stores.js'
import { type EventsUsers, ensureEventsUsers } from './events-users.js'

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
