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
  StreamDeletedError,
  type StreamRange,
  type SubscribeToAllOptions,
  type SubscribeToStreamOptions,
  type UnparsedEvent,
} from './event-log-types.js'
import { toPosition } from './file/event-body.js'
import { walPath } from './file/log-file.js'
import { CommitWatcher } from './reader/commit-watcher.js'
import { LogReader, scanWindow } from './reader/log-reader.js'
import { StreamActivity } from './reader/stream-activity.js'
import { WriterClient } from './writer/writer-client.js'

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
