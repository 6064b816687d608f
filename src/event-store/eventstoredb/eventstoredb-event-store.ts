import { setTimeout as pause } from 'node:timers/promises'
import {
  type AppendResult,
  comparePositions,
  type EventStore,
  maxStreamPrefixes,
  type Page,
  type Position,
  type ReadAllOptions,
  type SubscribeToAllOptions,
  withReservedKeys,
} from '../event-store.js'
import { countInLog } from '../log-counts.js'
import { type Appended, Appender } from './appender.js'
import { Connection, isDroppedSubscription } from './eventstoredb-connection.js'
import {
  checkCount,
  Feed,
  lastPosition,
  readEvents,
  readStream,
  type StreamFilter,
  streamFilter,
} from './eventstoredb-reads.js'
import { eventStoreDbPersistentSubscriptions } from './eventstoredb-subscriptions.js'
import { parseConnectionUrl } from './eventstoredb-url.js'
import { reserveKeys } from './reserved-keys.js'

const defaultPageSize = 500
/** A page costs two calls, so readers of the whole log read large ones. */
const unparsedPageSize = 5_000
/** The longest wait for a response, after which the server counts as unavailable. */
const defaultDeadlineMs = 10_000
/** The pause after a subscription that the server dropped before its first page. */
const resubscribeAfterMs = 100

/** Opens a log on EventStoreDB 23.10 or later, which may be unavailable. @throws TypeError that names the problem of the URL without any part of it */
export function openEventStoreDb(options: { readonly url: string; readonly deadlineMs?: number }): EventStore {
  const connection = new Connection(parseConnectionUrl(options.url), options.deadlineMs ?? defaultDeadlineMs)
  const appender = new Appender(connection)
  const resultOf = async ({ revision, position }: Appended): Promise<AppendResult> => {
    // The events had been appended before, and the stream's metadata hides them now. They precede the end of the log.
    return { revision, position: position ?? (await endOf(connection)) ?? { commit: 0n, prepare: 0n } }
  }
  return {
    append: async (stream, expectedRevision, events) =>
      resultOf(await appender.append(withReservedKeys({ stream, expectedRevision, events }))),
    /** Appends sequentially unless `pipelined` is set, because the server cannot stop at the first rejected append. */
    async appendInOrder(appends, { pipelined = false } = {}) {
      const named = appends.map(withReservedKeys)
      if (pipelined) {
        await Promise.all(named.map((append) => reserveKeys(append, connection, appender)))
        return Promise.all((await appender.appendAll(named)).map(resultOf))
      }
      const results: AppendResult[] = []
      for (const append of named) {
        await reserveKeys(append, connection, appender)
        results.push(await resultOf(await appender.append(append)))
      }
      return results
    },
    readStream: (stream, read) => readStream(connection, stream, read),
    readEvents: (places) => readEvents(connection, places),
    readAll: (read) => readAll(connection, read),
    readUnparsed: (read) => readAll(connection, { maxCount: unparsedPageSize, ...read }),
    subscribeToAll: (subscribe) => subscribeToAll(connection, subscribe),
    persistentSubscriptions: eventStoreDbPersistentSubscriptions(connection),
    async close() {
      await connection.close(() => appender.idle())
    },
  }
}

async function readAll(connection: Connection, options: ReadAllOptions): Promise<Page> {
  const { after, maxCount, streamPrefixes } = options
  checkCount('maxCount', maxCount, 1)
  const filter = filterOf(streamPrefixes)
  return connection.use('reading the log', async (client) => {
    const end = await lastPosition(client)
    // The page covers everything up to the end, or up to the reader's position.
    const isBehind = end === undefined || (after !== undefined && comparePositions(after, end) >= 0)
    if (isBehind || streamPrefixes?.length === 0) {
      const checkpoint = isBehind ? after : end
      return { events: [], atEnd: true, ...(checkpoint && { checkpoint }) }
    }
    for (;;) {
      const feed = await Feed.open(client, { after, end, filter, pageSize: maxCount })
      try {
        return await feed.next()
      } catch (error) {
        if (!isDroppedSubscription(error)) throw error
        countInLog('subscription_dropped')
        await pause(resubscribeAfterMs)
      } finally {
        feed.cancel()
      }
    }
  })
}

function subscribeToAll(connection: Connection, options: SubscribeToAllOptions): AsyncIterable<Page> {
  const { after, signal, streamPrefixes, pageSize = defaultPageSize } = options
  const filter = filterOf(streamPrefixes)
  // Read the end now and not with the first page: the subscriber receives events that are appended in between.
  const from = after !== 'end' ? Promise.resolve(after) : signal.aborted ? undefined : endOf(connection)
  // The iteration reports the error.
  from?.catch(() => undefined)
  return pages()

  async function* pages(): AsyncGenerator<Page> {
    if (signal.aborted) return
    let position = await from
    const client = await connection.connected()
    let feed: Feed | undefined
    const stop = () => feed?.cancel()
    signal.addEventListener('abort', stop)
    try {
      while (!signal.aborted) {
        let hasProgressed = false
        try {
          const end = await lastPosition(client)
          feed = await Feed.open(client, { after: position, end, filter, pageSize })
          while (!signal.aborted) {
            const page = await feed.next()
            if (signal.aborted) return
            hasProgressed = true
            position = page.checkpoint ?? position
            yield page
          }
        } catch (error) {
          if (!isDroppedSubscription(error)) throw error
          countInLog('subscription_dropped')
          feed?.cancel()
          if (!hasProgressed) await pause(resubscribeAfterMs, undefined, { signal })
        }
      }
    } catch (error) {
      if (!signal.aborted) throw connection.failed(client, error, 'following the log')
    } finally {
      signal.removeEventListener('abort', stop)
      feed?.cancel()
    }
  }
}

function endOf(connection: Connection): Promise<Position | undefined> {
  return connection.use('reading the end of the log', lastPosition)
}

function filterOf(streamPrefixes: readonly string[] | undefined): StreamFilter {
  if (streamPrefixes !== undefined && streamPrefixes.length > maxStreamPrefixes)
    throw new RangeError(`${streamPrefixes.length} stream prefixes; ${maxStreamPrefixes} are the limit`)
  return streamFilter(streamPrefixes)
}
