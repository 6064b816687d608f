import { setMaxListeners } from 'node:events'
import { isDeadHolder, newHolderId } from './lease-holder.js'
import {
  type Collection,
  type Document,
  DuplicateKeyError,
  type ReadModels,
  ReadModelsUnavailableError,
} from './read-models.js'

const collection = 'leases'
const LEASE_MS = 5_000
/** The holder stops this much earlier than others may begin, so that its work has the difference to notice. */
const HELD_MS = 4_000
const HEARTBEAT_MS = 1_500
const HEARTBEAT_RETRY_MS = 250
/** How soon a waiting holder sees a release or a dead process. */
const POLL_MS = 200
const BACK_OFF_MAX_MS = 5_000

export interface Lease {
  /** Grows with each holder, across a lost `leases` collection too. Guard writes with it: a late holder has a smaller one. */
  readonly token: number
  /** Aborts when the lease is lost and when the caller's own signal does; the work must end soon after (within a second). */
  readonly signal: AbortSignal
}

/** What leases need of time; the monotonic clock never steps. */
export interface LeaseClock {
  nowMs(): number
  monotonicMs(): number
  /** Hands back what cancels it. */
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
  /** Null after a release. */
  readonly holder: string | null
  /** Grows with every heartbeat; with the token it names one state of the document. */
  readonly renewals: number
  /** By the writer's clock, for people to read: nothing is decided by it. */
  readonly renewedAt: string
}

/** Every lease that was ever held, with who holds it; null after a release, or where the holder's process is gone from this host. */
export async function listLeases(
  readModels: ReadModels,
): Promise<readonly { readonly name: string; readonly holder: string | null; readonly renewedAt: string }[]> {
  const found = (await readModels.collection(collection).find({}, { sort: { _id: 1 } })) as readonly LeaseDocument[]
  return found.map(({ _id: name, holder, renewedAt }) => ({
    ...{ name, renewedAt },
    holder: holder === null || isDeadHolder(holder) ? null : holder,
  }))
}

/** What a waiting holder saw last, and since when by its own monotonic clock. */
interface Sighting {
  readonly token: number
  readonly renewals: number
  readonly sinceMs: number
}

/**
 * Runs `run` while holding the lease `name`, of which there is one holder at any time; waits for it as long as it takes. After a
 * loss it waits again and runs again. Resolves when `run` has returned without a loss, or when `signal` aborted and `run` has
 * ended (the lease is kept until then and handed over at once). Rejects with what `run` throws while the lease is held.
 *
 * Nobody's wall clock decides: a lease is taken over when its document has not changed for LEASE_MS on the waiter's monotonic
 * clock, and its holder counts HELD_MS from before it began the last heartbeat that succeeded, which is earlier. A holder whose
 * process is gone from this host is replaced at once.
 */
export async function runWithLease(
  readModels: ReadModels,
  name: string,
  options: { readonly signal: AbortSignal; readonly clock?: LeaseClock },
  run: (lease: Lease) => Promise<void>,
): Promise<void> {
  const { signal, clock = systemClock } = options
  const attempt = new LeaseAttempt(readModels.collection(collection), name, clock)
  while (!signal.aborted) {
    const acquired = await waitForLease(attempt, clock, signal)
    if (acquired === undefined) return
    const held = new HeldLease(attempt, clock, acquired, signal)
    try {
      await run(held)
    } catch (error) {
      // What fails after a loss, fails because of it; if not, it will fail again while the lease is held.
      if (!held.lost && !signal.aborted) throw error
    } finally {
      await held.end()
    }
    if (!held.lost) return
  }
}

interface Acquired {
  readonly token: number
  /** When the attempt that succeeded began. */
  readonly sinceMs: number
}

async function waitForLease(
  attempt: LeaseAttempt,
  clock: LeaseClock,
  signal: AbortSignal,
): Promise<Acquired | undefined> {
  let backOffMs = POLL_MS
  while (!signal.aborted) {
    let delayMs = POLL_MS
    try {
      const acquired = await attempt.acquire()
      if (acquired !== undefined) return acquired
      backOffMs = POLL_MS
    } catch (error) {
      if (!(error instanceof ReadModelsUnavailableError)) throw error
      delayMs = backOffMs
      backOffMs = Math.min(backOffMs * 2, BACK_OFF_MAX_MS)
    }
    await sleep(clock, delayMs, signal)
  }
  return undefined
}

/** The lease's document as one holder reads and changes it: only guarded single-document writes, atomic in every store. */
class LeaseAttempt {
  readonly #leases: Collection
  readonly #name: string
  readonly #clock: LeaseClock
  readonly #holder = newHolderId()
  #sighting: Sighting | undefined

  constructor(leases: Collection, name: string, clock: LeaseClock) {
    this.#leases = leases
    this.#name = name
    this.#clock = clock
  }

  /** Undefined while another holds it. @throws ReadModelsUnavailableError */
  async acquire(): Promise<Acquired | undefined> {
    const found = (await this.#leases.findOne({ _id: this.#name })) as LeaseDocument | null
    const sinceMs = this.#clock.monotonicMs()
    if (found !== null && !this.#isFree(found, sinceMs)) return undefined
    // Not only one more than the last: the read models may be lost or dropped, what was guarded by a token need not be.
    const token = Math.max((found?.token ?? 0) + 1, this.#clock.nowMs())
    const state = { token, holder: this.#holder, renewals: 0, renewedAt: this.#now() }
    if (found === null) {
      try {
        await this.#leases.bulkWrite([{ insertOne: { document: { _id: this.#name, ...state } } }])
      } catch (error) {
        if (error instanceof DuplicateKeyError) return undefined
        throw error
      }
      return { token, sinceMs }
    }
    const filter = { _id: this.#name, token: found.token, renewals: found.renewals }
    const { matchedCount } = await this.#leases.bulkWrite([{ updateOne: { filter, update: { $set: state } } }])
    return matchedCount === 1 ? { token, sinceMs } : undefined
  }

  /** False when another holds it now. @throws ReadModelsUnavailableError */
  async renew(token: number): Promise<boolean> {
    const update = { $inc: { renewals: 1 }, $set: { renewedAt: this.#now() } }
    const { matchedCount } = await this.#leases.bulkWrite([{ updateOne: { filter: this.#mine(token), update } }])
    return matchedCount === 1
  }

  async release(token: number): Promise<void> {
    try {
      await this.#leases.bulkWrite([{ updateOne: { filter: this.#mine(token), update: { $set: { holder: null } } } }])
    } catch (error) {
      // Nothing is lost but time: it runs out by itself.
      if (!(error instanceof ReadModelsUnavailableError)) throw error
    }
  }

  #isFree(found: LeaseDocument, nowMs: number): boolean {
    // Our own: the answer to an earlier attempt was lost, or the lease was lost and nobody wanted it.
    if (found.holder === null || found.holder === this.#holder) return true
    const seen = this.#sighting
    if (seen === undefined || seen.token !== found.token || seen.renewals !== found.renewals) {
      this.#sighting = { token: found.token, renewals: found.renewals, sinceMs: nowMs }
      return isDeadHolder(found.holder)
    }
    return nowMs - seen.sinceMs >= LEASE_MS || isDeadHolder(found.holder)
  }

  #mine(token: number): { readonly _id: string; readonly token: number; readonly holder: string } {
    return { _id: this.#name, token, holder: this.#holder }
  }

  #now(): string {
    return new Date(this.#clock.nowMs()).toISOString()
  }
}

/** A lease while it is held: its heartbeat, and the end of it. */
class HeldLease implements Lease {
  readonly token: number
  readonly signal: AbortSignal
  lost = false
  readonly #attempt: LeaseAttempt
  readonly #clock: LeaseClock
  readonly #ended = new AbortController()
  readonly #work = new AbortController()
  readonly #outer: AbortSignal
  readonly #heartbeat: Promise<void>
  #cancelLoss: () => void = () => {}

  constructor(attempt: LeaseAttempt, clock: LeaseClock, acquired: Acquired, outer: AbortSignal) {
    this.#attempt = attempt
    this.#clock = clock
    this.#outer = outer
    this.token = acquired.token
    this.signal = this.#work.signal
    // Whatever the work waits for listens here; the warning at eleven would be about nothing.
    setMaxListeners(0, this.signal)
    if (outer.aborted) this.#stopWork()
    else outer.addEventListener('abort', this.#stopWork)
    this.#holdUntil(acquired.sinceMs + HELD_MS)
    this.#heartbeat = this.#beat(acquired.sinceMs)
  }

  /** After the work has ended. */
  async end(): Promise<void> {
    this.#cancelLoss()
    this.#outer.removeEventListener('abort', this.#stopWork)
    this.#ended.abort()
    await this.#heartbeat
    if (!this.lost) await this.#attempt.release(this.token)
  }

  async #beat(sinceMs: number): Promise<void> {
    let nextMs = sinceMs + HEARTBEAT_MS
    for (;;) {
      await sleep(this.#clock, nextMs - this.#clock.monotonicMs(), this.#ended.signal)
      if (this.#ended.signal.aborted) return
      const beganMs = this.#clock.monotonicMs()
      nextMs = beganMs + HEARTBEAT_MS
      try {
        if (!(await this.#attempt.renew(this.token))) this.#lose()
        else if (!this.#ended.signal.aborted) this.#holdUntil(beganMs + HELD_MS)
      } catch (error) {
        if (!(error instanceof ReadModelsUnavailableError)) this.#lose()
        nextMs = this.#clock.monotonicMs() + HEARTBEAT_RETRY_MS
      }
    }
  }

  #holdUntil(untilMs: number): void {
    this.#cancelLoss()
    const remainingMs = untilMs - this.#clock.monotonicMs()
    // After a pause longer than the lease its end must come before anything else does.
    if (remainingMs <= 0) this.#lose()
    else this.#cancelLoss = this.#clock.setTimer(() => this.#lose(), remainingMs)
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
    if (signal.aborted) {
      resolve()
      return
    }
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.setTimer(end, delayMs)
    signal.addEventListener('abort', end)
  })
}
