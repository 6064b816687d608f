import { isIPv6 } from 'node:net'
import { StreamStore } from '../event-store/embedded/streams/stream-store.js'
import type { Account } from '../event-store/protocol/access.js'
import { type Endpoint, startProtocolServer } from '../event-store/protocol/server.js'

export interface EventsServerOptions {
  readonly host: string
  readonly port: number
  /** Undefined: a log of its own, gone when it ends. */
  readonly directory: string | undefined
  readonly isWritable: boolean
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly advertise: Endpoint | undefined
  readonly accounts: readonly Account[]
  readonly onFault: (error: unknown) => void
}

export interface EventsServer {
  /** For EventStoreDB's clients, without credentials. */
  readonly url: string
  stop(): Promise<void>
}

/** Serves the embedded log to EventStoreDB's clients. @throws CannotOpenLogError */
export async function startEventsServer(options: EventsServerOptions): Promise<EventsServer> {
  const { directory, host, tls, advertise } = options
  const store = directory === undefined ? StreamStore.openTemporary() : StreamStore.open(directory)
  try {
    const server = await startProtocolServer({
      store,
      host,
      port: options.port,
      isWritable: options.isWritable,
      accounts: options.accounts,
      onFault: options.onFault,
      ...(tls && { tls }),
      ...(advertise && { advertise }),
    })
    const endpoint = advertise ?? { host, port: server.port }
    const address = isIPv6(endpoint.host) ? `[${endpoint.host}]` : endpoint.host
    return {
      url: `esdb://${address}:${endpoint.port}?tls=${tls !== undefined}`,
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
