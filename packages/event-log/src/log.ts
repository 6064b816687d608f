import { type FSWatcher, watch } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Append,
  type AppendResult,
  type EventPlace,
  type ExpectedRevision,
  type Page,
  type Position,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  StoreUnavailableError,
  StreamDeletedError,
  type StreamRange,
  type SubscribeToAllOptions,
  type SubscribeToStreamOptions,
  type UnparsedEvent,
} from './event-log-types.js'
import { toPosition } from './file/event-body.js'
import { walPath } from './file/log-file.js'
import { LogReader, scanWindow } from './reader/log-reader.js'
import { StreamActivity } from './reader/stream-activity.js'
import { WriterClient } from './writer/writer-client.js'

/** The interval of checks for appends of other processes while the log grows. */
const pollMs = 40
/** The interval while the log is idle. A change of the file wakes the watcher earlier; these checks are a fallback. */
const idlePollMs = 1_000
/** The number of checks without news after which the file is watched. */
const watchAfterChecks = 20
/** The number of checks without news after which the file watch is relied on: commits from before its start are visible by then. */
const idleAfterChecks = 25

interface Waiter {
  readonly after: number
  readonly settle: (error?: Error) => void
}

/**
 * Wakes readers when the log grows. The process's own writer notifies it. For appends of other processes, it polls the log and watches
 * the write-ahead log, which every commit changes first.
 */
export class CommitWatcher {
  readonly #waiters = new Set<Waiter>()
  #committed = 0
  #committedAtCheck = 0
  #checksWithoutNews = 0
  #nextCheck: NodeJS.Timeout | undefined
  #watcher: FSWatcher | undefined
  #isClosed = false

  constructor(
    private readonly walPath: string,
    private readonly lastPosition: () => number,
  ) {}

  /** Records that the log is committed up to this position. */
  notify(position: number): void {
    if (position <= this.#committed) return
    this.#committed = position
    for (const waiter of this.#waiters) if (position > waiter.after) waiter.settle()
  }

  /** Resolves when the log has an event after `after`, or when the signal aborts. @throws StoreUnavailableError if it is closed */
  async waitForCommit(after: number, signal: AbortSignal): Promise<void> {
    if (this.#isClosed) throw new StoreUnavailableError('the event store is closed')
    if (signal.aborted || this.#committed > after) return
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error) => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', onAbort)
        if (this.#waiters.size === 0) this.#stopChecking()
        if (error === undefined) resolve()
        else reject(error)
      }
      const onAbort = () => settle()
      const waiter: Waiter = { after, settle }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', onAbort)
      this.#scheduleCheck()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#watcher?.close()
    for (const waiter of this.#waiters) waiter.settle(new StoreUnavailableError('the event store is closed'))
  }

  #scheduleCheck(): void {
    const isIdle = this.#watcher !== undefined && this.#checksWithoutNews >= idleAfterChecks
    this.#nextCheck ??= setTimeout(() => this.#check(), isIdle ? idlePollMs : pollMs)
  }

  #stopChecking(): void {
    clearTimeout(this.#nextCheck)
    this.#nextCheck = undefined
  }

  #check(): void {
    this.#nextCheck = undefined
    try {
      this.notify(this.lastPosition())
    } catch {
      // The log is currently unreadable: a later check wakes the waiters.
    }
    this.#checksWithoutNews = this.#committed === this.#committedAtCheck ? this.#checksWithoutNews + 1 : 0
    this.#committedAtCheck = this.#committed
    if (this.#checksWithoutNews === watchAfterChecks) this.#watch()
    if (this.#waiters.size > 0) this.#scheduleCheck()
  }

  /** Watches the file, unless the system cannot watch it; then the frequent checks continue. */
  #watch(): void {
    if (this.#isClosed || this.#watcher !== undefined) return
    try {
      this.#watcher = watch(this.walPath, { persistent: false }, () => this.#onChange())
      this.#watcher.on('error', () => this.#onChange())
    } catch {
      this.#watcher = undefined
    }
  }

  /** Ends the watch at the first change, until the log is idle again: under load, every commit would trigger it. */
  #onChange(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#checksWithoutNews = 0
    this.#stopChecking()
    if (this.#waiters.size > 0) this.#scheduleCheck()
  }
}

const defaultPageSize = 500
/** Handling a page blocks the reader's thread for some milliseconds. */
const unparsedPageSize = 256
/** The number of events of a stream that are read before other work of the thread gets a turn. */
const streamPageSize = 1_000
/** The pause after a page without matching events. It is well below the 100 ms within which subscribers see appends. */
const emptyPagePauseMs = 20

/** One thread's connection to the log. It writes through the process's writer thread and reads on its own connection. */
export class Log {
  readonly reader: LogReader
  readonly commits: CommitWatcher
  readonly activity: StreamActivity
  readonly client: WriterClient

  constructor(readonly directory: string) {
    this.reader = new LogReader(directory)
    this.commits = new CommitWatcher(walPath(directory), () => this.reader.lastPosition())
    this.activity = new StreamActivity(this.reader, this.commits)
    this.client = new WriterClient((position) => this.commits.notify(position))
  }

  append(stream: string, expectedRevision: ExpectedRevision, events: Append['events']): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      this.client.append([{ stream, expectedRevision, events }], ([result]) => resolve(result as AppendResult), reject)
    })
  }

  appendInOrder(appends: readonly Append[]): Promise<readonly AppendResult[]> {
    return new Promise((resolve, reject) => this.client.append(appends, resolve, reject))
  }

  async readStream(stream: string, options?: ReadStreamOptions): Promise<readonly RecordedEvent[]> {
    const events: RecordedEvent[] = []
    for await (const page of this.#streamPages(stream, completeRange(options))) {
      for (const event of page) events.push(event)
    }
    return events
  }

  iterateStream(stream: string, options?: ReadStreamOptions): AsyncGenerator<RecordedEvent> {
    return eventsOf(this.#streamPages(stream, completeRange(options)))
  }

  async *#streamPages(
    stream: string,
    { direction, fromRevision, maxCount }: Required<ReadStreamOptions>,
  ): AsyncGenerator<readonly RecordedEvent[]> {
    let from = fromRevision
    let left = maxCount
    for (;;) {
      const range = { direction, fromRevision: from, maxCount: Math.min(left, streamPageSize) }
      const { events, atEnd } = this.reader.readStream(stream, range)
      yield events
      left -= events.length
      if (atEnd || left === 0) return
      from = (events.at(-1)?.revision ?? from) + (direction === 'forwards' ? 1 : -1)
      await nextTurn()
    }
  }

  subscribeToStream(stream: string, { fromRevision = 0, signal }: SubscribeToStreamOptions) {
    checkCount('fromRevision', fromRevision, 0)
    return this.#follow(stream, fromRevision, signal)
  }

  async *#follow(stream: string, fromRevision: number, signal: AbortSignal): AsyncGenerator<RecordedEvent> {
    let next = fromRevision
    while (!signal.aborted) {
      const seen = this.reader.lastPosition()
      // A tombstone has no event after it, so the events that are read now are the last ones.
      const { isTombstoned } = this.reader.view(stream)
      for await (const page of this.#streamPages(stream, completeRange({ fromRevision: next }))) {
        for (const event of page) {
          if (signal.aborted) return
          yield event
          next = event.revision + 1
        }
      }
      if (isTombstoned) throw new StreamDeletedError(stream)
      await this.activity.waitForEvent(stream, seen, signal)
    }
  }

  async readEvents(places: readonly EventPlace[]): Promise<readonly RecordedEvent[]> {
    const found = this.reader.readPositions(places.map(({ position }) => Number(position.commit)))
    return places.flatMap(({ stream, revision, position }) => {
      const event = found.get(Number(position.commit))
      return event?.stream === stream && event.revision === revision ? [event] : []
    })
  }

  async readAll(options: ReadAllOptions): Promise<Page> {
    checkCount('maxCount', options.maxCount, 1)
    // A caller that reads one page after another must not block the thread.
    await nextTurn()
    return this.reader.readAll(options)
  }

  async readUnparsed({
    maxCount = unparsedPageSize,
    ...from
  }: Partial<Pick<ReadAllOptions, 'after' | 'maxCount'>>): Promise<Page<UnparsedEvent>> {
    checkCount('maxCount', maxCount, 1)
    await nextTurn()
    return this.reader.readUnparsed({ maxCount, ...from })
  }

  async readPlaces(ranges: readonly StreamRange[]): Promise<readonly (readonly EventPlace[])[]> {
    return this.reader.readPlaces(ranges)
  }

  subscribeToAll(options: SubscribeToAllOptions): AsyncIterable<Page> {
    const { after, signal, streamPrefixes, pageSize = defaultPageSize } = options
    // Determine the end now: events that are appended before the first page is read belong to the subscriber.
    const from = after === 'end' ? toPosition(this.reader.lastPosition()) : after
    const filter = streamPrefixes === undefined ? {} : { streamPrefixes }
    return this.#pages(from, { ...filter, maxCount: pageSize }, signal)
  }

  async *#pages(from: Position | undefined, options: ReadAllOptions, signal: AbortSignal): AsyncGenerator<Page> {
    let after = from
    let hasReachedEnd = false
    let skipped = 0
    while (!signal.aborted) {
      const page = await this.readAll(after === undefined ? options : { ...options, after })
      if (signal.aborted) return
      skipped += Number((page.checkpoint?.commit ?? 0n) - (after?.commit ?? 0n)) - page.events.length
      after = page.checkpoint
      // An empty page only moves the checkpoint past filtered events. Yield few of them: a subscriber that stores its
      // checkpoint in the log would otherwise wake itself forever.
      if (page.events.length > 0 || skipped >= scanWindow || (page.atEnd && !hasReachedEnd)) {
        skipped = 0
        hasReachedEnd ||= page.atEnd
        yield page
      }
      if (!page.atEnd) continue
      // Without the pause, every group commit would wake a reader of rare streams, which would cost as much as a reader of all.
      if (page.events.length === 0) await sleep(emptyPagePauseMs, undefined, { signal }).catch(() => undefined)
      await this.commits.waitForCommit(Number(after?.commit ?? 0n), signal)
    }
  }

  async close(): Promise<void> {
    this.activity.close()
    this.commits.close()
    await this.client.close()
    this.reader.close()
  }
}

async function* eventsOf(pages: AsyncIterable<readonly RecordedEvent[]>): AsyncGenerator<RecordedEvent> {
  for await (const page of pages) yield* page
}

/** @throws TypeError */
function completeRange(options: ReadStreamOptions = {}): Required<ReadStreamOptions> {
  const { direction = 'forwards', maxCount = Number.MAX_SAFE_INTEGER } = options
  const { fromRevision = direction === 'forwards' ? 0 : Number.MAX_SAFE_INTEGER } = options
  checkCount('fromRevision', fromRevision, 0)
  checkCount('maxCount', maxCount, 1)
  return { direction, fromRevision, maxCount }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function checkCount(name: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) throw new TypeError(`${name} must be a whole number from ${least}`)
}
