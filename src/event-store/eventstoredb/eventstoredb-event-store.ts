import {
  type Append,
  type AppendResult,
  comparePositions,
  type EventStore,
  type ExpectedRevision,
  type NewEvent,
  type Page,
  type Position,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
  type SubscribeToAllOptions,
} from '../event-store.js'
import { Appender } from './appender.js'
import { Connection } from './connection.js'
import { parseConnectionUrl } from './connection-url.js'
import { Feed, lastPosition } from './feed.js'
import { Incoming } from './incoming.js'
import { EventStoreDbPersistentSubscriptions } from './persistent-subscriptions.js'
import { toRecordedEvent } from './recorded-event.js'
import { readStreamRequest } from './requests.js'
import { type StreamFilter, streamFilter } from './stream-filter.js'
import { within } from './within.js'

const defaultPageSize = 500
/** Nothing waits longer for the server: then it counts as away. */
const defaultDeadlineMs = 10_000
const maxPrefixes = 100

/**
 * A log on EventStoreDB 23.10 or later. The server need not be reachable yet, and may go away and come back: meanwhile
 * everything throws StoreUnavailableError. @throws TypeError with what is wrong with the URL, without a character of it
 */
export function openEventStoreDb(options: { readonly url: string; readonly deadlineMs?: number }): EventStore {
  const connection = new Connection(parseConnectionUrl(options.url), options.deadlineMs ?? defaultDeadlineMs)
  const log = new Log(connection)
  return {
    append: (stream, expectedRevision, events) => log.append(stream, expectedRevision, events),
    appendInOrder: (appends) => log.appendInOrder(appends),
    readStream: (stream, read) => log.readStream(stream, read),
    readAll: (read) => log.readAll(read),
    subscribeToAll: (subscribe) => log.subscribeToAll(subscribe),
    persistentSubscriptions: new EventStoreDbPersistentSubscriptions(connection, (stream, read) =>
      log.readStream(stream, read),
    ),
    close: () => log.close(),
  }
}

class Log implements Omit<EventStore, 'persistentSubscriptions'> {
  readonly #appender: Appender

  constructor(private readonly connection: Connection) {
    this.#appender = new Appender(connection)
  }

  async append(stream: string, expectedRevision: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendResult> {
    const { revision, position } = await this.#appender.append(stream, expectedRevision, events)
    // Events appended before, and hidden since by the stream's metadata: they are somewhere before the end.
    return { revision, position: position ?? (await this.#end()) ?? { commit: 0n, prepare: 0n } }
  }

  /** One after the other: there is no way to have the server stop at the first refusal. */
  async appendInOrder(appends: readonly Append[]): Promise<readonly AppendResult[]> {
    const results: AppendResult[] = []
    for (const { stream, expectedRevision, events } of appends)
      results.push(await this.append(stream, expectedRevision, events))
    return results
  }

  async readStream(stream: string, options: ReadStreamOptions = {}): Promise<readonly RecordedEvent[]> {
    const { direction = 'forwards', fromRevision, maxCount = Number.MAX_SAFE_INTEGER } = options
    if (fromRevision !== undefined) checkCount('fromRevision', fromRevision, 0)
    checkCount('maxCount', maxCount, 1)
    const { client, deadlineMs } = this.connection
    const what = 'reading a stream'
    const events: RecordedEvent[] = []
    try {
      const call = await within(
        deadlineMs,
        what,
        client.read(readStreamRequest(stream, direction, fromRevision, maxCount)),
      )
      const answers = new Incoming(call)
      try {
        while (await answers.more(what, deadlineMs)) {
          const event = answers.take()?.getEvent()?.getEvent()
          if (event !== undefined) events.push(toRecordedEvent(event))
        }
      } finally {
        answers.cancel()
      }
      return events
    } catch (error) {
      throw this.connection.failed(client, error, what)
    }
  }

  async readAll(options: ReadAllOptions): Promise<Page> {
    const { after, maxCount, streamPrefixes } = options
    checkCount('maxCount', maxCount, 1)
    const filter = filterOf(streamPrefixes)
    const { client, deadlineMs } = this.connection
    try {
      const end = await lastPosition(client, deadlineMs)
      if (streamPrefixes?.length === 0) return emptyPage(after, end)
      if (isBehind(after, end)) return emptyPage(after, end)
      const feed = await Feed.open(client, { after, end, filter, pageSize: maxCount, deadlineMs })
      try {
        const page = await feed.next()
        if (page === undefined) throw new Error('the server ended the call')
        return page
      } finally {
        feed.cancel()
      }
    } catch (error) {
      throw this.connection.failed(client, error, 'reading the log')
    }
  }

  subscribeToAll(options: SubscribeToAllOptions): AsyncIterable<Page> {
    const { after, signal, streamPrefixes, pageSize = defaultPageSize } = options
    const filter = filterOf(streamPrefixes)
    // The end is that of this moment, not of the first page: what is appended between the two belongs to the subscriber.
    const from = after === 'end' && !signal.aborted ? this.#end() : Promise.resolve(after === 'end' ? undefined : after)
    // Whoever iterates hears of it.
    from.catch(() => undefined)
    return this.#pages(from, filter, pageSize, signal)
  }

  async *#pages(
    from: Promise<Position | undefined>,
    filter: StreamFilter,
    pageSize: number,
    signal: AbortSignal,
  ): AsyncGenerator<Page> {
    if (signal.aborted) return
    const after = await from
    const { client, deadlineMs } = this.connection
    let feed: Feed | undefined
    const stop = () => feed?.cancel()
    try {
      const end = await lastPosition(client, deadlineMs)
      feed = await Feed.open(client, { after, end, filter, pageSize, deadlineMs })
      signal.addEventListener('abort', stop)
      while (!signal.aborted) {
        const page = await feed.next()
        if (signal.aborted) return
        if (page === undefined) throw new Error('the server ended the call')
        yield page
      }
    } catch (error) {
      if (!signal.aborted) throw this.connection.failed(client, error, 'following the log')
    } finally {
      signal.removeEventListener('abort', stop)
      feed?.cancel()
    }
  }

  async #end(): Promise<Position | undefined> {
    const { client, deadlineMs } = this.connection
    try {
      return await lastPosition(client, deadlineMs)
    } catch (error) {
      throw this.connection.failed(client, error, 'reading the end of the log')
    }
  }

  async close(): Promise<void> {
    await this.#appender.idle()
    await this.connection.close()
  }
}

function filterOf(streamPrefixes: readonly string[] | undefined): StreamFilter {
  if (streamPrefixes !== undefined && streamPrefixes.length > maxPrefixes)
    throw new RangeError(`${streamPrefixes.length} stream prefixes; ${maxPrefixes} are the limit`)
  return streamFilter(streamPrefixes)
}

function isBehind(after: Position | undefined, end: Position | undefined): boolean {
  return end === undefined || (after !== undefined && comparePositions(after, end) >= 0)
}

/** Nothing is behind it: everything up to the end, or up to where the reader is, has been looked at. */
function emptyPage(after: Position | undefined, end: Position | undefined): Page {
  const checkpoint = isBehind(after, end) ? after : end
  return { events: [], atEnd: true, ...(checkpoint && { checkpoint }) }
}

function checkCount(what: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) throw new TypeError(`${what} must be a whole number from ${least}`)
}
