import {
  type PersistentSubscriptionToAllSettings,
  persistentSubscriptionToAllSettingsFromDefaults,
  streamNameFilter,
} from '@eventstore/db-client'
import persistent, {
  type ReadReq as ConsumeRequest,
  type ReadResp as ConsumeResponse,
} from '@eventstore/db-client/generated/persistent_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import {
  checkedSettings,
  defaultPersistentSubscriptionSettings,
  type NackAction,
  type ParkedEvent,
  type PersistentConsumer,
  type PersistentDelivery,
  type PersistentSubscriptionSettings,
  type PersistentSubscriptions,
  type RecordedEvent,
} from '../event-store.js'
import { countInLog } from '../log-counts.js'
import type { Connection } from './eventstoredb-connection.js'
import { readStream, readStreamRequest, streamFilter } from './eventstoredb-reads.js'
import type { ConsumeCall, Incoming } from './raw-client.js'
import { idOf, toRecordedEvent, type WireEvent } from './recorded-event.js'

/** Sets every setting, because the client's own defaults start at the end of the log. */
function toWireSettings(settings: PersistentSubscriptionSettings): PersistentSubscriptionToAllSettings {
  const { startFrom, maxRetryCount, maxSubscriberCount, liveBufferSize, readBatchSize, historyBufferSize } = settings
  return persistentSubscriptionToAllSettingsFromDefaults({
    startFrom,
    maxRetryCount,
    maxSubscriberCount,
    liveBufferSize,
    readBatchSize,
    historyBufferSize,
    resolveLinkTos: false,
    extraStatistics: false,
    consumerStrategyName: settings.consumerStrategy,
    messageTimeout: settings.messageTimeoutMs,
    checkPointAfter: settings.checkpointAfterMs,
    checkPointLowerBound: settings.minCheckpointCount,
    checkPointUpperBound: settings.maxCheckpointCount,
  })
}

function fromWireSettings(
  settings: PersistentSubscriptionToAllSettings,
  streamPrefixes: readonly string[],
): PersistentSubscriptionSettings {
  const { startFrom, maxRetryCount, maxSubscriberCount, liveBufferSize, readBatchSize, historyBufferSize } = settings
  return {
    startFrom,
    streamPrefixes,
    maxRetryCount,
    liveBufferSize,
    readBatchSize,
    historyBufferSize,
    messageTimeoutMs: settings.messageTimeout,
    checkpointAfterMs: settings.checkPointAfter,
    minCheckpointCount: settings.checkPointLowerBound,
    maxCheckpointCount: settings.checkPointUpperBound,
    maxSubscriberCount: typeof maxSubscriberCount === 'number' ? maxSubscriberCount : 0,
    consumerStrategy: settings.consumerStrategyName as PersistentSubscriptionSettings['consumerStrategy'],
  }
}

const { ReadReq } = persistent
/** The largest number of ids in one message. */
const maxIds = 2_000

interface ConsumerOptions {
  readonly group: string
  readonly bufferSize: number
  readonly signal: AbortSignal
  /** Returns the port's error for the error of the call. */
  readonly failed: (error: unknown) => Error
  /** Reads the event itself: a replayed event has the position of its parked entry. */
  readonly original: (stream: string, revision: number) => Promise<RecordedEvent | undefined>
}

/**
 * Opens a consumer of a group. Events that were sent but not taken are in flight on the server, at most as many as the buffer size. Resolves
 * when the server has confirmed the subscription. @throws the error of the call
 */
async function openConsumer(
  responses: Incoming<ConsumeResponse, ConsumeCall>,
  { group, bufferSize, signal, failed, original }: ConsumerOptions,
): Promise<PersistentConsumer> {
  let hasEnded = false
  const close = async () => {
    if (hasEnded) return
    hasEnded = true
    signal.removeEventListener('abort', close)
    responses.cancel()
  }
  /** Does nothing if the consumer has ended: the events are redelivered. */
  const send = (request: ConsumeRequest) => {
    if (!hasEnded && responses.call.writable) responses.call.write(request)
  }
  const ack = async (...ackIds: string[]) => {
    for (const ids of batches(ackIds)) {
      countInLog('ack')
      send(new ReadReq().setAck(new ReadReq.Ack().setIdsList(ids)))
    }
  }
  const nack = async (action: NackAction, reason: string, ...ackIds: string[]) => {
    for (const ids of batches(ackIds)) {
      const nacked = new ReadReq.Nack().setAction(ReadReq.Nack.Action[action.toUpperCase() as Uppercase<NackAction>])
      send(new ReadReq().setNack(nacked.setReason(reason).setIdsList(ids)))
    }
  }
  const toDelivery = async (response: ConsumeResponse): Promise<PersistentDelivery | undefined> => {
    const delivered = response.getEvent()
    const event = delivered?.getEvent()
    const link = delivered?.getLink()
    if (delivered === undefined || (event === undefined && link === undefined)) return undefined
    const ackId = idOf((link ?? event)?.getId())
    countInLog('event_received')
    if (event === undefined) {
      // The stream of the parked event was truncated, so nothing is left to process.
      await ack(ackId)
      return undefined
    }
    const recorded = toRecordedEvent(event)
    const replayed = link && (await original(recorded.stream, recorded.revision))
    return { event: replayed ?? recorded, retryCount: delivered.getRetryCount(), ackId }
  }
  async function* deliveries(): AsyncGenerator<PersistentDelivery> {
    try {
      while (!hasEnded) {
        const response = responses.take()
        const delivery = response && (await toDelivery(response))
        if (delivery !== undefined) yield delivery
        else if (response === undefined && !(await responses.more(true)) && !hasEnded)
          throw new Error('the server ended the call')
      }
    } catch (error) {
      if (!hasEnded) throw failed(error)
    } finally {
      await close()
    }
  }
  const uuids = new ReadReq.Options.UUIDOption().setString(new shared.Empty())
  const wanted = new ReadReq.Options().setAll(new shared.Empty()).setGroupName(group).setUuidOption(uuids)
  responses.call.write(new ReadReq().setOptions(wanted.setBufferSize(bufferSize)))
  try {
    while (await responses.more()) {
      if (!responses.take()?.hasSubscriptionConfirmation()) continue
      if (signal.aborted) await close()
      else signal.addEventListener('abort', close)
      return { ack, nack, close, [Symbol.asyncDispose]: close, [Symbol.asyncIterator]: deliveries }
    }
    throw new Error('the server ended the call')
  } catch (error) {
    responses.cancel()
    throw error
  }
}

function* batches(ackIds: readonly string[]) {
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
  // An id that is not a UUID would end the call for all others.
  const known = ackIds.filter((id) => uuid.test(id))
  for (let from = 0; from < known.length; from += maxIds)
    yield known.slice(from, from + maxIds).map((id) => new shared.UUID().setString(id))
}

/** The number of events that the server filters before it records the group's progress. */
const searchWindow = 32

/** Creates the groups on `$all`. Creating and consuming them requires a user of `$admins`. */
export function eventStoreDbPersistentSubscriptions(connection: Connection): PersistentSubscriptions {
  /** The prefixes of groups that were created here. The server does not return them. */
  const prefixesOf = new Map<string, readonly string[]>()
  const info: PersistentSubscriptions['info'] = async (group) => {
    const { settings, stats, connections } = await connection.call(`reading group ${group}`, (client) =>
      client.getPersistentSubscriptionToAllInfo(group),
    )
    const checkpoint = stats.lastCheckpointedEventPosition
    return {
      group,
      settings: fromWireSettings(settings, prefixesOf.get(group) ?? []),
      ...(checkpoint && { checkpoint }),
      inFlight: stats.totalInFlightMessages,
      parkedCount: Number(stats.parkedMessageCount),
      consumers: connections.length,
    }
  }
  return {
    info,
    async create(group, given = {}) {
      const settings = { ...defaultPersistentSubscriptionSettings, ...checkedSettings(given) }
      const wanted = toWireSettings(settings)
      const { wire } = streamFilter(settings.streamPrefixes)
      const options = { maxSearchWindow: searchWindow, checkpointInterval: 1 }
      // The function has an overload per kind of filter.
      const filter = wire && {
        filter: streamNameFilter({ ...options, ...wire } as Parameters<typeof streamNameFilter>[0]),
      }
      await connection.call(`creating group ${group}`, (client) =>
        client.createPersistentSubscriptionToAll(group, wanted, filter),
      )
      prefixesOf.set(group, settings.streamPrefixes)
    },
    async update(group, given) {
      const changes = checkedSettings(given)
      // The server replaces all settings.
      const wanted = toWireSettings({ ...(await info(group)).settings, ...changes })
      await connection.call(`updating group ${group}`, (client) =>
        client.updatePersistentSubscriptionToAll(group, wanted),
      )
    },
    async delete(group) {
      await connection.call(`deleting group ${group}`, (client) => client.deletePersistentSubscriptionToAll(group))
      prefixesOf.delete(group)
    },
    async consume(group, options) {
      const what = `consuming group ${group}`
      const original = async (stream: string, fromRevision: number) =>
        (await readStream(connection, stream, { fromRevision, maxCount: 1 }))[0]
      return connection.use(what, async (client) => {
        const failed = (error: unknown) => connection.failed(client, error, what)
        return openConsumer(await client.consume(what), { group, ...options, failed, original })
      })
    },
    /** The server stores parked events as links, in a stream next to the group's checkpoints, and truncates replayed ones. */
    async listParked(group, { maxCount }) {
      await info(group)
      const what = `reading the parked events of group ${group}`
      const stream = `$persistentsubscription-$all::${group}-parked`
      const request = readStreamRequest(stream, { fromRevision: 0, maxCount })
      const entries = await connection.use(what, (client) => client.readEvents(what, request))
      return entries.flatMap((entry) => toParkedEvent(entry) ?? [])
    },
    async replayParked(group, options) {
      await connection.call(`replaying the parked events of group ${group}`, (client) =>
        client.replayParkedMessagesToAll(group, options),
      )
    },
  }
}

/** Parses an entry, whose data is `<revision>@<stream>`. */
function toParkedEvent(entry: WireEvent): ParkedEvent | undefined {
  const [, revision, stream] = /^(\d+)@(.*)$/s.exec(Buffer.from(entry.getData_asU8()).toString('utf8')) ?? []
  if (revision === undefined || stream === undefined) return undefined
  const { revision: parkedRevision, metadata, recordedAtMs } = toRecordedEvent(entry)
  const addedAtMs = Date.parse(String(metadata.added))
  return {
    parkedRevision,
    stream,
    revision: Number(revision),
    reason: String(metadata.reason ?? ''),
    parkedAtMs: Number.isNaN(addedAtMs) ? recordedAtMs : addedAtMs,
  }
}
