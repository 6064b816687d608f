import type {
  Append,
  AppendResult,
  EventPlace,
  ExpectedRevision,
  Page,
  ReadAllOptions,
  ReadStreamOptions,
  RecordedEvent,
  StreamRange,
  SubscribeToAllOptions,
  SubscribeToStreamOptions,
  UnparsedEvent,
} from './event-log-types.js'
import { toPosition } from './file/event-body.js'
import { walPath } from './file/log-file.js'
import { fileLocks, type ProcessLocks } from './file/process-lock.js'
import { CommitWatcher } from './reader/commit-watcher.js'
import { LogReader } from './reader/log-reader.js'
import { StreamActivity } from './reader/stream-activity.js'
import { checkCount, completeRange, nextTurn, streamPages } from './reader/stream-pages.js'
import { followLog, followStream } from './reader/subscriptions.js'
import { WriterClient } from './writer/writer-client.js'

const defaultPageSize = 500
/** Handling a page blocks the reader's thread for some milliseconds. */
const unparsedPageSize = 256

/** One thread's connection to the log. It writes through the process's writer thread and reads on its own connection. */
export class Log {
  readonly reader: LogReader
  readonly commits: CommitWatcher
  readonly activity: StreamActivity
  readonly client: WriterClient
  readonly locks: ProcessLocks

  constructor(directory: string) {
    this.locks = fileLocks(directory)
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
    for await (const page of streamPages(this.reader, stream, completeRange(options))) {
      for (const event of page) events.push(event)
    }
    return events
  }

  iterateStream(stream: string, options?: ReadStreamOptions): AsyncGenerator<RecordedEvent> {
    return eventsOf(streamPages(this.reader, stream, completeRange(options)))
  }

  subscribeToStream(stream: string, { fromRevision = 0, signal }: SubscribeToStreamOptions) {
    checkCount('fromRevision', fromRevision, 0)
    return followStream(this, stream, fromRevision, signal)
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
    checkCount('pageSize', pageSize, 1)
    return followLog(this, from, { ...filter, maxCount: pageSize }, signal)
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
