import type { MessagePort } from 'node:worker_threads'
import { StoreUnavailableError } from '../event-store/event-store.js'
import { FairQueue } from '../kernel/fair-queue.js'
import { TokenBuckets } from '../security/token-buckets.js'
import { type FromReader, receivedError, type ToReader } from './reader-messages.js'
import type { files, pages, walks } from './reader-tasks.js'

type Pages = typeof pages
type Walks = typeof walks
type Files = typeof files
type QueryOf<Read extends (sources: never, query: never) => unknown> = Parameters<Read>[1]

/** Too many reads of this reader, or of all, are open, or they have looked at too many rows. */
export class TooManyReadsError extends Error {
  override readonly name = 'TooManyReadsError'

  constructor(
    readonly retryAfterSeconds: number,
    /** The limit of this reader, if it is the reason. */
    readonly most?: number,
  ) {
    super('too many reads')
  }
}

/** A person or a merchant that reads. */
export interface ReadBy {
  readonly key: string
  readonly rows: { readonly perSecond: number; readonly burst: number }
}

/** The concurrent pages. Readers take turns for them, and a browser requests a few at a time. */
const pageLimits = { concurrency: 6, concurrencyPerKey: 2, maxWaitingPerKey: 30, maxWaiting: 300 }
/** The open files and walks through the log. Further ones are rejected instead of waiting for minutes. */
const walkLimits = { concurrency: 6, concurrencyPerKey: 2, maxWaitingPerKey: 0, maxWaiting: 0 }
const retryAfterSeconds = { page: 1, walk: 5 }
const maxReaders = 100_000

interface Pending {
  resolve(message: FromReader): void
  reject(error: Error): void
}

/**
 * Requests reads from the reader thread. A read counts from its admission. `signal` of a walk or a file aborts when its response has
 * closed, for whatever reason, which ends the read and its admission.
 */
export class Readers {
  readonly #pages = new FairQueue(pageLimits, () => new TooManyReadsError(retryAfterSeconds.page))
  readonly #walks = new FairQueue(
    walkLimits,
    (limit) =>
      new TooManyReadsError(retryAfterSeconds.walk, limit === 'key' ? walkLimits.concurrencyPerKey : undefined),
  )
  readonly #rows: TokenBuckets
  readonly #pending = new Map<number, Pending>()
  #port: MessagePort | undefined
  #lastId = 0
  #isClosed = false

  /** `start` starts a thread that serves reads, with the first read and after a failure. The port closes when the thread ends. */
  constructor(
    private readonly start: () => MessagePort,
    monotonicMs: () => number,
  ) {
    this.#rows = new TokenBuckets(monotonicMs, maxReaders)
  }

  /** @throws TooManyReadsError, StoreUnavailableError, and the errors of the read */
  async page<Name extends keyof Pages>(by: ReadBy, name: Name, query: QueryOf<Pages[Name]>) {
    const waitSeconds = this.#rows.take(by.key, by.rows.perSecond, by.rows.burst)
    if (waitSeconds > 0) throw new TooManyReadsError(waitSeconds)
    return this.#pages.run(by.key, async () => {
      const { value, rows } = await this.#response('pages', name, query)
      this.#rows.spend(by.key, rows)
      return value as Awaited<ReturnType<Pages[Name]>>
    })
  }

  /** @throws as {@link page} does */
  async walk<Name extends keyof Walks>(by: ReadBy, signal: AbortSignal, name: Name, query: QueryOf<Walks[Name]>) {
    await this.#admit(by, signal)
    const { value } = await this.#response('walks', name, query, signal)
    return value as Awaited<ReturnType<Walks[Name]>>
  }

  /** Resolves with the pages after the first one is read. Each of the others is read on demand. @throws as {@link page} does */
  async file<Name extends keyof Files>(by: ReadBy, signal: AbortSignal, name: Name, query: QueryOf<Files[Name]>) {
    await this.#admit(by, signal)
    const id = ++this.#lastId
    const first = await this.#send({ id, kind: 'files', name, query }, signal)
    return this.#pagesOf(id, first, signal)
  }

  close(): void {
    this.#isClosed = true
    this.#port?.close()
  }

  async #admit({ key }: ReadBy, signal: AbortSignal): Promise<void> {
    const leave = await this.#walks.enter(key)
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
  }

  async *#pagesOf(id: number, first: FromReader, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (let page = first; page.kind === 'page' && page.bytes !== null; ) {
      yield page.bytes
      page = await this.#send({ id, kind: 'next' }, signal)
    }
  }

  async #response(kind: 'pages' | 'walks', name: string, query: unknown, signal?: AbortSignal) {
    const response = await this.#send({ id: ++this.#lastId, kind, name, query }, signal)
    if (response.kind !== 'response') throw new Error(`a reader responded to ${kind} with ${response.kind}`)
    return response
  }

  #send(message: ToReader, signal?: AbortSignal): Promise<FromReader> {
    const { id } = message
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const port = this.#connected()
      const waiting = { resolve, reject }
      this.#pending.set(id, waiting)
      port.postMessage(message)
      if (message.kind === 'next') return
      signal?.addEventListener('abort', () => {
        port.postMessage({ id, kind: 'cancel' } satisfies ToReader)
        const pending = this.#pending.get(id)
        this.#pending.delete(id)
        // The handler is left waiting: its response has closed, and an error would be logged as a failure of the service.
        if (pending !== waiting) pending?.reject(new Error('the response has closed'))
      })
    })
  }

  #connected(): MessagePort {
    if (this.#port) return this.#port
    if (this.#isClosed) throw new StoreUnavailableError('the service is stopping')
    const port = this.start()
    port.on('message', (message: FromReader) => {
      const { resolve, reject } = this.#pending.get(message.id) ?? {}
      this.#pending.delete(message.id)
      if (message.kind === 'failed') reject?.(receivedError(message.error))
      else resolve?.(message)
    })
    port.on('close', () => {
      this.#port = undefined
      for (const { reject } of this.#pending.values()) reject(new StoreUnavailableError('the reader thread has ended'))
      this.#pending.clear()
    })
    this.#port = port
    return port
  }
}
