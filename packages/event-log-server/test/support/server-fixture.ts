import { EventStoreDBClient } from '@eventstore/db-client'
import { StreamStore } from '@transferd/event-log/streams'
import { startProtocolServer } from '../../src/protocol-server.js'
import type { Certificate } from './certificate.js'

interface ServeOptions {
  readonly directory?: string
  readonly isWritable?: boolean
  /** The certificate for TLS. Without it, connections are not encrypted and calls need no credentials. */
  readonly certificate?: Certificate
  /** Whether to require the rights that `transferd events serve-grpc` requires. Defaults to the access of the recorded server. */
  readonly isClosed?: true
}

/** The prefixes of streams that clients cannot write. */
export const reservedPrefixes = ['transfer-', 'wallet-', '$transferd-'] as const

/** The administrator of a server that requires credentials. */
export const administrator = { login: 'admin', password: 'changeit', groups: ['$admins'] }

/** Starts a server on a free port with a client, and collects the faults of the server. */
export async function serve({ directory, isWritable = true, certificate, isClosed }: ServeOptions = {}) {
  const store = directory === undefined ? StreamStore.openTemporary() : StreamStore.open(directory)
  const faults: unknown[] = []
  const server = await startProtocolServer({
    store,
    host: '127.0.0.1',
    port: 0,
    isWritable,
    isReservedStream: (stream) => reservedPrefixes.some((prefix) => stream.startsWith(prefix)),
    canWriteReserved: isClosed !== true,
    accounts: [administrator],
    onFault: (error) => faults.push(error),
    ...(!isClosed && { usesRecordedAccess: true }),
    ...(certificate && { tls: { certFile: certificate.cert, keyFile: certificate.key } }),
  })
  const url = certificate
    ? `esdb://admin:changeit@localhost:${server.port}?tls=true&tlsCAFile=${certificate.cert}`
    : `esdb://127.0.0.1:${server.port}?tls=false`
  // The default deadline of 10 s is too short for large appends on a busy machine.
  const client = EventStoreDBClient.connectionString(`${url}&defaultDeadline=60000`)
  return {
    url,
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
