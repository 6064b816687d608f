import {
  InvalidSettingsError,
  type ParkedEvent,
  type PersistentConsumer,
  type PersistentSubscriptionInfo,
  type PersistentSubscriptionSettings,
  type PersistentSubscriptions,
  type Position,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../event-log-types.js'
import { parseObject } from '../file/event-body.js'
import type { Log } from '../log.js'
import { Consumer } from './embedded-consumer.js'
import { type GroupSettings, type StoredGroup, wholeLog } from './group-definition.js'
import type { GroupLog } from './group-log.js'
import { Groups } from './groups.js'
import { PrefixSource } from './prefix-source.js'

const ofAll = (group: string) => ({ source: wholeLog, group })
/** What only clients of the protocol ask for. */
const plain = { resolveLinks: false, extraStatistics: false }

/** The service's persistent subscriptions: groups on the whole log. */
export class EmbeddedPersistentSubscriptions implements PersistentSubscriptions {
  #opened: Groups<RecordedEvent> | undefined

  constructor(private readonly log: Log) {}

  /** Most threads and commands have nothing to do with groups: what these need is opened by the first that has. */
  get #groups(): Groups<RecordedEvent> {
    this.#opened ??= new Groups({
      log: groupLogOf(this.log),
      sourceOf: ({ filter }) => new PrefixSource(this.log, filter?.prefixes ?? []),
      isServer: false,
      onFault: () => {}, // whoever consumes the group is told
    })
    return this.#opened
  }

  async create(group: string, settings: PersistentSubscriptionSettings): Promise<void> {
    const { streamPrefixes: prefixes } = settings
    await this.#groups.create({
      ...ofAll(group),
      madeBy: 'service',
      settings: groupSettings(settings),
      ...(prefixes.length > 0 && { filter: { on: 'stream', prefixes } }),
    })
  }

  async update(group: string, settings: PersistentSubscriptionSettings): Promise<void> {
    await this.#groups.update(ofAll(group), groupSettings(settings))
  }

  async delete(group: string): Promise<void> {
    await this.#groups.delete(ofAll(group))
  }

  async info(group: string): Promise<PersistentSubscriptionInfo> {
    const { stored, checkpoint, parkedCount, running } = await this.#groups.info(ofAll(group))
    return {
      group,
      settings: portSettings(stored),
      ...(checkpoint !== undefined && { checkpoint: positionAt(checkpoint) }),
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
      throw new InvalidSettingsError(`a buffer of ${bufferSize} events cannot be`)
    }
    const consumer = new Consumer(bufferSize)
    await this.#groups.consume(ofAll(group), consumer)
    consumer.closeOn(signal)
    return consumer
  }

  async listParked(group: string, options: { readonly maxCount: number }): Promise<readonly ParkedEvent[]> {
    return this.#groups.listParked(ofAll(group), options.maxCount)
  }

  async replayParked(group: string, options: { readonly stopAt?: number } = {}): Promise<void> {
    await this.#groups.replayParked(ofAll(group), options.stopAt)
  }

  /** Ends all consumers and releases the groups. */
  async close(): Promise<void> {
    await this.#opened?.close()
  }
}

function positionAt(place: number): Position {
  return { commit: BigInt(place), prepare: BigInt(place) }
}

function groupSettings(settings: PersistentSubscriptionSettings): GroupSettings {
  const { startFrom, streamPrefixes: _, consumerStrategy: strategy, ...numbers } = settings
  if (typeof startFrom === 'string') return { ...numbers, ...plain, startFrom, strategy }
  if (startFrom.prepare > startFrom.commit) throw new InvalidSettingsError('a position cannot be prepared after it')
  return { ...numbers, ...plain, startFrom: Number(startFrom.commit), strategy }
}

function portSettings({ settings, filter }: StoredGroup): PersistentSubscriptionSettings {
  const { startFrom, startText: _, resolveLinks: __, extraStatistics: ___, strategy, ...numbers } = settings
  return {
    ...numbers,
    startFrom: typeof startFrom === 'string' ? startFrom : positionAt(startFrom),
    streamPrefixes: filter?.on === 'stream' ? filter.prefixes : [],
    consumerStrategy: strategy === 'PinnedByCorrelation' ? 'Pinned' : strategy,
  }
}

/** What groups append has the form of the service's own events: what has no metadata has an empty object. */
function groupLogOf(log: Log): GroupLog {
  const object = (bytes: Uint8Array) => parseObject(bytes) ?? {}
  return {
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
    tryLock: (name) => log.tryLock(name),
    isLocked: (name) => log.isLocked(name),
  }
}
