import { parseArgs } from 'node:util'
import { StreamStore } from '@transferd/event-log/streams'
import { startProtocolServer } from '../../src/protocol-server.js'

/**
 * The server of `transferd events serve-grpc --writable` with the access of the recorded server: without TLS, calls need no credentials;
 * with TLS, every user can do everything that no ACL denies. The released command has no such option.
 *   node dist/test/conformance/open-server.js --port <port> (--data <directory> | --in-memory) [--tls-cert … --tls-key …]
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    data: { type: 'string' },
    'in-memory': { type: 'boolean' },
    'tls-cert': { type: 'string' },
    'tls-key': { type: 'string' },
  },
})
const { data, 'tls-cert': certFile, 'tls-key': keyFile } = values

process.umask(0o077)
const store = data === undefined ? StreamStore.openTemporary() : StreamStore.open(data)
const server = await startProtocolServer({
  store,
  host: '127.0.0.1',
  port: Number(values.port ?? 0),
  isWritable: true,
  canWriteReserved: true,
  usesRecordedAccess: true,
  accounts: [
    { login: 'admin', password: 'changeit', groups: ['$admins'] },
    { login: 'ops', password: 'changeit', groups: ['$ops'] },
  ],
  ...(certFile !== undefined && keyFile !== undefined && { tls: { certFile, keyFile } }),
  onFault: (error) => console.error('a call failed because of a server fault:', error),
})
console.log(`esdb://127.0.0.1:${server.port}?tls=${certFile !== undefined}`)
process.once('SIGTERM', async () => {
  await server.close()
  await store.close()
})
