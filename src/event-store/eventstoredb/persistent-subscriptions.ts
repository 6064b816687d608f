import { streamNameFilter } from '@eventstore/db-client'
import type {
  ParkedEvent,
  PersistentConsumer,
  PersistentSubscriptionInfo,
  PersistentSubscriptionSettings,
  PersistentSubscriptions,
  ReadStreamOptions,
  RecordedEvent,
} from '../event-store.js'
import type { Connection } from './connection.js'
import { Consumer } from './consumer.js'
import { fromWireSettings, toWireSettings } from './group-settings.js'
import { parkedEvents } from './parked-events.js'
import { streamFilter } from './stream-filter.js'
import { within } from './within.js'

/** The server looks at so many events at a time before it notes how far the group has come. */
const searchWindow = 32

type ReadStream = (stream: string, options: ReadStreamOptions) => Promise<readonly RecordedEvent[]>

/** Groups on `$all`. Creating and consuming them needs a user of `$admins`. */
export class EventStoreDbPersistentSubscriptions implements PersistentSubscriptions {
  /** The server does not tell: known of groups made here. */
  readonly #streamPrefixes = new Map<string, readonly string[]>()

  constructor(
    private readonly connection: Connection,
    private readonly readStream: ReadStream,
  ) {}

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
    const { settings, stats, connections } = await this.connection.call(`asking about group ${group}`, (client) =>
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
    const { client, deadlineMs } = this.connection
    const what = `consuming group ${group}`
    const failed = (error: unknown) => this.connection.failed(client, error, what)
    const original = async (stream: string, fromRevision: number) =>
      (await this.readStream(stream, { fromRevision, maxCount: 1 }))[0]
    try {
      const call = await within(deadlineMs, what, client.consume())
      return await Consumer.open(call, { group, ...options, deadlineMs, failed, original })
    } catch (error) {
      throw failed(error)
    }
  }

  async listParked(group: string, options: { readonly maxCount: number }): Promise<readonly ParkedEvent[]> {
    await this.info(group)
    const { client } = this.connection
    const what = `reading what group ${group} has parked`
    return this.connection.call(what, () => parkedEvents(client, group, options.maxCount, this.connection.deadlineMs))
  }

  async replayParked(group: string, options: { readonly stopAt?: number } = {}): Promise<void> {
    const { stopAt } = options
    await this.connection.call(`replaying what group ${group} has parked`, (client) =>
      client.replayParkedMessagesToAll(group, stopAt === undefined ? {} : { stopAt }),
    )
  }
}
