import { readFileSync } from 'node:fs'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { Groups, protocolLock } from '@transferd/event-log/groups'
import { AccessControl, type AccessOptions } from './access/access-control.js'
import { appendCall } from './calls/append-call.js'
import { batchAppendCall } from './calls/batch-append-call.js'
import type { LiveBurst } from './calls/call-handlers.js'
import { deleteCall } from './calls/delete-calls.js'
import { addNodeServices, type Endpoint } from './calls/node-calls.js'
import { readCall } from './calls/read-call.js'
import { BatchingCall } from './calls/throttled-writer.js'
import { addUsers } from './calls/user-calls.js'
import { appendEpochEvent } from './epoch-event.js'
import { MatchingBudgets } from './filters/matching-budget.js'
import { addPersistentSubscriptions } from './groups/group-calls.js'
import { type GroupContext, restartGroups } from './groups/group-context.js'
import { sourceOf } from './groups/protocol-group-source.js'
import { ProtocolListener } from './protocol-listener.js'
import { acceptingEncoded } from './wire/event-encoder.js'
import { streamsServices } from './wire/generated-protocol.js'
import type { ResolvedEvent } from './wire/resolved-event.js'

const maxMessageBytes = 16 * 1024 * 1024
const maxCallsPerConnection = 1_000
const keepAliveMs = 10_000

export interface ProtocolOptions extends Omit<AccessOptions, 'recordedAccess'> {
  readonly host: string
  /** The port, or 0 for any free port. */
  readonly port: number
  /** The PEM files of the certificate and its key. Without them, connections are not encrypted. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string }
  /** The endpoint for clients that discover a cluster. Defaults to the listening endpoint. */
  readonly advertise?: Endpoint
  /**
   * Grants the access that the recorded server grants: everything without TLS, as its option `--insecure` does, and everything that no
   * ACL denies with TLS, which only conformance tests use.
   */
  readonly usesRecordedAccess?: true
  /**
   * Imitates a live subscription to the whole log when more events than EventStoreDB buffers are committed together: 23.10 ends it, and
   * later versions send "fell behind" and then "caught up". By default, the subscription sends the events. Only tests use it.
   */
  readonly onLiveBurst?: LiveBurst
  readonly onFault: (error: unknown) => void
}

export interface ProtocolServer {
  readonly port: number
  /** Ends all calls. The store stays open. */
  close(): Promise<void>
}

/** Serves a log over EventStoreDB's gRPC protocol. */
export async function startProtocolServer(options: ProtocolOptions): Promise<ProtocolServer> {
  const { store, tls, isWritable, onFault } = options
  const lock = isWritable ? store.locks.tryTake(protocolLock) : undefined
  const matching = new MatchingBudgets()
  const groups =
    lock &&
    new Groups<ResolvedEvent>({
      log: store,
      sourceOf: (stored) => sourceOf(store, stored, matching.ofGroups),
      isServer: true,
      onFault,
    })
  const context: GroupContext = {
    store,
    access: new AccessControl({ ...options, recordedAccess: recordedAccessOf(options) }),
    isWritable,
    matching,
    onLiveBurst: options.onLiveBurst,
    onFault,
    groups,
    sources: new Set(),
  }
  if (isWritable) await appendEpochEvent(store)
  if (groups) await restartGroups(context)
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': maxCallsPerConnection,
    // Detect disconnected clients: they would remain in their groups and receive events until these are parked.
    'grpc.keepalive_time_ms': keepAliveMs,
    'grpc.keepalive_timeout_ms': keepAliveMs,
    interceptors: [(_method, call) => new BatchingCall(call)],
  })
  server.addService(acceptingEncoded(streamsServices.StreamsService), {
    read: readCall(context),
    append: appendCall(context),
    batchAppend: batchAppendCall(context),
    delete: deleteCall(context, 'delete'),
    tombstone: deleteCall(context, 'tombstone'),
  })
  let boundPort = options.port
  addNodeServices(
    server,
    context,
    () => options.advertise ?? { host: options.host, port: boundPort },
    () => restartGroups(context),
  )
  addPersistentSubscriptions(server, context)
  addUsers(server, context)
  const listener = await ProtocolListener.listen(server, credentialsOf(tls), options)
  boundPort = listener.port
  return {
    port: boundPort,
    close: async () => {
      listener.stopAccepting()
      await groups?.close()
      server.forceShutdown()
      listener.closeConnections()
      lock?.release()
    },
  }
}

function recordedAccessOf({ usesRecordedAccess, tls }: ProtocolOptions): AccessOptions['recordedAccess'] {
  if (!usesRecordedAccess) return undefined
  return tls === undefined ? 'everything' : 'unless denied by ACL'
}

function credentialsOf(tls: ProtocolOptions['tls']): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure()
  const pair = { cert_chain: readFileSync(tls.certFile), private_key: readFileSync(tls.keyFile) }
  return ServerCredentials.createSsl(null, [pair])
}

export type { Account, RejectedLogin } from './access/authenticator.js'
export type { Endpoint } from './calls/node-calls.js'
