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
import { isProcessLocked, type ProcessLock, tryProcessLock } from './file/process-lock.js'
import { Commits } from './reader/commit-watcher.js'
import { LogReader, positionAt, scanWindow } from './reader/log-reader.js'
import { WriterClient } from './writer/writer-client.js'

const defaultPageSize = 500
/** Events of a stream that are read before the thread may do other things. */
const streamPage = 1_000
/** After a page in which nothing matched. Well below the 100 ms within which appends are noticed. */
const emptyPagePauseMs = 20

/** One thread's connection to the log: what it writes goes to the process's writer, what it reads it reads itself. */
export class Log {
  readonly reader: LogReader
  readonly commits: Commits
  readonly client: WriterClient

  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
    this.reader = new LogReader(directory)
    this.commits = new Commits(walPath(directory), () => this.reader.lastPosition())
    this.client = new WriterClient((position) => this.commits.committed(position))
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
        maxCount: Math.min(left, streamPage),
      })
      for (const event of page.events) events.push(event)
      if (page.atEnd || events.length === maxCount) return events
      from = (events.at(-1)?.revision ?? from) + (direction === 'forwards' ? 1 : -1)
      await nextTurn()
    }
  }

  async readAll(options: ReadAllOptions): Promise<Page> {
    checkCount('maxCount', options.maxCount, 1)
    // A caller that reads page after page would otherwise never let the thread do anything else.
    await nextTurn()
    return this.reader.readAll(options)
  }

  subscribeToAll(options: SubscribeToAllOptions): AsyncIterable<Page> {
    const { after, signal, streamPrefixes, pageSize = defaultPageSize } = options
    // The end is that of this moment, not of the first page: what is appended between the two belongs to the subscriber.
    const from = after === 'end' ? positionAt(this.reader.lastPosition()) : after
    const filter = streamPrefixes === undefined ? {} : { streamPrefixes }
    return this.#pages(from, { ...filter, maxCount: pageSize }, signal)
  }

  async *#pages(from: Position | undefined, options: ReadAllOptions, signal: AbortSignal): AsyncGenerator<Page> {
    let after = from
    let endReached = false
    let skipped = 0
    while (!signal.aborted) {
      const page = await this.readAll(after === undefined ? options : { ...options, after })
      if (signal.aborted) return
      skipped += Number((page.checkpoint?.commit ?? 0n) - (after?.commit ?? 0n)) - page.events.length
      after = page.checkpoint
      // Pages without events carry a checkpoint past what was filtered out; not for each of those, or a subscriber that
      // notes its checkpoint in the log would wake itself for ever.
      if (page.events.length > 0 || skipped >= scanWindow || (page.atEnd && !endReached)) {
        skipped = 0
        endReached ||= page.atEnd
        yield page
      }
      if (!page.atEnd) continue
      // Woken by every group commit, a reader of rare streams would cost as much as one of all: it looks at them in lots.
      if (page.events.length === 0) await sleep(emptyPagePauseMs, undefined, { signal }).catch(() => undefined)
      await this.commits.beyond(Number(after?.commit ?? 0n), signal)
    }
  }

  /** Undefined when another holder, of this process or another one, has the lock of this name. */
  tryLock(name: string): ProcessLock | undefined {
    return tryProcessLock(this.#directory, name)
  }

  isLocked(name: string): boolean {
    return isProcessLocked(this.#directory, name)
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

function checkCount(what: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) throw new TypeError(`${what} must be a whole number from ${least}`)
}
