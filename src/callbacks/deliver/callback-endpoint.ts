import type { CallbackCommands } from '../../commands/callback/callback-commands.js'
import type { MerchantCommands } from '../../commands/merchant/merchant-commands.js'
import type { Delivery } from '../../domain/callback.js'
import { hourMs, minuteMs } from '../../kernel/time.js'
import { type CallbackDocument, collections } from '../../read-models/documents.js'
import type { Filter, ReadModels } from '../../read-models/read-models.js'
import type { EndpointConnection } from './endpoint-connection.js'

/** Before every time of the log. */
export const never = new Date(0).toISOString()

const opensAfterFailures = 20
const opensAfterMs = 10_000
const firstProbeMs = 1_000
const lastProbeMs = 10_000

/**
 * Limits the attempts to a failing endpoint. It opens after 20 consecutive failures, of any transfers, over at least ten seconds, because
 * many callbacks that fail at the same time do not prove a dead endpoint. Then one attempt at a time is allowed: the first after a second,
 * each following one after twice as long, at most ten seconds. The first success closes it.
 *
 * A probe is a normal attempt of a callback that is due. A delayed callback is not an attempt: it is sent later than scheduled, never
 * earlier, and as many times.
 */
export class CircuitBreaker {
  #failures = 0
  #firstFailureMs = 0
  #probes = 0
  #nextProbeMs = 0
  isOpen = false

  constructor(private readonly maxInFlight: number) {}

  allows(inFlight: number, nowMs: number): boolean {
    return this.isOpen ? inFlight === 0 && nowMs >= this.#nextProbeMs : inFlight < this.maxInFlight
  }

  recordSuccess(): void {
    this.#failures = 0
    this.isOpen = false
    this.#probes = 0
    this.#nextProbeMs = 0
  }

  recordFailure(nowMs: number): void {
    if (this.#failures++ === 0) this.#firstFailureMs = nowMs
    if (this.#failures < opensAfterFailures || nowMs - this.#firstFailureMs < opensAfterMs) return
    this.isOpen = true
    // Attempts that were in flight when it opened fail later. They are not probes.
    if (nowMs < this.#nextProbeMs) return
    this.#nextProbeMs = nowMs + Math.min(lastProbeMs, firstProbeMs * 2 ** this.#probes)
    this.#probes++
  }

  /** Allows the next probe immediately, because a user requested an attempt. */
  probeNow(): void {
    this.#nextProbeMs = 0
  }
}

/** An endpoint that only fails for this long is disabled. */
const disableAfterMs = 120 * hourMs

/** Returns the metadata of the events that the service records about an endpoint. */
export function contextOf(merchantId: string) {
  return { actor: 'system:callbacks', $correlationId: merchantId, $causationId: merchantId }
}

/** Shorter failures are not recorded. */
const recordAfterMs = 10 * minuteMs

/** Tracks how long an endpoint has only failed, across restarts. A crash loses at most the last minutes. */
export class EndpointHealth {
  #failingSinceMs: number | undefined
  /** Whether the log records that the endpoint fails, or `undefined` until that is read. */
  #isRecorded: boolean | undefined
  #loading: Promise<void> | undefined

  constructor(
    private readonly merchants: Pick<MerchantCommands, 'find'>,
    private readonly commands: CallbackCommands,
    private readonly merchantId: string,
  ) {}

  get isFailing(): boolean {
    return this.#failingSinceMs !== undefined
  }

  /** Whether a success changes nothing. */
  get isKnownHealthy(): boolean {
    return this.#isRecorded === false && !this.isFailing
  }

  /** @throws StoreUnavailableError, TooMuchContentionError */
  async succeeded(): Promise<void> {
    if (this.#isRecorded === undefined) await this.#load()
    this.#failingSinceMs = undefined
    if (!this.#isRecorded) return
    await this.commands.noteEndpointRecovered(this.merchantId, contextOf(this.merchantId))
    this.#isRecorded = false
  }

  /** Returns whether the endpoint must be disabled: it only failed for 120 hours since it was enabled or its URL changed. @throws StoreUnavailableError, TooMuchContentionError */
  async failed(nowMs: number): Promise<boolean> {
    if (this.#isRecorded === undefined) await this.#load()
    // A time in the future is from before the clock was set back.
    this.#failingSinceMs = Math.min(this.#failingSinceMs ?? nowMs, nowMs)
    if (nowMs - this.#failingSinceMs >= recordAfterMs && !this.#isRecorded) {
      const since = new Date(this.#failingSinceMs).toISOString()
      await this.commands.noteEndpointFailing(this.merchantId, since, contextOf(this.merchantId))
      this.#isRecorded = true
    }
    if (nowMs - this.#failingSinceMs < disableAfterMs) return false
    // The log, because the merchant directory may lag.
    const { endpointChangedAt = never } = (await this.merchants.find(this.merchantId)) ?? {}
    this.#failingSinceMs = Math.max(this.#failingSinceMs, Date.parse(endpointChangedAt))
    return nowMs - this.#failingSinceMs >= disableAfterMs
  }

  /** Reads the log once for all attempts that end in the meantime. */
  #load(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #read(): Promise<void> {
    const { failingSince: since } = await this.commands.endpointState(this.merchantId)
    this.#isRecorded = since !== null
    if (since === null) return
    this.#failingSinceMs = Math.min(Date.parse(since), this.#failingSinceMs ?? Number.POSITIVE_INFINITY)
  }
}

/** The lanes in memory, per state. The read model finds the others. */
const maxLanes = 512

/**
 * The lanes (trackingIds) of one merchant that the worker has in memory. A lane is in flight at most once at a time. When its turn comes,
 * the log decides which callback it sends. Memory stays bounded regardless of the number of waiting callbacks.
 */
export class LaneQueue {
  readonly #ready = new Set<string>()
  readonly #inFlight = new Set<string>()
  /** Lanes that were offered while in flight: they may have changed since they were loaded. */
  readonly #offeredAgain = new Set<string>()
  /** Lanes that are not due yet, with the due time in milliseconds. */
  readonly #postponed = new Map<string, number>()
  /** Whether lanes did not fit since this was last set to false. */
  hasOverflowed = false

  get room(): number {
    return maxLanes - this.#ready.size
  }

  get readyCount(): number {
    return this.#ready.size
  }

  get inFlightCount(): number {
    return this.#inFlight.size
  }

  get isEmpty(): boolean {
    return this.#ready.size === 0 && this.#inFlight.size === 0 && this.#postponed.size === 0
  }

  has(lane: string): boolean {
    return this.#ready.has(lane) || this.#inFlight.has(lane) || this.#postponed.has(lane)
  }

  /** Adds a lane that may have something to send. */
  offer(lane: string): void {
    this.#postponed.delete(lane)
    if (this.#inFlight.has(lane)) this.#offeredAgain.add(lane)
    else if (this.room > 0 || this.#ready.has(lane)) this.#ready.add(lane)
    else this.hasOverflowed = true
  }

  postpone(lane: string, dueMs: number): void {
    if (this.#postponed.size < maxLanes) this.#postponed.set(lane, dueMs)
  }

  /** Ends the wait of every lane. */
  endWaits(): void {
    for (const lane of this.#postponed.keys()) this.#postponed.set(lane, 0)
  }

  offerDue(nowMs: number): void {
    for (const [lane, dueMs] of this.#postponed) {
      if (dueMs > nowMs) continue
      if (this.room === 0) return
      this.offer(lane)
    }
  }

  /** Takes the next lane, which is in flight until {@link release}. */
  take(): string | undefined {
    const [lane] = this.#ready
    if (lane === undefined) return undefined
    this.#ready.delete(lane)
    this.#inFlight.add(lane)
    return lane
  }

  release(lane: string): void {
    this.#inFlight.delete(lane)
    if (this.#offeredAgain.delete(lane)) this.offer(lane)
  }

  /** Drops all lanes except those in flight. */
  clear(): void {
    this.#ready.clear()
    this.#postponed.clear()
    this.hasOverflowed = false
  }
}

const rescanEveryMs = 60_000
/** How far, and how often, the search steps back for callbacks that a lagging read model received late. */
const overlapMs = 15_000
const overlapEveryMs = 5_000

/**
 * The callbacks that a search reads, one kind after the other: those whose wait began in the future, because the clock was set back; those
 * whose wait began before their endpoint was changed; and those whose time has come.
 */
const phases = ['from the future', 'before a change', 'due'] as const

/**
 * Finds a merchant's due callbacks in the read model: after a restart, and those that do not fit in memory. The search proceeds by due
 * time, so that it does not find callbacks again that wait for an earlier one of their lane. It steps back every few seconds, and restarts
 * every minute, because the read model may lag. The log decides which callback is sent.
 */
export class WaitingCallbacks {
  #phase: (typeof phases)[number] = phases[0]
  /** Callbacks whose wait began earlier are due. */
  #retryFrom = never
  #after: { readonly at: string; readonly position: number } | undefined
  #startedMs = 0
  #steppedBackMs = 0
  /** Whether there may be more callbacks after the last page. */
  hasMore = true

  constructor(
    private readonly readModels: ReadModels,
    private readonly merchantId: string,
    private readonly nowMs: () => number,
  ) {}

  /** Continues from the earliest callback. */
  restart(): void {
    this.#phase = phases[0]
    this.#after = undefined
    this.hasMore = true
  }

  /** Continues with the callbacks that have waited since before this time (ISO 8601). */
  retryFrom(at: string): void {
    this.#retryFrom = at
    this.restart()
  }

  /** Returns the trackingIds of the next due callbacks, possibly with duplicates. @throws ReadModelsUnavailableError */
  async next(at: string, limit: number): Promise<string[]> {
    const nowMs = this.nowMs()
    if (!this.hasMore) this.#stepBack(nowMs)
    if (!this.#after) this.#startedMs = nowMs
    // Set before the query, so that it is false if the read model is unavailable. The next search sets it again.
    this.hasMore = false
    const field = this.#field
    const phase = this.#phase
    const found = (await this.readModels.collection(collections.callbacks).find(this.#filter(at), {
      sort: { [field]: 1, position: 1 },
      limit,
    })) as readonly CallbackDocument[]
    const last = found.at(-1)
    this.#after = last?.[field] ? { at: last[field], position: last.position } : this.#after
    this.hasMore = found.length === limit || phase !== 'due'
    if (phase !== 'due' && found.length < limit) {
      this.#phase = phases[phases.indexOf(phase) + 1]!
      this.#after = undefined
    }
    return found.map(({ trackingId }) => trackingId)
  }

  #stepBack(nowMs: number): void {
    if (nowMs - this.#startedMs >= rescanEveryMs) this.restart()
    if (!this.#after || nowMs - this.#steppedBackMs < overlapEveryMs) return
    this.#steppedBackMs = nowMs
    this.#after = { at: new Date(Date.parse(this.#after.at) - overlapMs).toISOString(), position: -1 }
  }

  get #field(): 'dueSince' | 'dueAt' {
    return this.#phase === 'due' ? 'dueAt' : 'dueSince'
  }

  #filter(at: string): Filter {
    const merchantId = this.merchantId
    const field = this.#field
    const isDue = { 'from the future': { $gt: at }, 'before a change': { $lt: this.#retryFrom }, due: { $lte: at } }[
      this.#phase
    ]
    if (!this.#after) return { merchantId, [field]: isDue }
    const { at: after, position } = this.#after
    const isAfter: Filter = { $or: [{ [field]: { $gt: after } }, { [field]: after, position: { $gt: position } }] }
    return { $and: [{ merchantId, [field]: { ...isDue, $gte: after } }, isAfter] }
  }
}

/**
 * Returns whether the merchant has a callback that is due. `retryFrom` returns the time of the latest change that ends every wait before it.
 * @throws ReadModelsUnavailableError
 */
export async function hasDueCallbacks(
  readModels: ReadModels,
  merchantId: string,
  at: string,
  retryFrom: () => Promise<string>,
): Promise<boolean> {
  const callbacks = readModels.collection(collections.callbacks)
  const has = async (due: Filter) => (await callbacks.findOne({ merchantId, ...due })) !== null
  if (!(await has({ dueAt: { $gt: never } }))) return false
  if ((await has({ dueAt: { $lte: at } })) || (await has({ dueSince: { $gt: at } }))) return true
  return has({ dueSince: { $lt: await retryFrom() } })
}

export const maxAttemptsPerEndpoint = 16
/** Attempts with a response that a slow log has not recorded yet. A crash sends at most this many again. */
const maxUnreported = 240

/** The merchant directory follows the log within milliseconds. */
const directoryLagMs = 1_000

/** A search that restarts in a lagging read model finds callbacks that were already delivered; one that continues does not. */
const restartEveryMs = 100

/** The worker's state of one merchant's endpoint. It shares nothing with other merchants' endpoints. */
export class CallbackEndpoint {
  readonly lanes = new LaneQueue()
  readonly breaker = new CircuitBreaker(maxAttemptsPerEndpoint)
  /** Attempts without a response. Their lanes stay in flight longer: until the attempt is reported. */
  sending = 0
  #heldUntilMs = 0
  readonly #known: { change?: string; request?: string } = {}
  #retryFrom = never
  /** Grows with each change and request. An attempt during which it grows was made to the endpoint before its correction. */
  corrections = 0
  refilledMs = Number.NEGATIVE_INFINITY
  isRefilling = false

  constructor(
    readonly merchantId: string,
    readonly connection: EndpointConnection,
    readonly health: EndpointHealth,
    readonly waiting: WaitingCallbacks,
    /** A clock that never goes back, for everything that waits in memory. */
    readonly nowMs: () => number,
  ) {}

  mayAttempt(): boolean {
    const nowMs = this.nowMs()
    if (nowMs < this.#heldUntilMs || !this.breaker.allows(this.sending, nowMs)) return false
    return this.lanes.inFlightCount < maxAttemptsPerEndpoint + maxUnreported
  }

  /** Whether the read model has more callbacks than memory. `monotonicMs` is the time of a monotonic clock. */
  needsRefill(monotonicMs: number): boolean {
    if (this.lanes.hasOverflowed) return monotonicMs - this.refilledMs >= restartEveryMs
    return this.waiting.hasMore
  }

  /**
   * Notes the latest change of the endpoint, or request to send what waits, after which callbacks that wait after a failed attempt are sent
   * again; times are ISO 8601. A node whose clock is ahead can have made it in the future, and a clock can be set back since: a change is
   * new if its time is different. One that happens now ends all waits until now, and the wait of each attempt in flight ({@link corrections}).
   */
  retryFrom(kind: 'change' | 'request', at: string, now: string): void {
    const known = this.#known[kind]
    if (at === known) return
    this.#known[kind] = at
    // The first one that is known can be old. Later failures must not count as earlier.
    const from = known === undefined && at < now ? at : now
    if (known === undefined && from <= this.#retryFrom) return
    this.#retryFrom = from
    this.corrections++
    this.breaker.probeNow()
    this.lanes.endWaits()
    this.waiting.retryFrom(from)
  }

  /** Whether the wait of a callback ends early. If the clock was set back since the change, its later failures would count as earlier. */
  endsWaitOf({ attempts, waitingSince }: Delivery, now: string): boolean {
    return attempts > 0 && waitingSince < this.#retryFrom && this.#retryFrom <= now
  }

  /** Prevents attempts until the merchant directory knows that the endpoint was disabled. */
  holdUntilKnownDisabled(): void {
    this.#heldUntilMs = this.nowMs() + directoryLagMs
  }

  /** Whether it can be dropped without losing state. */
  get isIdle(): boolean {
    return this.lanes.isEmpty && !this.waiting.hasMore && !this.breaker.isOpen && !this.health.isFailing
  }
}
