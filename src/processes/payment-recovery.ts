import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { TooMuchContentionError } from '../commands/handle-command.js'
import { streamPrefix } from '../domain/streams.js'
import {
  type EventStore,
  firstEventIn,
  type Page,
  type Position,
  type RecordedEvent,
  StoreUnavailableError,
} from '../event-store/event-store.js'
import { type Clock, steadyClock } from '../kernel/time.js'
import type { ReadModels } from '../read-models/read-models.js'
import { Checkpoint, inReadModels } from '../subscriptions/checkpoint.js'
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
const follower = 'payments'

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
  return startUnderLease(deps, follower, async (_lease, retry) => {
    const storage = inReadModels(deps.readModels, follower)
    const checkpoint = await retryWhileUnavailable(() => Checkpoint.load(deps.store, storage), retry)
    if (checkpoint) await new Recovery(deps, checkpoint).run(retry)
  })
}

type KnownEvent = Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'position'>

interface Waiting {
  /** The last event before the payment's first waiting one. A restart resumes from the earliest of them. */
  readonly before: KnownEvent | undefined
  /** Money was taken, regardless of the recorded outcome of the collection. */
  readonly isDebited: boolean
  dueMs: number
}

class Recovery {
  readonly #waiting = new Map<string, Waiting>()
  #through: Position | undefined
  #last: KnownEvent | undefined

  readonly #nowMs: () => number

  constructor(
    private readonly deps: Dependencies,
    private readonly checkpoint: Checkpoint,
  ) {
    this.#through = checkpoint.position
    this.#nowMs = steadyClock(() => Date.parse(deps.clock()))
  }

  async run(retry: RetryOptions): Promise<void> {
    const ending = new AbortController()
    const signal = AbortSignal.any([retry.signal, ending.signal])
    const options = { ...retry, signal }
    const following = follow({
      ...options,
      store: this.deps.store,
      after: this.checkpoint.position,
      streamPrefixes: [prefix, accountPrefix],
      gatherMs: tickMs,
      handle: (page) => this.#take(page, signal),
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

  async #take({ events, checkpoint }: Page, signal: AbortSignal): Promise<void> {
    while (this.#waiting.size >= maxWaiting && !signal.aborted) await pause(tickMs, signal)
    for (const event of events) {
      this.#note(event)
      this.#last = withoutData(event)
    }
    if (!checkpoint) return
    // Without this, a start would read the whole log again in a service whose customers do not pay from a wallet.
    const range = { after: this.#through, until: checkpoint }
    const other = events.length === 0 && (await firstEventIn(this.deps.store, range))
    if (other) this.#last = withoutData(other)
    this.#through = checkpoint
  }

  async #recoverDue(signal: AbortSignal): Promise<void> {
    const nowMs = this.#nowMs()
    const due = [...this.#waiting].filter(([, { dueMs }]) => dueMs <= nowMs).map(([trackingId]) => trackingId)
    for (let n = 0; n < due.length && !signal.aborted; n += concurrency) {
      await Promise.all(due.slice(n, n + concurrency).map((trackingId) => this.#recover(trackingId)))
    }
    // The checkpoint is before the first waiting payment.
    const first = this.#waiting.values().next()
    const event = first.done ? this.#last : first.value.before
    if (event) this.checkpoint.advance(event.position, event)
    await this.checkpoint.save({ now: false })
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
}

function withoutData({ stream, revision, id, position }: RecordedEvent): KnownEvent {
  return { stream, revision, id, position }
}
