import { streamNameFilter } from '@eventstore/db-client'
import type {
  ParkedEvent,
  PersistentConsumer,
  PersistentSubscriptionInfo,
  PersistentSubscriptionSettings,
  PersistentSubscriptions,
} from '../event-store.js'
import { Consumer } from './consumer.js'
import type { Connection } from './eventstoredb-connection.js'
import { fromWireSettings, toWireSettings } from './group-settings.js'
import { readStream } from './read-stream.js'
import { toRecordedEvent, type WireEvent } from './recorded-event.js'
import { readStreamRequest } from './requests.js'
import { streamFilter } from './stream-filter.js'

/** The number of events that the server filters before it records the group's progress. */
const searchWindow = 32

/** Groups on `$all`. Creating and consuming them requires a user of `$admins`. */
export class EventStoreDbPersistentSubscriptions implements PersistentSubscriptions {
  /** The prefixes of groups that were created here. The server does not return them. */
  readonly #streamPrefixes = new Map<string, readonly string[]>()

  constructor(private readonly connection: Connection) {}

  async create(group: string, settings: PersistentSubscriptionSettings): Promise<void> {
    const wanted = toWireSettings(settings)
    const { wire } = streamFilter(settings.streamPrefixes)
    const options = { maxSearchWindow: searchWindow, checkpointInterval: 1 }
    const filter =
      wire === undefined
        ? undefined
        : 'regex' in wire
          ? streamNameFilter({ ...options, regex: wire.regex })
          : streamNameFilter({ ...options, prefixes: [...wire.prefixes] })
    await this.connection.call(`creating group ${group}`, (client) =>
      client.createPersistentSubscriptionToAll(group, wanted, filter ? { filter } : {}),
    )
    this.#streamPrefixes.set(group, settings.streamPrefixes)
  }

  async update(group: string, settings: PersistentSubscriptionSettings): Promise<void> {
    const wanted = toWireSettings(settings)
    await this.connection.call(`updating group ${group}`, (client) =>
      client.updatePersistentSubscriptionToAll(group, wanted),
    )
  }

  async delete(group: string): Promise<void> {
    await this.connection.call(`deleting group ${group}`, (client) => client.deletePersistentSubscriptionToAll(group))
    this.#streamPrefixes.delete(group)
  }

  async info(group: string): Promise<PersistentSubscriptionInfo> {
    const { settings, stats, connections } = await this.connection.call(`reading group ${group}`, (client) =>
      client.getPersistentSubscriptionToAllInfo(group),
    )
    const checkpoint = stats.lastCheckpointedEventPosition
    return {
      group,
      settings: fromWireSettings(settings, this.#streamPrefixes.get(group) ?? []),
      ...(checkpoint && { checkpoint }),
      inFlight: stats.totalInFlightMessages,
      parkedCount: Number(stats.parkedMessageCount),
      consumers: connections.length,
    }
  }

  async consume(
    group: string,
    options: { readonly bufferSize: number; readonly signal: AbortSignal },
  ): Promise<PersistentConsumer> {
    const { connection } = this
    const what = `consuming group ${group}`
    const original = async (stream: string, fromRevision: number) =>
      (await readStream(connection, stream, { fromRevision, maxCount: 1 }))[0]
    return connection.use(what, async (client) => {
      const failed = (error: unknown) => connection.failed(client, error, what)
      return Consumer.open(await client.consume(what), { group, ...options, failed, original })
    })
  }

  /** The server stores parked events as links, in a stream next to the group's checkpoints, and truncates replayed ones. */
  async listParked(group: string, { maxCount }: { readonly maxCount: number }): Promise<readonly ParkedEvent[]> {
    await this.info(group)
    const what = `reading the parked events of group ${group}`
    const request = readStreamRequest(`$persistentsubscription-$all::${group}-parked`, 'forwards', 0, maxCount)
    const entries = await this.connection.use(what, (client) => client.readEvents(what, request))
    return entries.flatMap((entry) => toParkedEvent(entry) ?? [])
  }

  async replayParked(group: string, options: { readonly stopAt?: number } = {}): Promise<void> {
    const { stopAt } = options
    await this.connection.call(`replaying the parked events of group ${group}`, (client) =>
      client.replayParkedMessagesToAll(group, stopAt === undefined ? {} : { stopAt }),
    )
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
