import { existsSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { logPath } from '@transferd/event-log'
import { StreamStore } from '@transferd/event-log/streams'
import type { RejectedLogin } from '@transferd/event-log-server'
import { type Endpoint, startProtocolServer } from '@transferd/event-log-server'
import { isServiceStream } from '../../domain/streams.js'
import { NoLogError } from '../stores/stores.js'
import { type EventsUsers, ensureEventsUsers } from './events-users.js'

export interface EventsServerOptions {
  readonly host: string
  readonly port: number
  /** Undefined: a log of its own, gone when the server ends. */
  readonly directory: string | undefined
  readonly isWritable: boolean
  /** Clients may write the streams of the service as well. */
  readonly opensService: boolean
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly advertise: Endpoint | undefined
  /** Who may call; undefined: those of the file in the directory, or well-known ones for a log that is gone when the server ends. */
  readonly users: EventsUsers | undefined
  readonly onFault: (error: unknown) => void
  readonly onRejectedLogin?: (refused: RejectedLogin) => void
}

export interface EventsServer {
  /** For EventStoreDB's clients, without credentials. */
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

/** Called before anything is created in the directory. @throws NoLogError */
export function requireServedLog(directory: string): void {
  if (existsSync(logPath(directory))) return
  throw new NoLogError(`there is no log in ${directory}, and none is made without --writable`)
}

/** Serves the embedded log to EventStoreDB's clients. @throws CannotOpenLogError */
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
      canWriteReserved: options.opensService,
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
