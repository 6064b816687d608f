import { setImmediate } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'
import { type EventStore, StoreUnavailableError } from '../event-store/event-store.js'
import type { Collection, ReadModels } from '../read-models/read-models.js'
import { type FromReader, sentError, type ToReader } from './reader-messages.js'
import { files, pages, type ReaderSources, walks } from './reader-tasks.js'

type Query = (sources: ReaderSources, query: never) => unknown
const queries: { readonly [kind: string]: { readonly [name: string]: Query } } = { pages, walks, files }

interface OpenRead {
  readonly stopping: AbortController
  /** The pages of a file. */
  lines?: AsyncGenerator<string>
}

/** Runs the reads that arrive at the port until it closes, several at a time. They take turns: each waits before it reads a store. */
export function serveReads(port: MessagePort, sources: ReaderSources): void {
  const open = new Map<number, OpenRead>()
  const end = (message: FromReader) => {
    // A cancelled read sends nothing.
    if (open.delete(message.id)) port.postMessage(message)
  }
  const sendPage = async (id: number, lines: AsyncGenerator<string>) => {
    const { done, value } = await lines.next()
    if (done) return end({ id, kind: 'page', bytes: null })
    const bytes = new TextEncoder().encode(value)
    if (open.has(id)) port.postMessage({ id, kind: 'page', bytes } satisfies FromReader, [bytes.buffer])
  }
  const cancel = (id: number) => {
    const { stopping, lines } = open.get(id) ?? {}
    open.delete(id)
    stopping?.abort()
    void lines?.return(undefined).catch(() => undefined)
  }
  const handle = async (message: ToReader) => {
    const { id, kind } = message
    if (kind === 'cancel') return cancel(id)
    if (kind === 'next') {
      const { lines } = open.get(id) ?? {}
      if (lines) return sendPage(id, lines)
      const error = sentError(new StoreUnavailableError('the thread of this read has ended'))
      return port.postMessage({ id, kind: 'failed', error } satisfies FromReader)
    }
    const read: OpenRead = { stopping: new AbortController() }
    open.set(id, read)
    // Afterwards, no data of a customer is shown whose erasure was recorded before the request.
    await sources.merchants.catchUp()
    const look = watchedSources(sources, read.stopping.signal)
    const started = queries[kind]![message.name]!(look.sources, message.query as never)
    if (kind !== 'files') return end({ id, kind: 'response', value: await started, rows: look.rows() })
    read.lines = started as AsyncGenerator<string>
    return sendPage(id, read.lines)
  }
  port.on('message', (message: ToReader) => {
    handle(message).catch((error) => end({ id: message.id, kind: 'failed', error: sentError(error) }))
  })
  port.on('close', () => {
    for (const id of [...open.keys()]) cancel(id)
  })
}

/** Counts the rows that one read looks at, lets other reads run before each of its pages, and stops it there once it is cancelled. */
function watchedSources({ store, readModels, merchants }: ReaderSources, signal: AbortSignal) {
  let rows = 0
  const inTurn = async <Found>(read: () => Promise<Found>, count: (found: Found) => number): Promise<Found> => {
    await setImmediate()
    signal.throwIfAborted()
    const found = await read()
    rows += count(found)
    return found
  }
  const length = (found: readonly unknown[]) => found.length
  const watchedStore: EventStore = {
    ...store,
    readStream: (stream, options) => inTurn(() => store.readStream(stream, options), length),
    readEvents: (places) => inTurn(() => store.readEvents(places), length),
    readAll: (options) =>
      inTurn(
        () => store.readAll(options),
        ({ events }) => events.length,
      ),
  }
  const collection = (name: string): Collection => {
    const watched = readModels.collection(name)
    return {
      ...watched,
      find: (filter, options) => inTurn(() => watched.find(filter, options), length),
      findOne: (filter, options) =>
        inTurn(
          () => watched.findOne(filter, options),
          () => 1,
        ),
      countDocuments: (filter, options) =>
        inTurn(
          () => watched.countDocuments(filter, options),
          (count) => count,
        ),
    }
  }
  const watchedReadModels: ReadModels = Object.create(readModels, { collection: { value: collection } })
  return { sources: { store: watchedStore, readModels: watchedReadModels, merchants }, rows: () => rows }
}
