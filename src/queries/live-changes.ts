import { streamPrefix } from '../domain/streams.js'
import { figuresOf } from '../domain/transfer/transfer.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import { type EventStore, endOfLog, type Page } from '../event-store/event-store.js'
import { readableEvent } from '../event-store/read-event.js'
import { collections, quarterOf, type TransferDocument } from '../read-models/documents.js'
import { findByIds, slices } from '../read-models/find-documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { withoutMetadata } from '../read-models/transfer-document.js'
import { follow } from '../subscriptions/follow.js'
import { pause } from '../subscriptions/retry.js'
import { addFigures, type Bucket, bucketKey, isStatus } from './overview.js'

export interface LiveUpdate {
  /** The changes of status since the last update, by the hour. */
  readonly changes: readonly Bucket[]
  /** The changed transfers from the read model, newest first. */
  readonly transfers: readonly TransferDocument[]
}

export interface LiveWatcher {
  /** `null` for all merchants. */
  readonly merchantIds: readonly string[] | null
  /** Returns false while the watcher cannot take more. Changes are then combined and sent later. */
  isReady(): boolean
  send(update: LiveUpdate): void
  /** No more updates follow. The watcher has to start again. */
  end(): void
}

interface Dependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly onError: (error: unknown) => void
}

const sendEveryMs = 500
const gatherMs = 50
const maxTransfers = 50
/** Metadata, which can have twenty times the size of the rest of a transfer, is dropped after each query. */
const idsPerQuery = 200
/** The limit of changed transfers that wait for the read model. Of earlier ones, only the figures are sent. */
const maxWaiting = 300
/** The limit of unsent buckets (one per quarter of an hour, kind and status). A watcher that exceeds it, because it reads too slowly, is ended. */
const maxBuckets = 1_000

/** The changes that are not sent to a watcher yet, within the limits. */
interface PendingChanges {
  readonly changes: Map<string, Bucket>
  /** The revision that the read model must reach, by trackingId, in the order of the latest changes. */
  readonly waiting: Map<string, number>
}

/** Sends the changes of transfers to watchers. One follower of the log serves all of them, while there are any. */
export class LiveView {
  readonly #watchers = new Map<LiveWatcher, PendingChanges>()
  #following: { readonly stopping: AbortController; readonly started: Promise<void> } | undefined

  constructor(private readonly deps: Dependencies) {}

  get size(): number {
    return this.#watchers.size
  }

  /** Adds a watcher, which misses no change from then on. Returns a function that removes it. @throws StoreUnavailableError */
  async watch(watcher: LiveWatcher): Promise<() => void> {
    this.#watchers.set(watcher, { changes: new Map(), waiting: new Map() })
    try {
      const stopping = new AbortController()
      this.#following ??= { stopping, started: this.#follow(stopping.signal) }
      await this.#following.started
    } catch (error) {
      this.#leave(watcher)
      throw error
    }
    return () => this.#leave(watcher)
  }

  close(): void {
    for (const watcher of [...this.#watchers.keys()]) this.#end(watcher)
  }

  #leave(watcher: LiveWatcher): void {
    this.#watchers.delete(watcher)
    if (this.#watchers.size > 0) return
    this.#following?.stopping.abort()
    this.#following = undefined
  }

  #end(watcher: LiveWatcher): void {
    this.#leave(watcher)
    watcher.end()
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { store, onError } = this.deps
    const after = await endOfLog(store)
    const failed = (error: unknown) => {
      onError(error)
      if (!signal.aborted) this.close()
    }
    follow({
      store,
      after,
      streamPrefixes: [streamPrefix.transfer],
      gatherMs,
      signal,
      isRetried: () => true,
      onUnavailable: (error, failures) => failures === 1 && onError(error),
      handle: (page) => this.#take(page),
    }).catch(failed)
    this.#sendUntilAborted(signal).catch(failed)
  }

  #take({ events }: Page): void {
    for (const recorded of events) {
      const event = readableEvent(recorded) as TransferEvent | undefined
      if (!event) continue
      const buckets = bucketsOf(event)
      const { merchantId, trackingId } = event.data
      for (const [watcher, pending] of this.#watchers) {
        if (watcher.merchantIds !== null && !watcher.merchantIds.includes(merchantId)) continue
        for (const bucket of buckets) addFigures(pending.changes, bucketKey(bucket), bucket)
        pending.waiting.delete(trackingId)
        pending.waiting.set(trackingId, recorded.revision)
        if (pending.waiting.size > maxWaiting) pending.waiting.delete(pending.waiting.keys().next().value!)
        if (pending.changes.size > maxBuckets) this.#end(watcher)
      }
    }
  }

  async #sendUntilAborted(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(sendEveryMs, signal)
      const hasChanges = ({ changes, waiting }: PendingChanges) => changes.size > 0 || waiting.size > 0
      const ready = [...this.#watchers].filter(([watcher, pending]) => hasChanges(pending) && watcher.isReady())
      const transfers = await this.#transfersOf(ready.map(([, pending]) => pending))
      for (const [watcher, pending] of ready) if (this.#watchers.has(watcher)) send(watcher, pending, transfers)
    }
  }

  /** Returns none while the read models are unavailable; the figures are sent anyway. */
  async #transfersOf(all: readonly PendingChanges[]): Promise<ReadonlyMap<string, TransferDocument>> {
    const ids = new Set(all.flatMap(({ waiting }) => [...waiting.keys()]))
    const found = new Map<string, TransferDocument>()
    try {
      for (const some of slices([...ids], idsPerQuery)) {
        const documents = await findByIds(this.deps.readModels.collection(collections.transfers), some)
        for (const [id, document] of documents) found.set(id, withoutMetadata(document as TransferDocument))
      }
      return found
    } catch (error) {
      this.deps.onError(error)
      return new Map()
    }
  }
}

function send(watcher: LiveWatcher, pending: PendingChanges, found: ReadonlyMap<string, TransferDocument>): void {
  const transfers: TransferDocument[] = []
  for (const [trackingId, revision] of pending.waiting) {
    const transfer = found.get(trackingId)
    if (!transfer || transfer.revision < revision) continue
    transfers.push(transfer)
    pending.waiting.delete(trackingId)
  }
  const changes = [...pending.changes.values()]
  pending.changes.clear()
  if (changes.length > 0 || transfers.length > 0)
    watcher.send({ changes, transfers: transfers.slice(-maxTransfers).reverse() })
}

function bucketsOf(event: TransferEvent): readonly Bucket[] {
  const { kind, at } = event.data
  const start = `${quarterOf(at)}:00.000Z`
  return (figuresOf(event) ?? []).flatMap(({ counted: status, ...amounts }) =>
    isStatus(status) ? [{ start, kind, status, count: 1, ...amounts }] : [],
  )
}
