import type {
  CreateReq,
  DeleteReq,
  GetInfoReq,
  ListReq,
  ReplayParkedReq,
  UpdateReq,
} from '@eventstore/db-client/generated/persistent_pb.js'
import { type Metadata, type Server, status } from '@grpc/grpc-js'
import { admins, operators } from './access.js'
import { type CallError, unforeseen } from './call-error.js'
import { type ServerContext, unary } from './calls.js'
import { filterSpecOf, matcherOf } from './event-filter.js'
import { persistent, persistentServices } from './generated.js'
import { infoOf } from './group-info.js'
import { areSettingsValid, type GroupDefinition, type GroupSettings, wholeLog } from './groups/group-settings.js'
import type { Groups } from './groups/groups.js'
import type { RunningGroup } from './groups/running-group.js'
import { groupError, groupMissing, groupsOf, type PersistentContext } from './persistent-context.js'
import { consumeCall } from './persistent-read.js'
import { empty, isMaxUint64, placeOf, streamName } from './wire.js'

const ticksPerMs = 10_000
const operatorGroups = [admins, operators]

export function addPersistentSubscriptions(server: Server, context: PersistentContext): void {
  const { access } = context
  const asOperator = <Request, Response>(handle: (groups: Groups, request: Request) => Promise<Response>) =>
    unary(context, async (request: Request, metadata: Metadata) => {
      access.mustBeIn(await access.caller(metadata), operatorGroups)
      return handle(groupsOf(context), request)
    })
  const asAnybody = <Request, Response>(handle: (groups: Groups, request: Request) => Promise<Response>) =>
    unary(context, async (request: Request, metadata: Metadata) => {
      access.mustBeKnown(await access.caller(metadata))
      return handle(groupsOf(context), request)
    })
  server.addService(persistentServices.PersistentSubscriptionsService, {
    create: asOperator((groups, request: CreateReq) => create(context, groups, request)),
    update: asOperator(update),
    delete: asOperator(remove),
    getInfo: asAnybody(getInfo),
    list: asAnybody(list),
    replayParked: asOperator(replayParked),
    restartSubsystem: asOperator(async (groups) => {
      await groups.restart()
      return empty()
    }),
    read: consumeCall(context),
  })
}

function failed(source: string, group: string, reason: string): CallError {
  const text = `Subscription group ${group} on stream ${source} failed: '${reason}'`
  return groupError(status.INTERNAL, 'persistent-subscription-failed', text, source, group, { reason })
}

async function create({ store }: ServerContext, groups: Groups, request: CreateReq) {
  const options = request.getOptions()
  if (options === undefined) throw unforeseen()
  const group = options.getGroupName()
  const source = options.hasAll() ? wholeLog : ordinary(options)
  if (groups.find(source, group)) {
    const text = `Subscription group ${group} on stream ${source} exists.`
    throw groupError(status.ALREADY_EXISTS, 'persistent-subscription-exists', text, source, group)
  }
  const all = options.getAll()
  const filter = filterSpecOf(all?.getFilter())
  if (filter) matcherOf(filter)
  const settings = settingsOf(options.getSettings(), startOf(options))
  if (!areSettingsValid(settings)) throw failed(source, group, 'the settings make no sense')
  const position = all?.getPosition()
  if (position) {
    const [commit, prepare] = [position.getCommitPosition(), position.getPreparePosition()]
    if (BigInt(prepare) > BigInt(commit)) throw unforeseen()
    const place = placeOf(commit, prepare, store.reader.lastPosition())
    if (place === 'beyond') throw failed(source, group, 'the start position is beyond the end of the log')
  }
  await groups.create({ source, group, settings, ...(filter && { filter }) })
  return new persistent.CreateResp()
}

async function update(groups: Groups, request: UpdateReq) {
  const options = request.getOptions()
  if (options === undefined) throw unforeseen()
  const source = options.hasAll() ? wholeLog : ordinary(options)
  const { definition } = existing(groups, source, options.getGroupName())
  const asked = settingsOf(options.getSettings(), startOf(options))
  // The request has no field for it.
  const settings =
    definition.settings.strategy === 'PinnedByCorrelation' ? { ...asked, strategy: 'PinnedByCorrelation' } : asked
  if (!areSettingsValid(settings)) throw failed(source, definition.group, 'the settings make no sense')
  await groups.update({ ...definition, settings } satisfies GroupDefinition)
  return new persistent.UpdateResp()
}

async function remove(groups: Groups, request: DeleteReq) {
  const options = request.getOptions()
  if (options === undefined) throw unforeseen()
  const source = options.hasAll() ? wholeLog : ordinary(options)
  await groups.delete(existing(groups, source, options.getGroupName()))
  return new persistent.DeleteResp()
}

async function getInfo(groups: Groups, request: GetInfoReq) {
  const options = request.getOptions()
  if (options === undefined) throw unforeseen()
  const source = options.hasAll() ? wholeLog : streamName(options.getStreamIdentifier())
  // A stream that is called like the whole log has no groups.
  if (!options.hasAll() && source === wholeLog) throw groupMissing(source, options.getGroupName())
  return new persistent.GetInfoResp().setSubscriptionInfo(infoOf(existing(groups, source, options.getGroupName())))
}

async function list(groups: Groups, request: ListReq) {
  const of = request.getOptions()?.getListForStream()
  const source = of && (of.hasAll() ? wholeLog : streamName(of.getStream()))
  const found = source === undefined ? groups.all() : groups.of(source)
  if (found === undefined) throw groupMissing(source ?? '', '')
  return new persistent.ListResp().setSubscriptionsList(found.map(infoOf))
}

async function replayParked(groups: Groups, request: ReplayParkedReq) {
  const options = request.getOptions()
  if (options === undefined) throw unforeseen()
  const source = options.hasAll() ? wholeLog : streamName(options.getStreamIdentifier())
  const running = existing(groups, source, options.getGroupName())
  const stopAt = options.hasStopAt() ? Number(options.getStopAt()) : undefined
  if (stopAt !== undefined && stopAt < 0) throw failed(source, options.getGroupName(), 'cannot stop before the start')
  await running.replay(stopAt)
  return new persistent.ReplayParkedResp()
}

function existing(groups: Groups, source: string, group: string): RunningGroup {
  const found = groups.find(source, group)
  if (found === undefined) throw groupMissing(source, group)
  return found
}

type SourceOptions = CreateReq.Options | UpdateReq.Options | DeleteReq.Options

/** The stream, which older clients name in another field. The whole log goes by calls of its own. */
function ordinary(options: SourceOptions): string {
  const identifier = 'getStream' in options ? options.getStream()?.getStreamIdentifier() : undefined
  const source = streamName(identifier ?? options.getStreamIdentifier())
  if (source === wholeLog) throw unforeseen()
  return source
}

function startOf(options: CreateReq.Options | UpdateReq.Options): string {
  const all = options.getAll()
  if (all) {
    const position = all.getPosition()
    if (all.hasStart()) return 'start'
    if (position === undefined) return 'end'
    const [commit, prepare] = [position.getCommitPosition(), position.getPreparePosition()]
    return isMaxUint64(commit) ? 'end' : `${commit}/${prepare}`
  }
  const stream = options.getStream()
  if (stream?.hasStart()) return 'start'
  if (stream?.hasEnd()) return 'end'
  const revision = stream?.getRevision() ?? options.getSettings()?.getRevision() ?? '0'
  return isMaxUint64(revision) ? 'end' : revision
}

function settingsOf(settings: CreateReq.Settings | UpdateReq.Settings | undefined, startFrom: string): GroupSettings {
  if (settings === undefined) throw unforeseen()
  const named = ['DispatchToSingle', 'RoundRobin', 'Pinned'][settings.getNamedConsumerStrategy()] ?? ''
  const strategy = ('getConsumerStrategy' in settings && settings.getConsumerStrategy()) || named
  const milliseconds = (hasTicks: boolean, ticks: string, ms: number) =>
    hasTicks ? Math.trunc(Number(ticks) / ticksPerMs) : ms
  return {
    startFrom,
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
