import { setMaxListeners } from 'node:events'
import { isDeadHolder, newHolderId } from './lease-holder.js'
import {
  type Collection,
  type Document,
  DuplicateKeyError,
  type ReadModels,
  ReadModelsUnavailableError,
  type Update,
  type WriteFilter,
} from './read-models.js'

const collection = 'leases'
const leaseMs = 5_000
/** The holder stops before others can start, so that its work has the difference to end. */
const heldMs = 4_000
const heartbeatMs = 1_500
const heartbeatRetryMs = 250
/** The time until a waiting process notices a release or a dead holder. */
const pollMs = 200
const maxBackOffMs = 5_000

export interface Lease {
  /** Increases with each holder, even if the `leases` collection is lost. It guards writes, because a former holder has a smaller one. */
  readonly token: number
  /** Aborts if the lease is lost or the caller's signal aborts. The work must then end within a second. */
  readonly signal: AbortSignal
}

/** The clock and timers of leases. The monotonic clock never jumps. */
export interface LeaseClock {
  nowMs(): number
  monotonicMs(): number
  setTimer(callback: () => void, delayMs: number): () => void
}

const systemClock: LeaseClock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (callback, delayMs) => {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
}

interface LeaseDocument extends Document {
  readonly token: number
  /** `null` after a release. */
  readonly holder: string | null
  /** Increases with every heartbeat. Together with the token it identifies one state of the document. */
  readonly renewals: number
  /** By the writer's clock and for display only. */
  readonly renewedAt: string
}

/** Returns every lease that was ever held, with its holder, or `null` if it was released or the holder's process on this host is gone. */
export async function listLeases(readModels: ReadModels) {
  const found = (await readModels.collection(collection).find({}, { sort: { _id: 1 } })) as readonly LeaseDocument[]
  return found.map(({ _id: name, holder, renewedAt }) => ({
    name,
    renewedAt,
    holder: holder === null || isDeadHolder(holder) ? null : holder,
  }))
}

/**
 * Waits for the lease `name`, which has one holder at a time, and calls `run` while holding it. After a loss it waits and calls `run` again.
 * Resolves when `run` returns without a loss, or when `signal` aborts and `run` has ended; the lease is kept until then and released
 * immediately after. Rejects with the error that `run` throws while the lease is held.
 *
 * No wall clock is involved: a process takes over a lease whose document has not changed for leaseMs on its own monotonic clock. The holder
 * counts heldMs from before the start of its last successful heartbeat, which is earlier. A holder whose process on this host is gone is
 * replaced immediately.
 */
export async function runWithLease(
  readModels: ReadModels,
  name: string,
  options: { readonly signal: AbortSignal; readonly clock?: LeaseClock },
  run: (lease: Lease) => Promise<void>,
): Promise<void> {
  const { signal, clock = systemClock } = options
  const attempt = new LeaseAttempt(readModels.collection(collection), clock, name)
  while (!signal.aborted) {
    const acquired = await waitForLease(attempt, clock, signal)
    if (acquired === undefined) return
    const held = new HeldLease(attempt, clock, signal, acquired)
    try {
      await run(held)
    } catch (error) {
      // A failure after a loss is due to the loss. Otherwise it occurs again while the lease is held.
      if (!held.lost && !signal.aborted) throw error
    } finally {
      await held.end()
    }
    if (!held.lost) return
  }
}

interface Acquired {
  readonly token: number
  readonly sinceMs: number
}

async function waitForLease(attempt: LeaseAttempt, clock: LeaseClock, signal: AbortSignal) {
  let backOffMs = pollMs
  while (!signal.aborted) {
    let delayMs = pollMs
    try {
      const acquired = await attempt.acquire()
      if (acquired !== undefined) return acquired
      backOffMs = pollMs
    } catch (error) {
      if (!(error instanceof ReadModelsUnavailableError)) throw error
      delayMs = backOffMs
      backOffMs = Math.min(backOffMs * 2, maxBackOffMs)
    }
    await sleep(clock, delayMs, signal)
  }
  return undefined
}

/** Reads and changes the document of a lease, with guarded writes of single documents only, which are atomic in every store. */
class LeaseAttempt {
  readonly #holder = newHolderId()
  /** The last state that was seen while waiting, and since when by the monotonic clock of this process. */
  #sighting: (Pick<LeaseDocument, 'token' | 'renewals'> & Acquired) | undefined

  constructor(
    private readonly leases: Collection,
    private readonly clock: LeaseClock,
    private readonly name: string,
  ) {}

  /** Returns `undefined` while another process holds the lease. @throws ReadModelsUnavailableError */
  async acquire(): Promise<Acquired | undefined> {
    const found = (await this.leases.findOne({ _id: this.name })) as LeaseDocument | null
    const sinceMs = this.clock.monotonicMs()
    if (found !== null && !this.#isFree(found, sinceMs)) return undefined
    // The time keeps tokens increasing if the read models are lost, because data that a token guards can survive them.
    const token = Math.max((found?.token ?? 0) + 1, this.clock.nowMs())
    const state = { token, holder: this.#holder, renewals: 0, renewedAt: this.#now() }
    if (found !== null) {
      const { _id, token, renewals } = found
      return (await this.#update({ _id, token, renewals }, { $set: state }))
        ? { token: state.token, sinceMs }
        : undefined
    }
    try {
      await this.leases.bulkWrite([{ insertOne: { document: { _id: this.name, ...state } } }])
      return { token, sinceMs }
    } catch (error) {
      if (error instanceof DuplicateKeyError) return undefined
      throw error
    }
  }

  /** Returns false if another process holds the lease now. @throws ReadModelsUnavailableError */
  renew(token: number): Promise<boolean> {
    return this.#update(this.#mine(token), { $inc: { renewals: 1 }, $set: { renewedAt: this.#now() } })
  }

  async release(token: number): Promise<void> {
    try {
      await this.#update(this.#mine(token), { $set: { holder: null } })
    } catch (error) {
      // The lease expires anyway.
      if (!(error instanceof ReadModelsUnavailableError)) throw error
    }
  }

  #isFree(found: LeaseDocument, nowMs: number): boolean {
    // This process already holds it: the response to an earlier attempt was lost, or no other process took over.
    if (found.holder === null || found.holder === this.#holder) return true
    const seen = this.#sighting
    if (seen?.token !== found.token || seen.renewals !== found.renewals) {
      this.#sighting = { token: found.token, renewals: found.renewals, sinceMs: nowMs }
      return isDeadHolder(found.holder)
    }
    return nowMs - seen.sinceMs >= leaseMs || isDeadHolder(found.holder)
  }

  async #update(filter: WriteFilter, update: Update): Promise<boolean> {
    return (await this.leases.bulkWrite([{ updateOne: { filter, update } }])).matchedCount === 1
  }

  #mine(token: number): WriteFilter {
    return { _id: this.name, token, holder: this.#holder }
  }

  #now(): string {
    return new Date(this.clock.nowMs()).toISOString()
  }
}

class HeldLease implements Lease {
  readonly token: number
  readonly signal: AbortSignal
  lost = false
  readonly #ended = new AbortController()
  readonly #work = new AbortController()
  readonly #heartbeat: Promise<void>
  #cancelLoss: () => void = () => {}

  constructor(
    private readonly attempt: LeaseAttempt,
    private readonly clock: LeaseClock,
    private readonly outer: AbortSignal,
    acquired: Acquired,
  ) {
    this.token = acquired.token
    this.signal = this.#work.signal
    // Each pending wait of the work adds a listener, so a count above ten does not indicate a leak.
    setMaxListeners(0, this.signal)
    if (outer.aborted) this.#stopWork()
    else outer.addEventListener('abort', this.#stopWork)
    this.#holdUntil(acquired.sinceMs + heldMs)
    this.#heartbeat = this.#beat(acquired.sinceMs)
  }

  async end(): Promise<void> {
    this.#cancelLoss()
    this.outer.removeEventListener('abort', this.#stopWork)
    this.#ended.abort()
    await this.#heartbeat
    if (!this.lost) await this.attempt.release(this.token)
  }

  async #beat(sinceMs: number): Promise<void> {
    let nextMs = sinceMs + heartbeatMs
    for (;;) {
      await sleep(this.clock, nextMs - this.clock.monotonicMs(), this.#ended.signal)
      if (this.#ended.signal.aborted) return
      const beganMs = this.clock.monotonicMs()
      nextMs = beganMs + heartbeatMs
      try {
        if (!(await this.attempt.renew(this.token))) this.#lose()
        else if (!this.#ended.signal.aborted) this.#holdUntil(beganMs + heldMs)
      } catch (error) {
        if (!(error instanceof ReadModelsUnavailableError)) this.#lose()
        nextMs = this.clock.monotonicMs() + heartbeatRetryMs
      }
    }
  }

  #holdUntil(untilMs: number): void {
    this.#cancelLoss()
    const remainingMs = untilMs - this.clock.monotonicMs()
    // After a pause of the process that is longer than the lease, the loss must be handled before anything else.
    if (remainingMs <= 0) this.#lose()
    else this.#cancelLoss = this.clock.setTimer(() => this.#lose(), remainingMs)
  }

  #lose(): void {
    this.lost = true
    this.#cancelLoss()
    this.#ended.abort()
    this.#stopWork()
  }

  readonly #stopWork = (): void => this.#work.abort()
}

function sleep(clock: LeaseClock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.setTimer(end, delayMs)
    signal.addEventListener('abort', end)
  })
}
