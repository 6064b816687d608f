import { EventStoreDBClient } from '@eventstore/db-client'
import { StreamStore } from '../../../src/event-store/embedded/streams/stream-store.js'
import { startProtocolServer } from '../../../src/event-store/protocol/server.js'

/** A server on a free port and a client of it; faults of the server are collected. */
export async function serve(options: { readonly directory?: string; readonly isWritable?: boolean } = {}) {
  const { directory, isWritable = true } = options
  const store = directory === undefined ? StreamStore.openTemporary() : StreamStore.open(directory)
  const faults: unknown[] = []
  const server = await startProtocolServer({
    store,
    host: '127.0.0.1',
    port: 0,
    isWritable,
    accounts: [],
    onFault: (error) => faults.push(error),
  })
  const client = EventStoreDBClient.connectionString(`esdb://127.0.0.1:${server.port}?tls=false`)
  return {
    port: server.port,
    store,
    client,
    faults,
    stop: async () => {
      await client.dispose()
      await server.close()
      await store.close()
    },
  }
}
