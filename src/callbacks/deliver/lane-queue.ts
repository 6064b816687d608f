/** Lanes remembered of each kind; the read model finds those that do not fit. */
const maxLanes = 256

/**
 * The lanes (trackingIds) of one merchant that the worker knows about. What a lane is to send is decided from the log when
 * its turn comes; this only says whose turn it is, never twice at once for the same lane, and stays small however many
 * callbacks wait.
 */
export class LaneQueue {
  readonly #ready = new Set<string>()
  readonly #inFlight = new Set<string>()
  /** Offered while in flight: something may have changed since the lane was loaded. */
  readonly #offeredAgain = new Set<string>()
  /** Not due yet: the time in milliseconds. */
  readonly #postponed = new Map<string, number>()
  /** Lanes did not fit since this was last set to false. */
  overflowed = false

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

  knows(lane: string): boolean {
    return this.#ready.has(lane) || this.#inFlight.has(lane) || this.#postponed.has(lane)
  }

  /** There may be something to send. */
  offer(lane: string): void {
    this.#postponed.delete(lane)
    if (this.#inFlight.has(lane)) this.#offeredAgain.add(lane)
    else if (this.room > 0 || this.#ready.has(lane)) this.#ready.add(lane)
    else this.overflowed = true
  }

  /** Nothing to send before `dueMs`. */
  postpone(lane: string, dueMs: number): void {
    if (this.#postponed.size < maxLanes) this.#postponed.set(lane, dueMs)
  }

  offerDue(nowMs: number): void {
    for (const [lane, dueMs] of this.#postponed) {
      if (dueMs > nowMs) continue
      if (this.room === 0) return
      this.offer(lane)
    }
  }

  /** The next lane; it is in flight until {@link release}. */
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

  /** Forgets all but what is in flight. */
  clear(): void {
    this.#ready.clear()
    this.#postponed.clear()
    this.overflowed = false
  }
}
