import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { TooMuchContentionError } from '../commands/handle-command.js'
import { streamPrefix } from '../domain/streams.js'
import {
  type EventStore,
  type Page,
  type Place,
  type Position,
  positionOfPlace,
  ReadProgress,
  type RecordedEvent,
  StoreUnavailableError,
} from '../event-store/event-store.js'
import { type Clock, steadyClock } from '../kernel/time.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { follow } from '../subscriptions/follow.js'
import { pause, type RetryOptions, retryWhileUnavailable } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import type { WalletCollections } from '../wallet/payments/collections.js'
import { WalletUnavailableError } from '../wallet/wallet.js'

const tickMs = 1_000
const concurrency = 10
/**
 * The log is not read further while this many payments wait. A payment waits if it moved within the grace period or if its wallet is
 * unavailable.
 */
const maxWaiting = 50_000
const retryAfterMs = 10_000
const prefix = streamPrefix.payment
const accountPrefix = streamPrefix.wallet
const checkpointId = 'payments'

interface Dependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly payments: Pick<WalletCollections, 'recover'>
  readonly clock: Clock
  readonly logger: Logger
  /** The time for which a collection is left to the request that started it. It exceeds the timeout of the wallet. */
  readonly graceMs: number
}

/** Finishes the collections of money that a request started and did not end, in one process at a time, until it is stopped. */
export function startPaymentRecovery(deps: Dependencies): Part {
  return startUnderLease(deps, 'payments', (_lease, retry) => new Recovery(deps).run(retry))
}

interface Waiting {
  /** The last event before the payment's first waiting one. A restart resumes from the earliest of them. */
  readonly before: Place | undefined
  /** Money was taken, regardless of the recorded outcome of the collection. */
  readonly isDebited: boolean
  dueMs: number
}

class Recovery {
  readonly #waiting = new Map<string, Waiting>()
  #after: Position | undefined
  #last: Place | undefined
  #kept: Place | undefined

  readonly #nowMs: () => number

  constructor(private readonly deps: Dependencies) {
    this.#nowMs = steadyClock(() => Date.parse(deps.clock()))
  }

  async run(retry: RetryOptions): Promise<void> {
    const ending = new AbortController()
    const signal = AbortSignal.any([retry.signal, ending.signal])
    const options = { ...retry, signal }
    await retryWhileUnavailable(() => this.#load(), options)
    const progress = new ReadProgress(this.deps.store, this.#after)
    const following = follow({
      ...options,
      store: this.deps.store,
      after: this.#after,
      streamPrefixes: [prefix, accountPrefix],
      gatherMs: { calm: tickMs, busy: tickMs },
      handle: (page) => this.#take(page, progress, signal),
    })
    const recovering = this.#recoverAgain(options)
    // If one of them fails, the other must not continue next to its successor.
    await Promise.all([following, recovering].map((part) => part.finally(() => ending.abort())))
  }

  async #recoverAgain(options: RetryOptions): Promise<void> {
    const { signal } = options
    while (!signal.aborted) {
      await pause(tickMs, signal)
      await retryWhileUnavailable(() => this.#recoverDue(signal), options)
    }
  }

  /** Loads the checkpoint. If it was lost with the read models, every payment is checked again, which changes nothing that is finished. */
  async #load(): Promise<void> {
    const stored = await this.deps.readModels.collection(collections.paymentRecovery).findOne({ _id: checkpointId })
    if (!stored) return
    const place = { stream: String(stored.stream), revision: Number(stored.revision) }
    this.#after = await positionOfPlace(this.deps.store, place)
    if (!this.#after) return
    this.#last = place
    this.#kept = place
  }

  async #take({ events, checkpoint }: Page, progress: ReadProgress, signal: AbortSignal): Promise<void> {
    while (this.#waiting.size >= maxWaiting && !signal.aborted) await pause(tickMs, signal)
    for (const event of events) {
      this.#note(event)
      this.#last = { stream: event.stream, revision: event.revision }
    }
    // Without this, a start would read the whole log again in a service whose customers do not pay from a wallet.
    const place = checkpoint && (await progress.advanceTo(checkpoint))
    if (place && events.length === 0) this.#last = place
  }

  async #recoverDue(signal: AbortSignal): Promise<void> {
    const nowMs = this.#nowMs()
    const due = [...this.#waiting].filter(([, { dueMs }]) => dueMs <= nowMs).map(([trackingId]) => trackingId)
    for (let n = 0; n < due.length && !signal.aborted; n += concurrency) {
      await Promise.all(due.slice(n, n + concurrency).map((trackingId) => this.#recover(trackingId)))
    }
    await this.#keep()
  }

  /** Notes a collection or a debit of the built-in wallet, so that no debit stays without its deposit. */
  #note({ stream, type, data, recordedAtMs }: RecordedEvent): void {
    const isMove = type === 'WalletCollectionStarted' || type === 'WalletCollectionEnded'
    if (!isMove && type !== 'WalletAccountDebited') return
    const trackingId = isMove ? stream.slice(prefix.length) : String(data.trackingId)
    const waiting = this.#waiting.get(trackingId)
    const isDebited = !isMove || waiting?.isDebited === true
    // No money was taken, so the transfer does not change.
    if (!isDebited && (data.outcome === 'refused' || data.outcome === 'not-taken')) {
      this.#waiting.delete(trackingId)
      return
    }
    const before = waiting ? waiting.before : this.#last
    const { clock, graceMs } = this.deps
    // The store's clock may be ahead, and this one may have been set back: neither makes a payment wait longer than the grace period.
    const waitMs = Math.min(recordedAtMs + graceMs - Date.parse(clock()), graceMs)
    this.#waiting.set(trackingId, { before, isDebited, dueMs: this.#nowMs() + waitMs })
  }

  async #recover(trackingId: string): Promise<void> {
    const { payments, logger } = this.deps
    const id = randomUUID()
    try {
      await payments.recover(trackingId, { actor: 'system:payments', $correlationId: id, $causationId: id })
      this.#waiting.delete(trackingId)
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error
      // An unreadable payment, or one whose wallet is unavailable, must not delay the others.
      const isTemporary = error instanceof WalletUnavailableError || error instanceof TooMuchContentionError
      logger[isTemporary ? 'warn' : 'error']({ err: error, trackingId }, 'a payment could not be finished yet')
      this.#waiting.get(trackingId)!.dueMs = this.#nowMs() + retryAfterMs
    }
  }

  /**
   * Stores the checkpoint, which ends before the first waiting payment. A process that has lost its lease may write it again: everything
   * before its checkpoint is finished.
   */
  async #keep(): Promise<void> {
    const first = this.#waiting.values().next()
    const place = first.done ? this.#last : first.value.before
    if (!place || (place.stream === this.#kept?.stream && place.revision === this.#kept.revision)) return
    const update = { $set: { ...place, updatedAt: this.deps.clock() } }
    await this.deps.readModels
      .collection(collections.paymentRecovery)
      .bulkWrite([{ updateOne: { filter: { _id: checkpointId }, update, upsert: true } }])
    this.#kept = place
  }
}
