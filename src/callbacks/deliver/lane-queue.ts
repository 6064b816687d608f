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
