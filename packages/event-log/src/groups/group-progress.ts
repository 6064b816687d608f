import type { GroupSettings } from './group-definition.js'

/** An event from when it was read until it was acked, skipped, or durably parked. */
export interface Unfinished {
  /** Bytes it takes in memory, about. */
  readonly size: number
  /** Checkpoint while this is the lowest unfinished event. */
  readonly before: number
  /** How many events before it did not match. */
  readonly unmatchedBefore: number
  previous: Unfinished | undefined
  next: Unfinished | undefined
}

/**
 * How far a group has come. Unfinished events form a list in reading order, whose head bounds the checkpoint: nothing
 * that was read but not finished can be lost by a reload, and memory is bounded by what is buffered and in flight,
 * however far acks run ahead of the lowest one.
 */
export class Progress {
  readonly #settings: GroupSettings
  /** The place behind which the group began. */
  readonly #begin: number
  #lowest: Unfinished | undefined
  #highest: Unfinished | undefined
  #heldBytes = 0
  #through: number
  #checkpoint: number | undefined
  #writing: number | undefined
  #finishedSinceCheckpoint = 0
  /** Events of pages that did not match, and how many of them count into earlier checkpoints. */
  #unmatched = 0
  #unmatchedCounted = 0
  #isDueByTime = false
  #hasFailed = false
  #checkpointedAtMs: number | undefined

  /** @param start the stored checkpoint, or the place behind which the group begins. */
  constructor(settings: GroupSettings, start: { readonly after: number; readonly checkpoint: number | undefined }) {
    this.#settings = settings
    this.#begin = start.after
    this.#through = start.checkpoint ?? start.after
    this.#checkpoint = start.checkpoint
  }

  /** Everything up to here has been read into the group or did not match. */
  get through(): number {
    return this.#through
  }

  /** Of what is unfinished. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** The last one that was durably written. */
  get checkpoint(): number | undefined {
    return this.#checkpoint
  }

  /** How many events did not match so far. */
  get unmatched(): number {
    return this.#unmatched
  }

  add(event: Unfinished, place: number): void {
    event.previous = this.#highest
    if (this.#highest) this.#highest.next = event
    else this.#lowest = event
    this.#highest = event
    this.#heldBytes += event.size
    this.#through = place
  }

  /** The page was looked at to its end. */
  lookedAt(through: number, unmatched: number): void {
    this.#through = Math.max(this.#through, through)
    this.#unmatched += unmatched
  }

  finish(event: Unfinished): void {
    if (event.previous) event.previous.next = event.next
    else this.#lowest = event.next
    if (event.next) event.next.previous = event.previous
    else this.#highest = event.previous
    this.#heldBytes -= event.size
    this.#finishedSinceCheckpoint += 1
  }

  /** Events did not match: they count towards a checkpoint as if they were finished. */
  countUnmatched(count: number): void {
    this.#finishedSinceCheckpoint += count
  }

  /** Once a second. */
  tick(nowMs: number): void {
    const { minCheckpointCount, checkpointAfterMs } = this.#settings
    const since = this.#checkpointedAtMs
    const isTime = checkpointAfterMs > 0 && (since === undefined || nowMs - since >= checkpointAfterMs)
    const isDue = this.#hasFailed || (isTime && this.#finishedCount() >= Math.max(1, minCheckpointCount))
    if (isDue && this.#hasMoved) this.#isDueByTime = true
  }

  get isCheckpointDue(): boolean {
    if (this.#writing !== undefined || !this.#hasMoved) return false
    return this.#isDueByTime || this.#finishedCount() >= Math.max(1, this.#settings.maxCheckpointCount)
  }

  /** The checkpoint to be written now, if one is due. Call {@link written} or {@link failed} afterwards: one write at a time. */
  dueCheckpoint(nowMs: number): number | undefined {
    return this.isCheckpointDue ? this.lastCheckpoint(nowMs) : undefined
  }

  /** The same, whatever the counts: the group is about to be unloaded. */
  lastCheckpoint(nowMs: number): number | undefined {
    if (this.#writing !== undefined || !this.#hasMoved) return undefined
    this.#writing = this.#place
    this.#isDueByTime = false
    this.#hasFailed = false
    this.#finishedSinceCheckpoint = 0
    this.#unmatchedCounted = this.#countableUnmatched()
    this.#checkpointedAtMs = nowMs
    return this.#writing
  }

  /** What fell due during the write is written next; the real server drops it. */
  written(): void {
    this.#checkpoint = this.#writing
    this.#writing = undefined
  }

  /** It is due again at the next tick: not at once, or a full disk would be written to with every ack. */
  failed(): void {
    this.#writing = undefined
    this.#hasFailed = true
  }

  get #place(): number {
    return this.#lowest ? this.#lowest.before : this.#through
  }

  get #hasMoved(): boolean {
    return this.#place > (this.#checkpoint ?? this.#begin)
  }

  /** What did not match counts as finished once the checkpoint may pass it. */
  #countableUnmatched(): number {
    return this.#lowest ? this.#lowest.unmatchedBefore : this.#unmatched
  }

  #finishedCount(): number {
    return this.#finishedSinceCheckpoint + this.#countableUnmatched() - this.#unmatchedCounted
  }
}
