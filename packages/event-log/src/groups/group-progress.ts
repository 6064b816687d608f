import type { GroupSettings } from './group-definition.js'

/** The batch size for a readBatchSize of 0, as in EventStoreDB. */
const fallbackBatchSize = 20
/** The size of unfinished events at which a group stops reading, regardless of its buffer settings. */
const maxHeldBytes = 64 * 1024 * 1024

/** Decides when a group reads, and how much: batches while it is behind, and as much as fits at the end of the log. */
export class ReadAhead {
  #isReading = false
  #isLive = false
  #isWoken = false

  constructor(private readonly settings: GroupSettings) {}

  get isLive(): boolean {
    return this.#isLive
  }

  /** Records that there may be new events. */
  wake(): void {
    this.#isWoken = true
  }

  /** Returns the number of events to read now, or `undefined` for none. It never waits for an ack while a consumer has free slots. */
  next(buffered: number, heldBytes: number): number | undefined {
    if (this.#isReading || heldBytes >= maxHeldBytes || (this.#isLive && !this.#isWoken)) return undefined
    const { historyBufferSize, liveBufferSize, readBatchSize } = this.settings
    const batch = readBatchSize > 0 ? readBatchSize : fallbackBatchSize
    const liveRoom = liveBufferSize - buffered
    if (liveRoom < 1) this.#isLive = false // the live buffer is full: return to reading in batches
    if (!this.#isLive && buffered > 0 && buffered + batch > historyBufferSize) return undefined
    this.#isReading = true
    this.#isWoken = false
    return this.#isLive ? liveRoom : batch
  }

  readSucceeded(atEnd: boolean): void {
    this.#isReading = false
    this.#isLive = atEnd
  }

  /** Requests the same read again. */
  readFailed(): void {
    this.#isReading = false
    this.#isWoken = true
  }
}

interface Delivery {
  readonly id: string
  ackId: string
}

/** The events in flight, by the ids that acks name, in order of delivery and therefore of their deadlines. */
export class InFlightEvents<E extends Delivery> {
  readonly #byAckId = new Map<string, E>()
  #duplicates = 0

  get size(): number {
    return this.#byAckId.size
  }

  all(): Iterable<E> {
    return this.#byAckId.values()
  }

  /** Adds a delivery. Events of different streams may have the same id: the second one gets a different ackId to distinguish them. */
  add(entry: E): void {
    entry.ackId = entry.id
    if (this.#byAckId.has(entry.id)) {
      this.#duplicates += 1
      entry.ackId = `${entry.id}/${this.#duplicates}`
    }
    this.#byAckId.set(entry.ackId, entry)
  }

  find(ackId: string): E | undefined {
    return this.#byAckId.get(ackId)
  }

  delete(entry: E): void {
    this.#byAckId.delete(entry.ackId)
  }
}

/** The events in flight for clients whose acks name the event's id, which refers to any of several events with that id. */
export class InFlightByEventId<E extends Delivery> extends InFlightEvents<E> {
  readonly #duplicatesOf = new Map<string, Set<E>>()

  override add(entry: E): void {
    super.add(entry)
    if (entry.ackId === entry.id) return
    this.#duplicatesOf.set(entry.id, (this.#duplicatesOf.get(entry.id) ?? new Set()).add(entry))
  }

  override find(ackId: string): E | undefined {
    return super.find(ackId) ?? this.#duplicatesOf.get(ackId)?.values().next().value
  }

  override delete(entry: E): void {
    super.delete(entry)
    const duplicates = this.#duplicatesOf.get(entry.id)
    if (duplicates?.delete(entry) && duplicates.size === 0) this.#duplicatesOf.delete(entry.id)
  }
}

/** An event that was read but not yet acked, skipped or durably parked. */
export interface Unfinished {
  /** The approximate size in memory, in bytes. */
  readonly size: number
  /** The checkpoint while this is the first unfinished event. */
  readonly before: number
  /** The number of earlier events that did not match. */
  readonly unmatchedBefore: number
  previous: Unfinished | undefined
  next: Unfinished | undefined
}

/**
 * The progress of a group. Unfinished events form a list in reading order, whose first entry limits the checkpoint, so a reload loses
 * no unfinished event. Memory is limited by the buffered events and those in flight, no matter how many later events are acked.
 */
export class GroupProgress {
  /** The position after which the group started. */
  readonly #start: number
  #first: Unfinished | undefined
  #last: Unfinished | undefined
  #heldBytes = 0
  #through: number
  #checkpoint: number | undefined
  #writing: number | undefined
  #finishedSinceCheckpoint = 0
  /** The number of events that did not match, and how many of them earlier checkpoints counted. */
  #unmatched = 0
  #unmatchedCounted = 0
  #isDueByTime = false
  #hasFailed = false
  #checkpointedAtMs: number | undefined

  /** @param start The stored checkpoint, or the position after which the group starts. */
  constructor(
    private readonly settings: GroupSettings,
    start: { readonly after: number; readonly checkpoint: number | undefined },
  ) {
    this.#start = start.after
    this.#through = start.checkpoint ?? start.after
    this.#checkpoint = start.checkpoint
  }

  /** The position up to which every event was read into the group or did not match. */
  get through(): number {
    return this.#through
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** The last checkpoint that was durably written. */
  get checkpoint(): number | undefined {
    return this.#checkpoint
  }

  get unmatched(): number {
    return this.#unmatched
  }

  add(event: Unfinished, position: number): void {
    event.previous = this.#last
    if (this.#last) this.#last.next = event
    else this.#first = event
    this.#last = event
    this.#heldBytes += event.size
    this.#through = position
  }

  /** Records that a page was scanned to its end. */
  advance(through: number, unmatched: number): void {
    this.#through = Math.max(this.#through, through)
    this.#unmatched += unmatched
  }

  finish(event: Unfinished): void {
    if (event.previous) event.previous.next = event.next
    else this.#first = event.next
    if (event.next) event.next.previous = event.previous
    else this.#last = event.previous
    this.#heldBytes -= event.size
    this.#finishedSinceCheckpoint += 1
  }

  /** Counts events that did not match towards a checkpoint, as if they were finished. */
  countUnmatched(count: number): void {
    this.#finishedSinceCheckpoint += count
  }

  /** Checks the time. Call it once a second. */
  tick(nowMs: number): void {
    const { minCheckpointCount, checkpointAfterMs } = this.settings
    const since = this.#checkpointedAtMs
    const isTime = checkpointAfterMs > 0 && (since === undefined || nowMs - since >= checkpointAfterMs)
    const isDue = this.#hasFailed || (isTime && this.#finishedCount() >= Math.max(1, minCheckpointCount))
    if (isDue && this.#hasMoved) this.#isDueByTime = true
  }

  get isCheckpointDue(): boolean {
    if (this.#writing !== undefined || !this.#hasMoved) return false
    return this.#isDueByTime || this.#finishedCount() >= Math.max(1, this.settings.maxCheckpointCount)
  }

  /** Returns the checkpoint to write now, if one is due. Call {@link written} or {@link failed} before the next one. */
  dueCheckpoint(nowMs: number): number | undefined {
    return this.isCheckpointDue ? this.finalCheckpoint(nowMs) : undefined
  }

  /** Returns the checkpoint to write before the group is unloaded, regardless of the counts. */
  finalCheckpoint(nowMs: number): number | undefined {
    if (this.#writing !== undefined || !this.#hasMoved) return undefined
    this.#writing = this.#position
    this.#isDueByTime = false
    this.#hasFailed = false
    this.#finishedSinceCheckpoint = 0
    this.#unmatchedCounted = this.#countableUnmatched()
    this.#checkpointedAtMs = nowMs
    return this.#writing
  }

  /** Records the written checkpoint. One that became due during the write follows; EventStoreDB would drop it. */
  written(): void {
    this.#checkpoint = this.#writing
    this.#writing = undefined
  }

  /** Schedules the checkpoint for the next tick. An immediate retry would write to a full disk with every ack. */
  failed(): void {
    this.#writing = undefined
    this.#hasFailed = true
  }

  get #position(): number {
    return this.#first ? this.#first.before : this.#through
  }

  get #hasMoved(): boolean {
    return this.#position > (this.#checkpoint ?? this.#start)
  }

  /** Returns the number of events that did not match and that the checkpoint may pass, which count as finished. */
  #countableUnmatched(): number {
    return this.#first ? this.#first.unmatchedBefore : this.#unmatched
  }

  #finishedCount(): number {
    return this.#finishedSinceCheckpoint + this.#countableUnmatched() - this.#unmatchedCounted
  }
}
