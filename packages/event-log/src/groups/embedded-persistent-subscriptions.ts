import Denque from 'denque'
import {
  checkedSettings,
  defaultPersistentSubscriptionSettings,
  InvalidSettingsError,
  type NackAction,
  type ParkedEvent,
  type PersistentConsumer,
  type PersistentDelivery,
  type PersistentSubscriptionInfo,
  type PersistentSubscriptionSettings,
  type PersistentSubscriptions,
  type RecordedEvent,
  StreamDeletedError,
  WrongExpectedRevisionError,
} from '../event-log-types.js'
import { parseObject, toPosition } from '../file/event-body.js'
import type { Log } from '../log.js'
import type { StoredEvent } from '../reader/stored-event.js'
import type { Delivered } from './group.js'
import { type GroupSettings, type StoredGroup, wholeLog } from './group-definition.js'
import type { GroupLog } from './group-rules.js'
import { type GroupSource, parseLink, type SourcePage } from './group-source.js'
import { Groups } from './groups.js'
import type { GroupConsumer, Membership } from './running-group.js'

/** The parts of a log that its persistent subscriptions use. */
export interface SubscribedLog
  extends Pick<Log, 'append' | 'readAll' | 'readStream'>,
    Pick<GroupLog, 'reader' | 'locks'> {
  readonly commits: Pick<Log['commits'], 'waitForCommit'>
}

/** The approximate size of the service's events. They are similar, so measuring each of them is not worth its cost. */
const serviceEventSize = 2_048

/** Reads the events of streams whose names start with one of the prefixes, or of all streams except system streams. */
class PrefixSource implements GroupSource<RecordedEvent> {
  readonly hasEnded = false

  constructor(
    private readonly log: SubscribedLog,
    private readonly prefixes: readonly string[],
  ) {}

  async read(after: number, maxCount: number): Promise<SourcePage<RecordedEvent>> {
    const page = await this.log.readAll({
      maxCount,
      after: toPosition(after),
      ...(this.prefixes.length > 0 && { streamPrefixes: this.prefixes }),
    })
    return {
      items: page.events.map((event) => ({
        event,
        id: event.id,
        position: Number(event.position.commit),
        lane: event.stream,
        size: serviceEventSize,
      })),
      through: Math.max(after, Number(page.checkpoint?.commit ?? 0n)),
      unmatched: 0,
      atEnd: page.atEnd,
    }
  }

  async listen(wake: () => void, signal: AbortSignal): Promise<void> {
    let seen = 0
    while (!signal.aborted) {
      await this.log.commits.waitForCommit(seen, signal)
      seen = this.log.reader.lastPosition()
      wake()
    }
  }

  /** Counts no system events: a checkpoint is a system event and would cause the next one, forever. */
  async countUnmatched(after: number, through: number, maxCount: number): Promise<{ count: number; seen: number }> {
    if (this.prefixes.length === 0) return { count: 0, seen: through }
    const page = await this.log.readAll({ maxCount, after: toPosition(after) })
    const unmatched = page.events.filter(
      ({ stream, position }) =>
        Number(position.commit) <= through && !this.prefixes.some((prefix) => stream.startsWith(prefix)),
    )
    return { count: unmatched.length, seen: Math.min(through, Number(page.checkpoint?.commit ?? 0n)) }
  }

  parkedAs({ stream, revision }: RecordedEvent): { link: string; number: number } {
    return { link: `${revision}@${stream}`, number: revision }
  }

  async original(_parked: StoredEvent, link: string): Promise<RecordedEvent | undefined> {
    const { stream, revision } = parseLink(link)
    const [event] = await this.log.readStream(stream, { fromRevision: revision, maxCount: 1 })
    return event
  }

  laneOf({ stream }: RecordedEvent): string {
    return stream
  }
}

interface PendingRead {
  resolve(result: IteratorResult<PersistentDelivery>): void
  reject(error: Error): void
}

const finished: IteratorResult<PersistentDelivery> = { done: true, value: undefined }

/** Buffers deliveries. The group never has more of them in flight than the buffer size. */
class EmbeddedConsumer implements PersistentConsumer, AsyncIterator<PersistentDelivery>, GroupConsumer<RecordedEvent> {
  readonly #queue = new Denque<PersistentDelivery>()
  #membership: Membership<RecordedEvent> | undefined
  #pending: PendingRead | undefined
  #stopListening: (() => void) | undefined
  #hasEnded = false
  #error: Error | undefined

  constructor(readonly bufferSize: number) {}

  joined(membership: Membership<RecordedEvent>): void {
    this.#membership = membership
  }

  closeOn(signal: AbortSignal): void {
    const close = () => void this.close()
    if (signal.aborted) close()
    else signal.addEventListener('abort', close)
    this.#stopListening = () => signal.removeEventListener('abort', close)
  }

  deliver({ event, retryCount, ackId }: Delivered<RecordedEvent>): void {
    const delivery = { event, retryCount, ackId }
    const pending = this.#pending
    if (!pending) {
      this.#queue.push(delivery)
      return
    }
    this.#pending = undefined
    pending.resolve({ done: false, value: delivery })
  }

  /** Ends the consumer. The group redelivers the events that are still buffered. */
  end(error?: Error): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#error = error
    this.#stopListening?.()
    this.#queue.clear()
    const pending = this.#pending
    this.#pending = undefined
    if (error) pending?.reject(error)
    else pending?.resolve(finished)
  }

  async ack(...ackIds: string[]): Promise<void> {
    this.#membership?.ack(ackIds)
  }

  async nack(action: NackAction, reason: string, ...ackIds: string[]): Promise<void> {
    this.#membership?.nack(action, reason, ackIds)
  }

  async close(): Promise<void> {
    if (this.#hasEnded) return
    this.end()
    this.#membership?.leave()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  [Symbol.asyncIterator](): AsyncIterator<PersistentDelivery> {
    return this
  }

  /** Returns the next delivery. It is not an async function, so that a buffered delivery costs a single settled promise. */
  next(): Promise<IteratorResult<PersistentDelivery>> {
    const delivery = this.#queue.shift()
    if (delivery) return Promise.resolve({ done: false, value: delivery })
    if (this.#error) return Promise.reject(this.#error)
    if (this.#hasEnded) return Promise.resolve(finished)
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
    })
  }

  async return(): Promise<IteratorResult<PersistentDelivery>> {
    await this.close()
    return finished
  }
}

const nameOf = (group: string) => ({ source: wholeLog, group })
/** The settings that only clients of the protocol use. */
const protocolSettings = { resolveLinks: false, extraStatistics: false }

/** The service's persistent subscriptions, which are groups on the whole log. */
export class EmbeddedPersistentSubscriptions implements PersistentSubscriptions {
  #opened: Groups<RecordedEvent> | undefined

  constructor(private readonly log: SubscribedLog) {}

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

  async create(group: string, settings: Partial<PersistentSubscriptionSettings> = {}): Promise<void> {
    const complete = { ...defaultPersistentSubscriptionSettings, ...checkedSettings(settings) }
    const { streamPrefixes: prefixes } = complete
    await this.#groups.create({
      ...nameOf(group),
      madeBy: 'service',
      settings: { ...protocolSettings, ...groupSettings(complete) },
      ...(prefixes.length > 0 && { filter: { on: 'stream', prefixes } }),
    })
  }

  async update(group: string, settings: Partial<PersistentSubscriptionSettings>): Promise<void> {
    const { startFrom, consumerStrategy: strategy, streamPrefixes: _, ...numbers } = checkedSettings(settings)
    await this.#groups.update(nameOf(group), {
      ...numbers,
      ...(startFrom !== undefined && { startFrom: logStart(startFrom) }),
      ...(strategy !== undefined && { strategy }),
    })
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

function groupSettings({
  startFrom,
  streamPrefixes: _,
  consumerStrategy: strategy,
  ...numbers
}: PersistentSubscriptionSettings) {
  return { ...numbers, startFrom: logStart(startFrom), strategy }
}

function logStart(start: PersistentSubscriptionSettings['startFrom']): GroupSettings['startFrom'] {
  return typeof start === 'string' ? start : Number(start.commit)
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
function groupLogOf(log: SubscribedLog): GroupLog {
  const object = (bytes: Uint8Array) => parseObject(bytes) ?? {}
  return {
    reader: log.reader,
    locks: log.locks,
    append: async (stream, expected, events) => {
      const plainEvents = events.map(({ id, type, data, metadata }) => {
        return { id, type, data: object(data), metadata: object(metadata) }
      })
      try {
        const { revision } = await log.append(stream, expected, plainEvents)
        return { kind: 'ok', revision }
      } catch (error) {
        if (error instanceof StreamDeletedError) return { kind: 'deleted' }
        if (!(error instanceof WrongExpectedRevisionError)) throw error
        return { kind: 'wrong_revision', actual: log.reader.lastRevision(stream) }
      }
    },
  }
}
