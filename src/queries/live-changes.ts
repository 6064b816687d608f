import { streamPrefix } from '../domain/streams.js'
import { figuresOf } from '../domain/transfer/figures.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import { endOfLog } from '../event-store/end-of-log.js'
import type { EventStore, Page } from '../event-store/event-store.js'
import { readableEvent } from '../event-store/read-event.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { follow } from '../subscriptions/follow.js'
import { pause } from '../subscriptions/retry.js'
import { type Bucket, isStatus } from './overview.js'

export interface LiveNews {
  /** What reached a status since the news before, by the hour. */
  readonly changes: readonly Bucket[]
  /** Of what changed, newest first, as the read model has it. */
  readonly transfers: readonly TransferDocument[]
}

export interface LiveWatcher {
  /** Null: all. */
  readonly merchantIds: readonly string[] | null
  /** False while there is no room for more: what happens meanwhile is told together, later. */
  isReady(): boolean
  tell(news: LiveNews): void
  /** Nothing more will come; who watches begins again. */
  end(): void
}

interface Dependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly onError: (error: unknown) => void
}

const tellEveryMs = 500
const gatherMs = 50
const maxTransfers = 50
/** Changed transfers that the read model is waited for; of those before them only the figures are told. */
const maxWaiting = 300
/** Hours times kinds and statuses; whoever does not read for so long has to begin again. */
const maxBuckets = 1_000

/** What one watcher has not been told yet. It never grows beyond the limits, however much happens. */
interface Untold {
  readonly changes: Map<string, Bucket>
  /** By trackingId, with the revision that the read model must have come to; the latest last. */
  readonly waiting: Map<string, number>
}

/** Tells all who watch what happens to transfers. One follower of the log for all of them, while there are any. */
export class LiveView {
  readonly #deps: Dependencies
  readonly #watchers = new Map<LiveWatcher, Untold>()
  #following: { readonly stopping: AbortController; readonly started: Promise<void> } | undefined

  constructor(deps: Dependencies) {
    this.#deps = deps
  }

  /** How many watch. */
  get size(): number {
    return this.#watchers.size
  }

  /** Hands back what ends it; from then on nothing that happens is missed. @throws StoreUnavailableError */
  async watch(watcher: LiveWatcher): Promise<() => void> {
    this.#watchers.set(watcher, { changes: new Map(), waiting: new Map() })
    try {
      await this.#start()
    } catch (error) {
      this.#leave(watcher)
      throw error
    }
    return () => this.#leave(watcher)
  }

  /** Ends all that watch. */
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

  #start(): Promise<void> {
    const stopping = new AbortController()
    this.#following ??= { stopping, started: this.#follow(stopping.signal) }
    return this.#following.started
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { store, onError } = this.#deps
    const after = await endOfLog(store)
    const failed = (error: unknown) => {
      onError(error)
      if (!signal.aborted) this.close()
    }
    follow({
      ...{
        store,
        after,
        streamPrefixes: [streamPrefix.transfer],
        gatherMs: { calm: gatherMs, busy: gatherMs },
        signal,
      },
      isRetried: () => true,
      onUnavailable: (error, failures) => failures === 1 && onError(error),
      handle: (page) => this.#take(page),
    }).catch(failed)
    this.#tellWhile(signal).catch(failed)
  }

  #take({ events }: Page): void {
    for (const recorded of events) {
      const event = readableEvent(recorded) as TransferEvent | undefined
      if (!event) continue
      const buckets = bucketsOf(event)
      const { merchantId, trackingId } = event.data
      for (const [watcher, untold] of this.#watchers) {
        if (watcher.merchantIds !== null && !watcher.merchantIds.includes(merchantId)) continue
        for (const bucket of buckets) add(untold.changes, bucket)
        untold.waiting.delete(trackingId)
        untold.waiting.set(trackingId, recorded.revision)
        if (untold.waiting.size > maxWaiting) untold.waiting.delete(untold.waiting.keys().next().value!)
        if (untold.changes.size > maxBuckets) this.#end(watcher)
      }
    }
  }

  async #tellWhile(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(tellEveryMs, signal)
      const ready = [...this.#watchers].filter(([watcher, untold]) => hasNews(untold) && watcher.isReady())
      const transfers = await this.#transfersOf(ready.map(([, untold]) => untold))
      for (const [watcher, untold] of ready) if (this.#watchers.has(watcher)) tell(watcher, untold, transfers)
    }
  }

  /** None while the read models are unavailable: the figures are told all the same. */
  async #transfersOf(all: readonly Untold[]): Promise<ReadonlyMap<string, TransferDocument>> {
    const found = new Map<string, TransferDocument>()
    const ids = [...new Set(all.flatMap(({ waiting }) => [...waiting.keys()]))]
    try {
      while (ids.length > 0) {
        const filter = { _id: { $in: ids.splice(0, maxWaiting) } }
        const documents = await this.#deps.readModels.collection(collections.transfers).find(filter)
        for (const document of documents) found.set(document._id, document as TransferDocument)
      }
    } catch (error) {
      this.#deps.onError(error)
    }
    return found
  }
}

function hasNews({ changes, waiting }: Untold): boolean {
  return changes.size > 0 || waiting.size > 0
}

function tell(watcher: LiveWatcher, untold: Untold, found: ReadonlyMap<string, TransferDocument>): void {
  const transfers: TransferDocument[] = []
  for (const [trackingId, revision] of untold.waiting) {
    const transfer = found.get(trackingId)
    if (!transfer || transfer.revision < revision) continue
    transfers.push(transfer)
    untold.waiting.delete(trackingId)
  }
  const changes = [...untold.changes.values()]
  untold.changes.clear()
  if (changes.length > 0 || transfers.length > 0) {
    watcher.tell({ changes, transfers: transfers.slice(-maxTransfers).reverse() })
  }
}

function bucketsOf(event: TransferEvent): readonly Bucket[] {
  const { kind, at } = event.data
  return (figuresOf(event) ?? []).flatMap(({ counted, amountMinor, transactionAmountMinor }) => {
    if (!isStatus(counted)) return []
    const start = `${at.slice(0, 'yyyy-mm-ddThh'.length)}:00:00.000Z`
    const amounts = { amountMinor: Number(amountMinor), transactionAmountMinor: Number(transactionAmountMinor) }
    return [{ start, kind, status: counted, count: 1, ...amounts }]
  })
}

function add(changes: Map<string, Bucket>, bucket: Bucket): void {
  const key = `${bucket.start}|${bucket.kind}|${bucket.status}`
  const before = changes.get(key)
  if (!before) changes.set(key, bucket)
  else {
    changes.set(key, {
      ...bucket,
      count: before.count + bucket.count,
      amountMinor: before.amountMinor + bucket.amountMinor,
      transactionAmountMinor: before.transactionAmountMinor + bucket.transactionAmountMinor,
    })
  }
}
