import { EventStoreDBClient } from '@eventstore/db-client'
import { StreamStore } from '@transferd/event-log/streams'
import { startProtocolServer } from '../../src/protocol-server.js'
import type { Certificate } from './certificate.js'

export interface ServeOptions {
  readonly directory?: string
  readonly isWritable?: boolean
  /** Without it nothing is encrypted, and nobody is asked who they are. */
  readonly certificate?: Certificate
  /** As `transferd events serve` has it; what the recorded server leaves open is open when absent. */
  readonly isClosed?: true
}

/** How the names begin that no client may write to, unless it is opened. */
export const reservedPrefixes = ['transfer-', 'wallet-', '$transferd-'] as const

/** The administrator of a server that asks for one. */
export const administrator = { login: 'admin', password: 'changeit', groups: ['$admins'] }

/** A server on a free port and a client of it; faults of the server are collected. */
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
  const client = EventStoreDBClient.connectionString(url)
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
