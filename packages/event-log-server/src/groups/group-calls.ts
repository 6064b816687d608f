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
import type { Asking } from '../access/authenticator.js'
import type { User } from '../access/stored-users.js'
import { given, unary } from '../calls/call-handlers.js'
import { filterSpecOf, matcherOf } from '../filters/event-filter.js'
import { unforeseen } from '../wire/call-error.js'
import type { ResolvedEvent } from '../wire/event-messages.js'
import { persistent, persistentServices } from '../wire/generated-protocol.js'
import { empty, isMaxUint64, streamName } from '../wire/wire-values.js'
import { consumeCall } from './consume-call.js'
import {
  asGroupError,
  groupMissing,
  groupsOf,
  mayChange,
  type PersistentContext,
  restartGroups,
} from './group-context.js'
import { infoOf } from './group-info.js'

type Groups = AnyGroups<ResolvedEvent>

const ticksPerMs = 10_000

export function addPersistentSubscriptions(server: Server, context: PersistentContext): void {
  const { access, sources } = context
  const asOperator = <Request, Response>(handle: (groups: Groups, request: Request) => Promise<Response>) =>
    unary(context, async (request: Request, asking: Asking) => {
      access.mustBeIn(await access.caller(asking), [admins, operators])
      return handle(groupsOf(context), request)
    })
  const asUser = <Request, Response>(handle: (groups: Groups, request: Request, user?: User) => Promise<Response>) =>
    unary(context, async (request: Request, asking: Asking) => {
      const user = await access.caller(asking)
      access.mustBeKnown(user)
      return handle(groupsOf(context), request, user)
    })
  server.addService(persistentServices.PersistentSubscriptionsService, {
    create: asOperator(async (groups, request: CreateReq) => {
      const options = given(request.getOptions())
      const name = nameOf(options)
      const filter = filterSpecOf(options.getAll()?.getFilter())
      if (filter) matcherOf(filter, context.matching.ofGroups)
      const settings = settingsOf(options.getSettings(), startOf(options))
      await answering(name, groups.create({ ...name, madeBy: 'protocol', settings, ...(filter && { filter }) }))
      sources.add(name.source)
      return new persistent.CreateResp()
    }),
    update: asOperator(async (groups, request: UpdateReq) => {
      const options = given(request.getOptions())
      const name = nameOf(options)
      const asked = settingsOf(options.getSettings(), startOf(options))
      mayChange(context, name)
      // The request has no field for it.
      const isKept = groups.find(name)?.settings.strategy === 'PinnedByCorrelation'
      await answering(name, groups.update(name, isKept ? { ...asked, strategy: 'PinnedByCorrelation' } : asked))
      return new persistent.UpdateResp()
    }),
    delete: asOperator(async (groups, request: DeleteReq) => {
      const name = nameOf(given(request.getOptions()))
      mayChange(context, name)
      await answering(name, groups.delete(name))
      return new persistent.DeleteResp()
    }),
    getInfo: asUser(async (groups, request: GetInfoReq, user) => {
      const options = given(request.getOptions())
      const name = { source: sourceOf(options), group: options.getGroupName() }
      access.mayLook(user, name.source)
      // A stream that is called like the whole log has no groups.
      if (!options.hasAll() && name.source === wholeLog) throw groupMissing(name)
      return new persistent.GetInfoResp().setSubscriptionInfo(infoOf(await answering(name, groups.info(name))))
    }),
    list: asUser(async (groups, request: ListReq, user) => {
      const asked = request.getOptions()?.getListForStream()
      const source = asked && (asked.hasAll() ? wholeLog : streamName(asked.getStream()))
      access.mayLook(user, source)
      const found = groups.all().filter((group) => source === undefined || group.source === source)
      if (source !== undefined && found.length === 0 && !sources.has(source)) throw groupMissing({ source, group: '' })
      const infos = await Promise.all(found.map((group) => groups.info(group)))
      return new persistent.ListResp().setSubscriptionsList(infos.map(infoOf))
    }),
    replayParked: asOperator(async (groups, request: ReplayParkedReq) => {
      const options = given(request.getOptions())
      const name = { source: sourceOf(options), group: options.getGroupName() }
      mayChange(context, name)
      await answering(name, groups.replayParked(name, options.hasStopAt() ? Number(options.getStopAt()) : undefined))
      return new persistent.ReplayParkedResp()
    }),
    restartSubsystem: asOperator(async () => {
      await restartGroups(context)
      return empty()
    }),
    read: consumeCall(context),
  })
}

/** The errors of a group as clients know them. */
function answering<T>(name: GroupName, answer: Promise<T>): Promise<T> {
  return answer.catch((error) => {
    throw asGroupError(error, name)
  })
}

function sourceOf(options: GetInfoReq.Options | ReplayParkedReq.Options): string {
  return options.hasAll() ? wholeLog : streamName(options.getStreamIdentifier())
}

/** The stream is named in another field by older clients. The whole log goes by a field of its own. */
function nameOf(options: CreateReq.Options | UpdateReq.Options | DeleteReq.Options): GroupName {
  const group = options.getGroupName()
  if (options.hasAll()) return { source: wholeLog, group }
  const identifier = 'getStream' in options ? options.getStream()?.getStreamIdentifier() : undefined
  const source = streamName(identifier ?? options.getStreamIdentifier())
  if (source === wholeLog) throw unforeseen()
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
    if (BigInt(prepare) > BigInt(commit)) throw unforeseen()
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
  if (settings === undefined) throw unforeseen()
  const named = ['DispatchToSingle', 'RoundRobin', 'Pinned'][settings.getNamedConsumerStrategy()] ?? ''
  // What is no strategy is refused with the other settings.
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
