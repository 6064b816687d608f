import {
  InvalidSettingsError,
  type ParkedEvent,
  type PersistentConsumer,
  type PersistentSubscriptionInfo,
  type PersistentSubscriptionSettings,
  type PersistentSubscriptions,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../event-log-types.js'
import { parseObject } from '../file/event-body.js'
import { toPosition } from '../file/positions.js'
import type { Log } from '../log.js'
import { EmbeddedConsumer } from './embedded-consumer.js'
import { type GroupSettings, type StoredGroup, wholeLog } from './group-definition.js'
import type { GroupLog } from './group-log.js'
import { Groups } from './groups.js'
import { PrefixSource } from './prefix-source.js'

const nameOf = (group: string) => ({ source: wholeLog, group })
/** The settings that only clients of the protocol use. */
const protocolSettings = { resolveLinks: false, extraStatistics: false }

/** The service's persistent subscriptions, which are groups on the whole log. */
export class EmbeddedPersistentSubscriptions implements PersistentSubscriptions {
  #opened: Groups<RecordedEvent> | undefined

  constructor(private readonly log: Log) {}

  /** The groups, loaded at their first use, because most threads and commands do not use them. */
  get #groups(): Groups<RecordedEvent> {
    this.#opened ??= new Groups({
      log: groupLogOf(this.log),
      sourceOf: ({ filter }) => new PrefixSource(this.log, filter?.prefixes ?? []),
      isServer: false,
      onFault: () => {}, // the group's consumers receive the error
    })
    return this.#opened
  }

  async create(group: string, settings: PersistentSubscriptionSettings): Promise<void> {
    const { streamPrefixes: prefixes } = settings
    await this.#groups.create({
      ...nameOf(group),
      madeBy: 'service',
      settings: groupSettings(settings),
      ...(prefixes.length > 0 && { filter: { on: 'stream', prefixes } }),
    })
  }

  async update(group: string, settings: PersistentSubscriptionSettings): Promise<void> {
    await this.#groups.update(nameOf(group), groupSettings(settings))
  }

  async delete(group: string): Promise<void> {
    await this.#groups.delete(nameOf(group))
  }

  async info(group: string): Promise<PersistentSubscriptionInfo> {
    const { stored, checkpoint, parkedCount, running } = await this.#groups.info(nameOf(group))
    return {
      group,
      settings: portSettings(stored),
      ...(checkpoint !== undefined && { checkpoint: toPosition(checkpoint) }),
      inFlight: running?.group.inFlight ?? 0,
      parkedCount,
      consumers: running?.members.length ?? 0,
    }
  }

  async consume(
    group: string,
    { bufferSize, signal }: { readonly bufferSize: number; readonly signal: AbortSignal },
  ): Promise<PersistentConsumer> {
    if (!Number.isSafeInteger(bufferSize) || bufferSize < 0) {
      throw new InvalidSettingsError(`bufferSize must be a whole number from 0, not ${bufferSize}`)
    }
    const consumer = new EmbeddedConsumer(bufferSize)
    await this.#groups.consume(nameOf(group), consumer)
    consumer.closeOn(signal)
    return consumer
  }

  async listParked(group: string, options: { readonly maxCount: number }): Promise<readonly ParkedEvent[]> {
    return this.#groups.listParked(nameOf(group), options.maxCount)
  }

  async replayParked(group: string, options: { readonly stopAt?: number } = {}): Promise<void> {
    await this.#groups.replayParked(nameOf(group), options.stopAt)
  }

  /** Ends all consumers and releases the groups. */
  async close(): Promise<void> {
    await this.#opened?.close()
  }
}

function groupSettings(settings: PersistentSubscriptionSettings): GroupSettings {
  const { startFrom, streamPrefixes: _, consumerStrategy: strategy, ...numbers } = settings
  if (typeof startFrom !== 'string' && startFrom.prepare > startFrom.commit)
    throw new InvalidSettingsError('the prepare half of a position cannot be greater than its commit half')
  const from = typeof startFrom === 'string' ? startFrom : Number(startFrom.commit)
  return { ...numbers, ...protocolSettings, startFrom: from, strategy }
}

function portSettings({ settings, filter }: StoredGroup): PersistentSubscriptionSettings {
  const { startFrom, startText: _, resolveLinks: __, extraStatistics: ___, strategy, ...numbers } = settings
  return {
    ...numbers,
    startFrom: typeof startFrom === 'string' ? startFrom : toPosition(startFrom),
    streamPrefixes: filter?.on === 'stream' ? filter.prefixes : [],
    consumerStrategy: strategy === 'PinnedByCorrelation' ? 'Pinned' : strategy,
  }
}

/** Returns a log that stores the groups' events like the service's own events, with an empty object instead of no metadata. */
function groupLogOf(log: Log): GroupLog {
  const object = (bytes: Uint8Array) => parseObject(bytes) ?? {}
  return {
    directory: log.directory,
    reader: log.reader,
    append: async (stream, expected, events) => {
      const plainEvents = events.map(({ id, type, data, metadata }) => {
        return { id, type, data: object(data), metadata: object(metadata) }
      })
      try {
        const { revision } = await log.append(stream, expected, plainEvents)
        return { kind: 'ok', revision }
      } catch (error) {
        if (!(error instanceof WrongExpectedRevisionError)) throw error
        return { kind: 'wrong_revision', actual: log.reader.lastRevision(stream) }
      }
    },
  }
}
