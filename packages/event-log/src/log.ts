import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Append,
  AppendResult,
  ExpectedRevision,
  NewEvent,
  Page,
  Position,
  ReadAllOptions,
  ReadStreamOptions,
  RecordedEvent,
  SubscribeToAllOptions,
} from './event-log-types.js'
import { walPath } from './file/log-file.js'
import { toPosition } from './file/positions.js'
import { CommitWatcher } from './reader/commit-watcher.js'
import { LogReader, scanWindow } from './reader/log-reader.js'
import { WriterClient } from './writer/writer-client.js'

const defaultPageSize = 500
/** The number of events of a stream that are read before other work of the thread gets a turn. */
const streamPageSize = 1_000
/** The pause after a page without matching events. It is well below the 100 ms within which subscribers see appends. */
const emptyPagePauseMs = 20

/** One thread's connection to the log. It writes through the process's writer thread and reads on its own connection. */
export class Log {
  readonly reader: LogReader
  readonly commits: CommitWatcher
  readonly client: WriterClient

  constructor(readonly directory: string) {
    this.reader = new LogReader(directory)
    this.commits = new CommitWatcher(walPath(directory), () => this.reader.lastPosition())
    this.client = new WriterClient((position) => this.commits.notify(position))
  }

  append(stream: string, expectedRevision: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      this.client.append([{ stream, expectedRevision, events }], ([result]) => resolve(result as AppendResult), reject)
    })
  }

  appendInOrder(appends: readonly Append[]): Promise<readonly AppendResult[]> {
    return new Promise((resolve, reject) => this.client.append(appends, resolve, reject))
  }

  async readStream(stream: string, options: ReadStreamOptions = {}): Promise<readonly RecordedEvent[]> {
    const { direction = 'forwards', maxCount = Number.MAX_SAFE_INTEGER } = options
    const { fromRevision = direction === 'forwards' ? 0 : Number.MAX_SAFE_INTEGER } = options
    checkCount('fromRevision', fromRevision, 0)
    checkCount('maxCount', maxCount, 1)
    const events: RecordedEvent[] = []
    let from = fromRevision
    for (;;) {
      const left = maxCount - events.length
      const page = this.reader.readStream(stream, {
        direction,
        fromRevision: from,
        maxCount: Math.min(left, streamPageSize),
      })
      for (const event of page.events) events.push(event)
      if (page.atEnd || events.length === maxCount) return events
      from = (events.at(-1)?.revision ?? from) + (direction === 'forwards' ? 1 : -1)
      await nextTurn()
    }
  }

  async readAll(options: ReadAllOptions): Promise<Page> {
    checkCount('maxCount', options.maxCount, 1)
    // A caller that reads one page after another must not block the thread.
    await nextTurn()
    return this.reader.readAll(options)
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
    this.commits.close()
    await this.client.close()
    this.reader.close()
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function checkCount(name: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) throw new TypeError(`${name} must be a whole number from ${least}`)
}
