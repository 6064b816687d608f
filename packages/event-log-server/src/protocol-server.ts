import { readFileSync } from 'node:fs'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { Groups, protocolLock } from '@transferd/event-log/groups'
import { Access, type AccessOptions } from './access/access-control.js'
import { appendCall } from './calls/append-call.js'
import { batchAppendCall } from './calls/batch-append-call.js'
import { removeCall } from './calls/delete-calls.js'
import { addNodeServices, type Endpoint } from './calls/node-calls.js'
import { readCall } from './calls/read-call.js'
import { addUsers } from './calls/user-calls.js'
import { beginLog } from './epoch-event.js'
import { MatchingBudgets } from './filters/matching-budget.js'
import { addPersistentSubscriptions } from './groups/group-calls.js'
import { type PersistentContext, restartGroups } from './groups/group-context.js'
import { sourceOf } from './groups/protocol-group-source.js'
import { Listener } from './protocol-listener.js'
import type { ResolvedEvent } from './wire/event-messages.js'
import { streamsServices } from './wire/generated-protocol.js'

const maxMessageBytes = 16 * 1024 * 1024
const maxCallsOfConnection = 1_000
const keepAliveMs = 10_000

export interface ProtocolOptions extends Omit<AccessOptions, 'recordedAccess'> {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Files in PEM. Without them nothing is encrypted. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string }
  /** Where clients that discover a cluster are sent; `host:port`. Where they came from when absent. */
  readonly advertise?: Endpoint
  /**
   * What the recorded server leaves open is open here: everything without TLS, with it what no ACL closes. Nothing but tests
   * that compare the two asks for it.
   */
  readonly usesRecordedAccess?: true
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
  const lock = isWritable ? store.tryLock(protocolLock) : undefined
  const matching = new MatchingBudgets()
  const groups =
    lock &&
    new Groups<ResolvedEvent>({
      log: store,
      sourceOf: (stored) => sourceOf(store, stored, matching.ofGroups),
      isServer: true,
      onFault,
    })
  const context: PersistentContext = {
    store,
    access: new Access({ ...options, recordedAccess: opening(options) }),
    isWritable,
    matching,
    onFault,
    groups,
    sources: new Set(),
  }
  if (isWritable) await beginLog(store)
  if (groups) await restartGroups(context)
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': maxCallsOfConnection,
    // A client that was cut off would keep its place in a group, and be given events until they are parked.
    'grpc.keepalive_time_ms': keepAliveMs,
    'grpc.keepalive_timeout_ms': keepAliveMs,
  })
  server.addService(streamsServices.StreamsService, {
    read: readCall(context),
    append: appendCall(context),
    batchAppend: batchAppendCall(context),
    delete: removeCall(context, 'delete'),
    tombstone: removeCall(context, 'tombstone'),
  })
  let bound = options.port
  addNodeServices(
    server,
    context,
    () => options.advertise ?? { host: options.host, port: bound },
    () => restartGroups(context),
  )
  addPersistentSubscriptions(server, context)
  addUsers(server, context)
  const listener = await Listener.listen(server, credentialsOf(tls), options)
  bound = listener.port
  return {
    port: bound,
    close: async () => {
      listener.refuse()
      await groups?.close()
      server.forceShutdown()
      listener.end()
      lock?.release()
    },
  }
}

function opening({ usesRecordedAccess, tls }: ProtocolOptions): AccessOptions['recordedAccess'] {
  if (!usesRecordedAccess) return undefined
  return tls === undefined ? 'everything' : 'what no ACL closes'
}

function credentialsOf(tls: ProtocolOptions['tls']): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure()
  const pair = { cert_chain: readFileSync(tls.certFile), private_key: readFileSync(tls.keyFile) }
  return ServerCredentials.createSsl(null, [pair])
}

export type { Account, RejectedLogin } from './access/authenticator.js'
export type { Endpoint } from './calls/node-calls.js'
