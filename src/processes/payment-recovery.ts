import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import type { Logger } from 'pino'
import { TooMuchContentionError } from '../commands/write-contention.js'
import { streamPrefix } from '../domain/streams.js'
import { type Place, positionOfPlace, ReadProgress } from '../event-store/event-location.js'
import type { EventStore, Page, Position, RecordedEvent } from '../event-store/event-store.js'
import { StoreUnavailableError } from '../event-store/event-store.js'
import type { Clock } from '../kernel/clock.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { follow } from '../subscriptions/follow.js'
import { pause, type RetryOptions, retryWhileUnavailable } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import type { WalletCollections } from '../wallet/payments/collections.js'
import { WalletUnavailableError } from '../wallet/wallet.js'

const tickMs = 1_000
const parallel = 10
/** Beyond it the log waits: each is a payment that moved within the grace, or one whose wallet is unavailable. */
const maxWaiting = 50_000
const againAfterMs = 10_000
const prefix = streamPrefix.payment
/** Of the built-in wallet's accounts. */
const accountPrefix = streamPrefix.wallet
const checkpointId = 'payments'

export interface PaymentRecoveryDependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly payments: Pick<WalletCollections, 'recover'>
  readonly clock: Clock
  readonly logger: Logger
  /** How long a collection is left to the request that began it; longer than a wallet may take to answer. */
  readonly graceMs: number
}

/** Finishes what requests began with customers' money and did not end, in one process at a time, until it is stopped. */
export function startPaymentRecovery(deps: PaymentRecoveryDependencies): Part {
  return startUnderLease(deps, 'payments', ({ signal }) => new Recovery(deps).run(signal))
}

interface Waiting {
  /** The last event before the payment's first one that waits: where to begin again after a restart. */
  readonly before: Place | undefined
  /** Money was taken, whatever its collection says. */
  readonly isDebited: boolean
  dueMs: number
}

class Recovery {
  /** By trackingId; the one that waits longest first. */
  readonly #waiting = new Map<string, Waiting>()
  readonly #noted = new EventEmitter()
  #after: Position | undefined
  #last: Place | undefined
  #kept: Place | undefined

  constructor(private readonly deps: PaymentRecoveryDependencies) {}

  async run(outer: AbortSignal): Promise<void> {
    const ending = new AbortController()
    const signal = AbortSignal.any([outer, ending.signal])
    const onUnavailable = (err: Error, failures: number) =>
      this.deps.logger.warn({ err, failures }, 'a store is unavailable')
    const options = { signal, onUnavailable }
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
    // If one fails, the other must not go on beside its successor.
    await Promise.all([following, recovering].map((part) => part.finally(() => ending.abort())))
  }

  async #recoverAgain(options: RetryOptions): Promise<void> {
    const { signal } = options
    while (!signal.aborted) {
      if (this.#waiting.size > 0) await pause(tickMs, signal)
      else await once(this.#noted, 'noted', { signal }).catch(() => undefined)
      await retryWhileUnavailable(() => this.#recoverDue(signal), options)
    }
  }

  /** Where it was lost with the read models, every payment is looked at again: what is done stays as it is. */
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
    // Where nobody pays from a wallet a start would look through the whole log again.
    const place = checkpoint && (await progress.advanceTo(checkpoint))
    if (place && events.length === 0) this.#last = place
    this.#noted.emit('noted')
  }

  async #recoverDue(signal: AbortSignal): Promise<void> {
    const nowMs = this.#nowMs()
    const due = [...this.#waiting].filter(([, { dueMs }]) => dueMs <= nowMs).map(([trackingId]) => trackingId)
    for (let n = 0; n < due.length && !signal.aborted; n += parallel) {
      await Promise.all(due.slice(n, n + parallel).map((trackingId) => this.#recover(trackingId)))
    }
    await this.#keep()
  }

  /** A debit of the built-in wallet is looked at too, so that none stays without its deposit, whoever gave up on it. */
  #note({ stream, type, data, recordedAtMs }: RecordedEvent): void {
    const isMove = type === 'WalletCollectionStarted' || type === 'WalletCollectionEnded'
    if (!isMove && type !== 'WalletAccountDebited') return
    const trackingId = isMove ? stream.slice(prefix.length) : String(data.trackingId)
    const waiting = this.#waiting.get(trackingId)
    const isDebited = !isMove || waiting?.isDebited === true
    // Nothing was taken, so there is nothing that a transfer had to be told.
    if (!isDebited && (data.outcome === 'refused' || data.outcome === 'not-taken')) {
      this.#waiting.delete(trackingId)
      return
    }
    const before = waiting ? waiting.before : this.#last
    this.#waiting.set(trackingId, { before, isDebited, dueMs: recordedAtMs + this.deps.graceMs })
  }

  async #recover(trackingId: string): Promise<void> {
    const { payments, logger } = this.deps
    const id = randomUUID()
    try {
      await payments.recover(trackingId, { actor: 'system:payments', $correlationId: id, $causationId: id })
      this.#waiting.delete(trackingId)
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error
      // One that cannot be read, or whose wallet is unavailable, must not keep the others.
      const isPassing = error instanceof WalletUnavailableError || error instanceof TooMuchContentionError
      logger[isPassing ? 'warn' : 'error']({ err: error, trackingId }, 'a payment could not be finished yet')
      this.#waiting.get(trackingId)!.dueMs = this.#nowMs() + againAfterMs
    }
  }

  /** Up to the first payment that waits. A process that lost the lease may write once more: what it leaves behind is done. */
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

  #nowMs(): number {
    return Date.parse(this.deps.clock())
  }
}
