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
import { positionAtOrBehind } from '@transferd/event-log/streams'
import { type Asking, admins, operators, type User } from '../access/access.js'
import { given, unary } from '../calls/call.js'
import { filterSpecOf, matcherOf } from '../filters/event-filter.js'
import { unforeseen } from '../wire/call-error.js'
import { persistent, persistentServices } from '../wire/generated.js'
import type { ResolvedEvent } from '../wire/recorded-event.js'
import { empty, isMaxUint64, streamName } from '../wire/values.js'
import { consumeCall } from './consume.js'
import { asGroupError, groupMissing, groupsOf, mayChange, type PersistentContext, restartGroups } from './context.js'
import { infoOf } from './info.js'

type Groups = AnyGroups<ResolvedEvent>

const ticksPerMs = 10_000
const operatorGroups = [admins, operators]

export function addPersistentSubscriptions(server: Server, context: PersistentContext): void {
  const { access, sources } = context
  const asOperator = <Request, Response>(handle: (groups: Groups, request: Request) => Promise<Response>) =>
    unary(context, async (request: Request, asking: Asking) => {
      access.mustBeIn(await access.caller(asking), operatorGroups)
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
      const name = { source: sourceOfChange(options), group: options.getGroupName() }
      const filter = filterSpecOf(options.getAll()?.getFilter())
      if (filter) matcherOf(filter, context.matching.ofGroups)
      const settings = settingsOf(options.getSettings(), startOf(options))
      await as(name, groups.create({ ...name, madeBy: 'protocol', settings, ...(filter && { filter }) }))
      sources.add(name.source)
      return new persistent.CreateResp()
    }),
    update: asOperator(async (groups, request: UpdateReq) => {
      const options = given(request.getOptions())
      const name = { source: sourceOfChange(options), group: options.getGroupName() }
      const asked = settingsOf(options.getSettings(), startOf(options))
      mayChange(context, name)
      // The request has no field for it.
      const isKept = groups.find(name)?.settings.strategy === 'PinnedByCorrelation'
      await as(name, groups.update(name, isKept ? { ...asked, strategy: 'PinnedByCorrelation' } : asked))
      return new persistent.UpdateResp()
    }),
    delete: asOperator(async (groups, request: DeleteReq) => {
      const options = given(request.getOptions())
      const name = { source: sourceOfChange(options), group: options.getGroupName() }
      mayChange(context, name)
      await as(name, groups.delete(name))
      return new persistent.DeleteResp()
    }),
    getInfo: asUser(async (groups, request: GetInfoReq, user) => {
      const options = given(request.getOptions())
      const source = options.hasAll() ? wholeLog : streamName(options.getStreamIdentifier())
      const name = { source, group: options.getGroupName() }
      access.mayLook(user, source)
      // A stream that is called like the whole log has no groups.
      if (!options.hasAll() && source === wholeLog) throw groupMissing(name)
      return new persistent.GetInfoResp().setSubscriptionInfo(infoOf(await as(name, groups.info(name))))
    }),
    list: asUser(async (groups, request: ListReq, user) => {
      const of = request.getOptions()?.getListForStream()
      const source = of && (of.hasAll() ? wholeLog : streamName(of.getStream()))
      access.mayLook(user, source)
      const found = groups.all().filter((group) => source === undefined || group.source === source)
      if (source !== undefined && found.length === 0 && !sources.has(source)) throw groupMissing({ source, group: '' })
      const infos = await Promise.all(found.map((group) => groups.info(group)))
      return new persistent.ListResp().setSubscriptionsList(infos.map(infoOf))
    }),
    replayParked: asOperator(async (groups, request: ReplayParkedReq) => {
      const options = given(request.getOptions())
      const source = options.hasAll() ? wholeLog : streamName(options.getStreamIdentifier())
      const name = { source, group: options.getGroupName() }
      mayChange(context, name)
      await as(name, groups.replayParked(name, options.hasStopAt() ? Number(options.getStopAt()) : undefined))
      return new persistent.ReplayParkedResp()
    }),
    restartSubsystem: asOperator(async () => {
      await restartGroups(context)
      return empty()
    }),
    read: consumeCall(context),
  })
}

/** What a group's work answers, its errors as clients know them. */
async function as<T>(name: GroupName, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw asGroupError(error, name)
  }
}

type SourceOptions = CreateReq.Options | UpdateReq.Options | DeleteReq.Options

/** The stream, which older clients name in another field. The whole log goes by a field of its own. */
function sourceOfChange(options: SourceOptions): string {
  if (options.hasAll()) return wholeLog
  const identifier = 'getStream' in options ? options.getStream()?.getStreamIdentifier() : undefined
  const source = streamName(identifier ?? options.getStreamIdentifier())
  if (source === wholeLog) throw unforeseen()
  return source
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
    return { startFrom: positionAtOrBehind(commit), startText: `C:${BigInt(commit)}/P:${BigInt(prepare)}` }
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
  const milliseconds = (hasTicks: boolean, ticks: string, ms: number) =>
    hasTicks ? Math.trunc(Number(ticks) / ticksPerMs) : ms
  return {
    ...start,
    resolveLinks: settings.getResolveLinks(),
    extraStatistics: settings.getExtraStatistics(),
    messageTimeoutMs: milliseconds(
      settings.hasMessageTimeoutTicks(),
      settings.getMessageTimeoutTicks(),
      settings.getMessageTimeoutMs(),
    ),
    maxRetryCount: settings.getMaxRetryCount(),
    checkpointAfterMs: milliseconds(
      settings.hasCheckpointAfterTicks(),
      settings.getCheckpointAfterTicks(),
      settings.getCheckpointAfterMs(),
    ),
    minCheckpointCount: settings.getMinCheckpointCount(),
    maxCheckpointCount: settings.getMaxCheckpointCount(),
    maxSubscriberCount: settings.getMaxSubscriberCount(),
    liveBufferSize: settings.getLiveBufferSize(),
    readBatchSize: settings.getReadBatchSize(),
    historyBufferSize: settings.getHistoryBufferSize(),
    strategy,
  }
}
