import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StatsReq, StatsResp } from '@eventstore/db-client/generated/monitoring_pb.js'
import type { Empty } from '@eventstore/db-client/generated/shared_pb.js'
import { type Server, type ServerWritableStream, type ServiceDefinition, status } from '@grpc/grpc-js'
import { admins, operators } from '../access/access-control.js'
import { CallError } from '../wire/call-error.js'
import {
  features,
  featuresServices,
  gossip,
  gossipServices,
  monitoring,
  monitoringServices,
  operations,
  operationsServices,
  persistentServices,
  shared,
  streamsServices,
  usersServices,
} from '../wire/generated-protocol.js'
import { empty } from '../wire/wire-values.js'
import { type ServerContext, streaming, unary, unaryFor } from './call-handlers.js'

/** The version of the recorded server, by which clients decide which features they use. */
const recordedVersion = '23.10.6'
/** The .NET time unit of 100 ns, counted from the year 1. */
const ticksPerMs = 10_000n
const ticksAt1970 = 621_355_968_000_000_000n
const dayMs = 86_400_000

type StatsCall = ServerWritableStream<StatsReq, StatsResp>

export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** Adds the services of a node: its features, its cluster of one, its statistics, and the applicable operations. */
export function addNodeServices(
  server: Server,
  context: ServerContext,
  endpoint: () => Endpoint,
  restartSubscriptions: () => Promise<void>,
): void {
  const instance = randomUUID()
  server.addService(featuresServices.ServerFeaturesService, {
    getSupportedMethods: unary(context, async () => supportedMethods()),
  })
  server.addService(gossipServices.GossipService, {
    read: unary(context, async () => clusterOfOne(instance, endpoint(), context.isWritable)),
  })
  server.addService(monitoringServices.MonitoringService, {
    stats: streaming(context, (call: StatsCall, signal) => sendStats(context, call, signal)),
  })
  server.addService(operationsServices.OperationsService, operationHandlers(context, restartSubscriptions))
}

function supportedMethods() {
  const supported = new features.SupportedMethods().setEventStoreServerVersion(recordedVersion)
  const services: readonly ServiceDefinition[] = [
    streamsServices.StreamsService,
    persistentServices.PersistentSubscriptionsService,
    operationsServices.OperationsService,
    usersServices.UsersService,
    gossipServices.GossipService,
    monitoringServices.MonitoringService,
    featuresServices.ServerFeaturesService,
  ]
  for (const service of services) {
    for (const { path } of Object.values(service)) {
      const [, serviceName = '', methodName = ''] = path.split('/')
      const method = new features.SupportedMethod()
      method.setServiceName(serviceName.toLowerCase()).setMethodName(methodName.toLowerCase())
      if (serviceName.endsWith('.PersistentSubscriptions')) method.setFeaturesList(['stream', 'all'])
      if (serviceName.endsWith('.Streams') && methodName === 'Read') method.setFeaturesList(['position', 'events'])
      if (serviceName.endsWith('.Streams') && methodName === 'BatchAppend')
        method.setFeaturesList(['deadline_duration'])
      supported.addMethods(method)
    }
  }
  return supported
}

function clusterOfOne(instance: string, { host, port }: Endpoint, isWritable: boolean) {
  const { MemberInfo, EndPoint, ClusterInfo } = gossip
  const { LEADER, READONLYREPLICA } = MemberInfo.VNodeState
  const member = new MemberInfo()
    .setInstanceId(new shared.UUID().setString(instance))
    .setTimeStamp(`${BigInt(Date.now()) * ticksPerMs + ticksAt1970}`)
    .setState(isWritable ? LEADER : READONLYREPLICA)
    .setIsAlive(true)
    .setHttpEndPoint(new EndPoint().setAddress(host).setPort(port))
  return new ClusterInfo().setMembersList([member])
}

async function sendStats({ access, store }: ServerContext, call: StatsCall, signal: AbortSignal): Promise<void> {
  access.requireStatistics(await access.authenticate(call))
  // A timer of more than 24 days fires immediately.
  const everyMs = Math.min(dayMs, Math.max(1_000, Number(call.request.getRefreshTimePeriodInMs())))
  while (!signal.aborted) {
    const stats = new monitoring.StatsResp()
    const map = stats.getStatsMap()
    map.set('proc-id', `${process.pid}`)
    map.set('proc-mem', `${process.memoryUsage.rss()}`)
    map.set('es-writer-lastPosition', `${store.reader.lastPosition()}`)
    call.write(stats)
    await sleep(everyMs, undefined, { signal }).catch(() => {})
  }
}

function operationHandlers(context: ServerContext, restartSubscriptions: () => Promise<void>) {
  const asOperator = <Response>(run: () => Response | Promise<Response>) =>
    unaryFor<unknown, Response>(context, [admins, operators], async () => run())
  const unsupported = () => {
    throw new CallError(status.UNIMPLEMENTED, 'This operation does not apply to a log in one file on one node.')
  }
  return {
    // The log never removes events, so a scavenge has nothing to do.
    startScavenge: asOperator(() => {
      const { STARTED } = operations.ScavengeResp.ScavengeResult
      return new operations.ScavengeResp().setScavengeId(randomUUID()).setScavengeResult(STARTED)
    }),
    stopScavenge: asOperator(() => {
      const { STOPPED } = operations.ScavengeResp.ScavengeResult
      return new operations.ScavengeResp().setScavengeResult(STOPPED)
    }),
    mergeIndexes: asOperator((): Empty => empty()),
    restartPersistentSubscriptions: asOperator(async () => {
      await restartSubscriptions()
      return empty()
    }),
    shutdown: asOperator(unsupported),
    resignNode: asOperator(unsupported),
    setNodePriority: asOperator(unsupported),
  }
}
