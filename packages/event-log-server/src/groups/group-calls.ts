import type {
  CreateReq,
  DeleteReq,
  GetInfoReq,
  ListReq,
  ReplayParkedReq,
  UpdateReq,
} from '@eventstore/db-client/generated/persistent_pb.js'
import type { Server } from '@grpc/grpc-js'
import type { Groups as AnyGroups } from '@transferd/event-log/groups'
import { type GroupName, type GroupSettings, type StrategyName, wholeLog } from '@transferd/event-log/groups'
import { positionAtOrAfter } from '@transferd/event-log/streams'
import { admins, operators } from '../access/access-control.js'
import type { IncomingCall } from '../access/authenticator.js'
import type { User } from '../access/stored-users.js'
import { required, unary, unaryFor } from '../calls/call-handlers.js'
import { matcherOf, parseFilter } from '../filters/event-filter.js'
import { unexpectedError } from '../wire/call-error.js'
import { acceptingEncoded } from '../wire/event-encoder.js'
import { persistent, persistentServices } from '../wire/generated-protocol.js'
import type { ResolvedEvent } from '../wire/resolved-event.js'
import { empty, isMaxUint64, parseStream } from '../wire/wire-values.js'
import { consumeCall } from './consume-call.js'
import {
  asGroupError,
  type GroupContext,
  groupMissing,
  groupsOf,
  requireChangeable,
  restartGroups,
} from './group-context.js'
import { infoOf } from './group-info.js'

type Groups = AnyGroups<ResolvedEvent>

const ticksPerMs = 10_000

export function addPersistentSubscriptions(server: Server, context: GroupContext): void {
  const { access, sources } = context
  const asOperator = <Request, Response>(handle: (groups: Groups, request: Request) => Promise<Response>) =>
    unaryFor(context, [admins, operators], async (request: Request) => handle(groupsOf(context), request))
  const asUser = <Request, Response>(handle: (groups: Groups, request: Request, user?: User) => Promise<Response>) =>
    unary(context, async (request: Request, call: IncomingCall) => {
      const user = await access.authenticate(call)
      access.requireUser(user)
      return handle(groupsOf(context), request, user)
    })
  server.addService(acceptingEncoded(persistentServices.PersistentSubscriptionsService), {
    create: asOperator(async (groups, request: CreateReq) => {
      const options = required(request.getOptions())
      const name = nameOf(options)
      const filter = parseFilter(options.getAll()?.getFilter())
      if (filter) matcherOf(filter, context.matching.ofGroups)
      const settings = settingsOf(options.getSettings(), startOf(options))
      await withGroupErrors(name, groups.create({ ...name, madeBy: 'protocol', settings, ...(filter && { filter }) }))
      sources.add(name.source)
      return new persistent.CreateResp()
    }),
    update: asOperator(async (groups, request: UpdateReq) => {
      const options = required(request.getOptions())
      const name = nameOf(options)
      const settings = settingsOf(options.getSettings(), startOf(options))
      requireChangeable(context, name)
      // Keep this strategy, for which the request has no field.
      const isPinned = groups.find(name)?.settings.strategy === 'PinnedByCorrelation'
      const updated: GroupSettings = isPinned ? { ...settings, strategy: 'PinnedByCorrelation' } : settings
      await withGroupErrors(name, groups.update(name, updated))
      return new persistent.UpdateResp()
    }),
    delete: asOperator(async (groups, request: DeleteReq) => {
      const name = nameOf(required(request.getOptions()))
      requireChangeable(context, name)
      await withGroupErrors(name, groups.delete(name))
      return new persistent.DeleteResp()
    }),
    getInfo: asUser(async (groups, request: GetInfoReq, user) => {
      const options = required(request.getOptions())
      const name = { source: sourceOf(options), group: options.getGroupName() }
      access.requireStatistics(user, name.source)
      // A stream with the name of the whole log has no groups.
      if (!options.hasAll() && name.source === wholeLog) throw groupMissing(name)
      return new persistent.GetInfoResp().setSubscriptionInfo(infoOf(await withGroupErrors(name, groups.info(name))))
    }),
    list: asUser(async (groups, request: ListReq, user) => {
      const requested = request.getOptions()?.getListForStream()
      const source = requested && (requested.hasAll() ? wholeLog : parseStream(requested.getStream()))
      access.requireStatistics(user, source)
      const found = groups.all().filter((group) => source === undefined || group.source === source)
      if (source !== undefined && found.length === 0 && !sources.has(source)) throw groupMissing({ source, group: '' })
      const infos = await Promise.all(found.map((group) => groups.info(group)))
      return new persistent.ListResp().setSubscriptionsList(infos.map(infoOf))
    }),
    replayParked: asOperator(async (groups, request: ReplayParkedReq) => {
      const options = required(request.getOptions())
      const name = { source: sourceOf(options), group: options.getGroupName() }
      requireChangeable(context, name)
      await withGroupErrors(
        name,
        groups.replayParked(name, options.hasStopAt() ? Number(options.getStopAt()) : undefined),
      )
      return new persistent.ReplayParkedResp()
    }),
    restartSubsystem: asOperator(async () => {
      await restartGroups(context)
      return empty()
    }),
    read: consumeCall(context),
  })
}

/** Converts the errors of an operation on a group to those of clients. */
function withGroupErrors<T>(name: GroupName, operation: Promise<T>): Promise<T> {
  return operation.catch((error) => {
    throw asGroupError(error, name)
  })
}

function sourceOf(options: GetInfoReq.Options | ReplayParkedReq.Options): string {
  return options.hasAll() ? wholeLog : parseStream(options.getStreamIdentifier())
}

/** Returns the name of a group. Older clients name the stream in a different field, and the whole log has a separate field. */
function nameOf(options: CreateReq.Options | UpdateReq.Options | DeleteReq.Options): GroupName {
  const group = options.getGroupName()
  if (options.hasAll()) return { source: wholeLog, group }
  const identifier = 'getStream' in options ? options.getStream()?.getStreamIdentifier() : undefined
  const source = parseStream(identifier ?? options.getStreamIdentifier())
  if (source === wholeLog) throw unexpectedError()
  return { source, group }
}

type Start = Pick<GroupSettings, 'startFrom' | 'startText'>

function startOf(options: CreateReq.Options | UpdateReq.Options): Start {
  const all = options.getAll()
  if (all) {
    const position = all.getPosition()
    if (all.hasStart()) return { startFrom: 'start' }
    if (position === undefined) return { startFrom: 'end' }
    const [commit, prepare] = [position.getCommitPosition(), position.getPreparePosition()]
    if (isMaxUint64(commit)) return { startFrom: 'end' }
    if (BigInt(prepare) > BigInt(commit)) throw unexpectedError()
    return { startFrom: positionAtOrAfter(commit), startText: `C:${BigInt(commit)}/P:${BigInt(prepare)}` }
  }
  const stream = options.getStream()
  if (stream?.hasStart()) return { startFrom: 'start' }
  if (stream?.hasEnd()) return { startFrom: 'end' }
  const revision = stream?.getRevision() ?? options.getSettings()?.getRevision() ?? '0'
  if (isMaxUint64(revision)) return { startFrom: 'end' }
  return { startFrom: Number(revision), startText: `${BigInt(revision)}` }
}

function settingsOf(settings: CreateReq.Settings | UpdateReq.Settings | undefined, start: Start): GroupSettings {
  if (settings === undefined) throw unexpectedError()
  const named = ['DispatchToSingle', 'RoundRobin', 'Pinned'][settings.getNamedConsumerStrategy()] ?? ''
  // An invalid strategy is rejected with the other settings.
  const strategy = (('getConsumerStrategy' in settings && settings.getConsumerStrategy()) || named) as StrategyName
  const ms = (ticks: string) => Math.trunc(Number(ticks) / ticksPerMs)
  return {
    ...start,
    resolveLinks: settings.getResolveLinks(),
    extraStatistics: settings.getExtraStatistics(),
    messageTimeoutMs: settings.hasMessageTimeoutTicks()
      ? ms(settings.getMessageTimeoutTicks())
      : settings.getMessageTimeoutMs(),
    maxRetryCount: settings.getMaxRetryCount(),
    checkpointAfterMs: settings.hasCheckpointAfterTicks()
      ? ms(settings.getCheckpointAfterTicks())
      : settings.getCheckpointAfterMs(),
    minCheckpointCount: settings.getMinCheckpointCount(),
    maxCheckpointCount: settings.getMaxCheckpointCount(),
    maxSubscriberCount: settings.getMaxSubscriberCount(),
    liveBufferSize: settings.getLiveBufferSize(),
    readBatchSize: settings.getReadBatchSize(),
    historyBufferSize: settings.getHistoryBufferSize(),
    strategy,
  }
}
