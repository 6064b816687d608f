import { EmbeddedPersistentSubscriptions, type ProcessLock, type SubscribedLog } from '@transferd/event-log/groups'
import {
  anyTimeMs,
  type Batch,
  checkCount,
  completeRange,
  decideAppend,
  encodeAppend,
  parseBody,
  reservedKeys,
  toPosition,
} from '@transferd/event-log/rules'
import { decodeBody, type StoredEvent } from '@transferd/event-log/streams'
import {
  type AppendResult,
  type EventLog,
  type EventPlace,
  type EventStore,
  KeyReservedError,
  type LogAppend,
  maxStreamPrefixes,
  type Page,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  StoreUnavailableError,
  type StreamRange,
  type SubscribeToAllOptions,
  WrongExpectedRevisionError,
} from '../../../src/event-store/event-store.js'

const defaultPageSize = 500
const unparsedPageSize = 256

/** One node's connection to a log. */
interface MemoryEventStore extends EventStore {
  /**
   * Ends the connection as the death of its process does: its groups are free immediately, and it writes nothing afterwards. No promise of the
   * connection settles afterwards, because the code of a dead process does not continue; its consumers end.
   */
  crash(): void
}

interface Lock {
  readonly epoch: number
  holder: Connection | undefined
}

/** A log in memory, which survives its connections. All operations are synchronous. */
export class MemoryLog {
  readonly #events: RecordedEvent[] = []
  readonly #streams = new Map<string, RecordedEvent[]>()
  readonly #ownerOfKey = new Map<string, string>()
  readonly #connections = new Set<Connection>()
  readonly #locks = new Map<string, Lock>()

  open(): MemoryEventStore {
    const connection = new Connection(this)
    this.#connections.add(connection)
    return connection.store()
  }

  /** All events in their global order. */
  get events(): readonly RecordedEvent[] {
    return this.#events
  }

  snapshot(): readonly RecordedEvent[] {
    return this.#events.slice()
  }

  /** Replaces all events. Every connection must have been closed or crashed: it would remember the groups of the replaced events. */
  restore(snapshot: readonly RecordedEvent[]): void {
    this.#events.length = 0
    this.#streams.clear()
    this.#ownerOfKey.clear()
    for (const event of snapshot) this.#add(event)
  }

  /** @throws like `EventLog.appendInOrder` */
  append(appends: readonly LogAppend[]): readonly AppendResult[] {
    const encoded = appends.map(bodiesOf)
    try {
      return appends.map((append, n) => this.#append(append, encoded[n]!))
    } finally {
      for (const connection of this.#connections) connection.wake()
    }
  }

  #append({ stream, expectedRevision, reserves = [], reservedFor = stream }: LogAppend, bodies: readonly string[]) {
    const events = this.#streams.get(stream) ?? []
    const current = events.length - 1
    const state = { current, isTombstoned: false, isSoftDeleted: false, hasMetadata: this.#streams.has(`$$${stream}`) }
    const contents = bodies.map(parseBody)
    const ids = contents.map(([id]) => id)
    const decision = decideAppend(expectedRevision, ids, state, {
      matchFrom: (revision, ids) => ids.every((id, n) => events[revision + n]?.id === id),
      firstRevisionOf: (id) => events.find((event) => event.id === id)?.revision,
    })
    if (decision.kind === 'already_stored')
      return { revision: decision.revision, position: events[decision.revision]!.position }
    if (decision.kind !== 'write')
      throw new WrongExpectedRevisionError(stream, expectedRevision, current < 0 ? 'no_stream' : current)
    if (reserves.some((key) => (this.#ownerOfKey.get(key) ?? reservedFor) !== reservedFor))
      throw new KeyReservedError(stream)
    const recordedAtMs = Date.now()
    for (const [n, [id, type, data, metadata]] of contents.entries()) {
      const place = { stream, revision: current + 1 + n, position: toPosition(this.#events.length + 1) }
      this.#add({ id, type, data, metadata, ...place, recordedAtMs, text: bodies[n]! })
    }
    return { revision: Math.max(0, current + bodies.length), position: toPosition(this.#events.length) }
  }

  #add(event: RecordedEvent): void {
    const { stream, revision, metadata } = event
    this.#events.push(event)
    if (revision > 0) {
      this.#streams.get(stream)!.push(event)
      return
    }
    this.#streams.set(stream, [event])
    const { owner, keys } = reservedKeys(stream, metadata) ?? { owner: stream, keys: [] }
    for (const key of keys) this.#ownerOfKey.set(key, owner)
  }

  stream(name: string): readonly RecordedEvent[] {
    return this.#streams.get(name) ?? []
  }

  page({ after, streamPrefixes, maxCount }: ReadAllOptions): Page {
    if (streamPrefixes && streamPrefixes.length > maxStreamPrefixes)
      throw new RangeError(`${streamPrefixes.length} stream prefixes exceed the limit of ${maxStreamPrefixes}`)
    const events: RecordedEvent[] = []
    let through = Number(after?.commit ?? 0n)
    while (through < this.#events.length && events.length < maxCount) {
      const event = this.#events[through++]!
      if (isCovered(event.stream, streamPrefixes)) events.push(event)
    }
    const atEnd = through >= this.#events.length
    return { events, atEnd, ...(through > 0 && { checkpoint: toPosition(through) }) }
  }

  tryTake(name: string, holder: Connection): ProcessLock | undefined {
    const last = this.#locks.get(name)
    if (last?.holder) return undefined
    const lock: Lock = { epoch: (last?.epoch ?? 0) + 1, holder }
    this.#locks.set(name, lock)
    return {
      epoch: lock.epoch,
      release: () => {
        lock.holder = undefined
      },
    }
  }

  isTaken(name: string): boolean {
    return this.#locks.get(name)?.holder !== undefined
  }

  /** Forgets a connection with its locks. */
  disconnect(connection: Connection): void {
    this.#connections.delete(connection)
    for (const lock of this.#locks.values()) if (lock.holder === connection) lock.holder = undefined
  }
}

/** Returns the stored texts of the events. @throws AppendTooLargeError, TypeError */
function bodiesOf(append: LogAppend): readonly string[] {
  const batch: Batch = []
  encodeAppend(append, batch)
  // The stream, its expected revision and two counts precede the bodies.
  return batch.slice(4, 4 + append.events.length) as string[]
}

function isCovered(stream: string, prefixes: readonly string[] = ['']): boolean {
  return prefixes.some((prefix) => (prefix === '' ? !stream.startsWith('$') : stream.startsWith(prefix)))
}

/** Returns the events of a range of a stream. */
function slice(
  events: readonly RecordedEvent[],
  { direction, fromRevision, maxCount }: Required<ReadStreamOptions>,
): readonly RecordedEvent[] {
  if (direction === 'forwards') return events.slice(fromRevision, fromRevision + maxCount)
  const end = Math.min(fromRevision + 1, events.length)
  return events.slice(Math.max(0, end - maxCount), end).reverse()
}

function storedOf({ text, stream, revision, position, recordedAtMs }: RecordedEvent): StoredEvent {
  return { ...decodeBody(text!), stream, revision, position: Number(position.commit), recordedAtMs }
}

class Connection implements SubscribedLog {
  #state: 'open' | 'closed' | 'crashed' = 'open'
  readonly #waiting = new Set<(error?: Error) => void>()
  readonly #subscriptions = new EmbeddedPersistentSubscriptions(this)

  constructor(private readonly log: MemoryLog) {}

  /** Returns an object with own functions, which decorators copy. */
  store(): MemoryEventStore {
    const { log } = this
    const store: EventLog & Pick<MemoryEventStore, 'crash'> = {
      append: this.append,
      appendInOrder: (appends) => this.#run(() => log.append(appends)),
      readStream: this.readStream,
      readEvents: (places) => this.#run(() => places.flatMap((place) => this.#eventAt(place))),
      readAll: this.readAll,
      readUnparsed: ({ maxCount = unparsedPageSize, ...from }) =>
        this.readAll({ maxCount, ...from }).then(({ events, ...page }) => ({
          ...page,
          events: events.map(({ id: _, type: __, data: ___, metadata: ____, ...unparsed }) => unparsed),
        })),
      readPlaces: (ranges) => this.#run(() => ranges.map((range) => this.#placesIn(range))),
      subscribeToAll: (options) => this.#subscribe(options),
      persistentSubscriptions: this.#subscriptions,
      close: () => this.#close(),
      crash: () => this.#crash(),
    }
    return store as MemoryEventStore
  }

  readonly append: EventLog['append'] = (stream, expectedRevision, events) =>
    this.#run(() => this.log.append([{ stream, expectedRevision, events }])[0]!)

  readonly readStream: EventLog['readStream'] = (stream, options) =>
    this.#run(() => slice(this.log.stream(stream), completeRange(options)))

  readonly readAll: EventLog['readAll'] = (options) =>
    this.#run(() => {
      checkCount('maxCount', options.maxCount, 1)
      return this.log.page(options)
    })

  /** The reads of the groups, whose streams have no metadata. The number of a stream is the position of its first event. */
  readonly reader: SubscribedLog['reader'] = {
    lastPosition: () => this.log.events.length,
    lastRevision: (stream) => this.log.stream(stream).length - 1,
    last: (stream) => this.log.stream(stream).slice(-1).map(storedOf)[0],
    view: (stream) => {
      const events = this.log.stream(stream)
      const [current, number] = [events.length - 1, Number(events[0]?.position.commit ?? 0n)]
      return { isTombstoned: false, isMissing: current < 0, current, first: 0, notBeforeMs: anyTimeMs, number }
    },
    streamPage: ({ number }, direction, fromRevision, maxCount) => {
      const first = this.log.events[number - 1]
      return first ? slice(this.log.stream(first.stream), { direction, fromRevision, maxCount }).map(storedOf) : []
    },
  }

  readonly locks: SubscribedLog['locks'] = {
    tryTake: (name) => this.log.tryTake(name, this),
    isTaken: (name) => this.log.isTaken(name),
  }

  readonly commits: SubscribedLog['commits'] = {
    waitForCommit: async (after, signal) => {
      if (signal.aborted || this.log.events.length > after) return
      await new Promise<void>((resolve, reject) => {
        const settle = (error?: Error) => {
          this.#waiting.delete(settle)
          signal.removeEventListener('abort', onAbort)
          if (error) reject(error)
          else resolve()
        }
        const onAbort = () => settle()
        this.#waiting.add(settle)
        signal.addEventListener('abort', onAbort)
      })
    },
  }

  /** Wakes everything that waits for events. */
  wake(): void {
    for (const settle of this.#waiting) settle()
  }

  async #run<T>(operation: () => T): Promise<T> {
    if (this.#state === 'crashed') return new Promise<never>(() => {})
    if (this.#state === 'closed') throw closedError()
    return operation()
  }

  #eventAt({ stream, revision, position }: EventPlace): readonly RecordedEvent[] {
    const event = this.log.events[Number(position.commit) - 1]
    return event?.stream === stream && event.revision === revision ? [event] : []
  }

  #placesIn({ stream, ...range }: StreamRange): readonly EventPlace[] {
    const events = slice(this.log.stream(stream), { direction: 'forwards', ...range })
    return events.map(({ revision, position }) => ({ stream, revision, position }))
  }

  #subscribe({ after, pageSize = defaultPageSize, signal, ...filter }: SubscribeToAllOptions): AsyncIterable<Page> {
    checkCount('pageSize', pageSize, 1)
    // Determine the end now: events that are appended before the first page is read belong to the subscriber.
    const from = after === 'end' ? toPosition(this.log.events.length) : after
    return this.#follow(from, { ...filter, maxCount: pageSize }, signal)
  }

  async *#follow(from: ReadAllOptions['after'], options: ReadAllOptions, signal: AbortSignal): AsyncGenerator<Page> {
    let after = from
    let hasReachedEnd = false
    while (!signal.aborted) {
      const page = await this.readAll(after === undefined ? options : { ...options, after })
      if (signal.aborted) return
      after = page.checkpoint
      if (page.events.length > 0 || !hasReachedEnd) yield page
      hasReachedEnd ||= page.atEnd
      if (page.atEnd) await this.commits.waitForCommit(Number(after?.commit ?? 0n), signal)
    }
  }

  async #close(): Promise<void> {
    if (this.#state !== 'open') return
    await this.#subscriptions.close()
    this.#state = 'closed'
    this.log.disconnect(this)
    for (const settle of this.#waiting) settle(closedError())
  }

  #crash(): void {
    if (this.#state !== 'open') return
    this.#state = 'crashed'
    this.log.disconnect(this)
    // This ends the consumers and stops the timers of the groups. Their last checkpoints are never written.
    void this.#subscriptions.close()
  }
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('the event store is closed')
}
