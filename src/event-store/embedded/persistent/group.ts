import {
  comparePositions,
  type NackAction,
  type Page,
  type PersistentSubscriptionSettings,
  type Position,
  type RecordedEvent,
} from '../../event-store.js'
import { Deque } from './deque.js'
import { type Member, type Strategy, strategyNamed } from './strategy.js'

/** What a group reads next: events recorded after `after`, at most `maxCount` of them. */
export interface ReadRequest {
  readonly after: Position | undefined
  readonly maxCount: number
}

/** A parked event that is to be delivered again. */
export interface ReplayedEvent {
  readonly event: RecordedEvent
  readonly parkedRevision: number
  readonly parkedId: string
}

export interface Delivered {
  readonly consumer: number
  readonly event: RecordedEvent
  readonly retryCount: number
  readonly ackId: string
}

/** An event to be written to the parked stream; hand it back with {@link Group.parked} once that is durable. */
export interface Park {
  readonly event: RecordedEvent
  readonly reason: string
  /** The parked event that this one takes the place of: it had been replayed. */
  readonly replaces: number | undefined
}

interface Entry {
  readonly event: RecordedEvent
  /** Place in the retry queue: the order of reading; replayed ones behind all others, by parked revision. */
  readonly order: number
  /** Checkpoint while this is the lowest unfinished event. */
  readonly before: Position | undefined
  readonly parkedRevision: number | undefined
  readonly id: string
  ackId: string
  retryCount: number
  deliveredAtMs: number
  member: Member | undefined
  previous: Entry | undefined
  next: Entry | undefined
}

type ParkedEntry = Park & { readonly entry: Entry }

const replayOrder = 2 ** 52
/** What the real server reads when a group's readBatchSize is 0. */
const fallbackBatchSize = 20
/** With so many parks not yet durable the group stops delivering: each could free a slot for one more. */
const maxParksUnwritten = 1_000

/**
 * A persistent subscription's rules, without I/O or clock. After any input ask for what it wants done: `dispatch`,
 * `takeParks`, `takeReplaysDone`, `checkpointToWrite`, `nextRead`.
 *
 * An event is unfinished from when it was read until it was acked, skipped, or durably parked; unfinished ones form a
 * list in reading order, whose head bounds the checkpoint. So nothing that was read but not finished can be lost by a
 * reload, and memory is bounded by what is buffered and in flight, however far acks run ahead of the lowest one.
 */
export class Group {
  readonly #settings: PersistentSubscriptionSettings
  readonly #strategy: Strategy
  readonly #members = new Map<number, Member>()
  /** In order of delivery, hence of deadline. */
  readonly #inFlight = new Map<string, Entry>()
  readonly #retries = new Deque<Entry>()
  readonly #fresh = new Deque<Entry>()
  #lowest: Entry | undefined
  #highest: Entry | undefined
  #parks: ParkedEntry[] = []
  #parksUnwritten = 0
  #replaysDone: number[] = []
  #nextOrder = 0
  #freeSlots = 0
  #duplicates = 0

  #through: Position | undefined
  #reading = false
  #live = false
  #woken = false

  #checkpoint: Position | undefined
  #writing: Position | undefined
  #doneSinceCheckpoint = 0
  #checkpointDue = false
  #checkpointLost = false
  #checkpointedAtMs: number | undefined

  /** @param start the stored checkpoint, or the place after which the group begins. */
  constructor(
    settings: PersistentSubscriptionSettings,
    start: { readonly after: Position | undefined; readonly checkpoint: Position | undefined },
  ) {
    this.#settings = settings
    this.#strategy = strategyNamed(settings.consumerStrategy)
    this.#through = start.checkpoint ?? start.after
    this.#checkpoint = start.checkpoint
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  get consumers(): number {
    return this.#members.size
  }

  /** The last one that was durably written. */
  get checkpoint(): Position | undefined {
    return this.#checkpoint
  }

  /** Everything up to here has been read into the group or did not match. */
  get through(): Position | undefined {
    return this.#through
  }

  /** Retried and replayed events that wait for a consumer. */
  get waitingForRetry(): number {
    return this.#retries.length
  }

  // ---- consumers

  join(consumer: number, bufferSize: number): void {
    const member: Member = { id: consumer, bufferSize, inFlight: 0 }
    this.#members.set(consumer, member)
    this.#freeSlots += bufferSize
    this.#strategy.join(member)
  }

  /** What it had in flight goes back, before anything new. That counts as a retry, but never parks. */
  leave(consumer: number): void {
    const member = this.#members.get(consumer)
    if (!member) return
    const back: Entry[] = []
    for (const entry of this.#inFlight.values()) if (entry.member === member) back.push(entry)
    this.#members.delete(consumer)
    this.#strategy.leave(member)
    for (const entry of back) {
      this.#release(entry)
      entry.retryCount += 1
    }
    this.#freeSlots -= member.bufferSize
    this.#requeue(back)
  }

  // ---- answers of consumers

  ack(ackIds: readonly string[]): void {
    for (const ackId of ackIds) {
      const entry = this.#inFlight.get(ackId)
      if (!entry) continue
      this.#release(entry)
      this.#finish(entry)
    }
    this.#noteCountReached()
  }

  /** An unknown action is a retry; `stop` is an ack, as the recorded server has it. */
  nack(action: NackAction | 'stop' | 'unknown', reason: string, ackIds: readonly string[]): void {
    if (action === 'skip' || action === 'stop') {
      this.ack(ackIds)
      return
    }
    const entries: Entry[] = []
    for (const ackId of ackIds) {
      const entry = this.#inFlight.get(ackId)
      if (!entry) continue
      this.#release(entry)
      entries.push(entry)
    }
    if (action === 'park') {
      for (const entry of entries) this.#park(entry, `Client explicitly NAK'ed message.\n${reason}`)
    } else {
      this.#retry(entries)
    }
  }

  // ---- time

  /** Once a second. */
  tick(nowMs: number): void {
    const late: Entry[] = []
    for (const entry of this.#inFlight.values()) {
      if (nowMs - entry.deliveredAtMs < this.#settings.messageTimeoutMs) break
      late.push(entry)
    }
    for (const entry of late) this.#release(entry)
    this.#retry(late)
    if (this.#checkpointLost) this.#checkpointDue = true
    this.#noteTimeReached(nowMs)
  }

  // ---- reading

  /** Something was recorded. */
  wake(): void {
    this.#woken = true
  }

  /** Asks for events as long as there is room for them: never waits for an ack while a consumer has slots. */
  nextRead(): ReadRequest | undefined {
    if (this.#reading) return undefined
    const buffered = this.#fresh.length
    const { historyBufferSize, liveBufferSize, readBatchSize } = this.#settings
    const batch = readBatchSize > 0 ? readBatchSize : fallbackBatchSize
    let maxCount = batch
    if (this.#live) {
      if (!this.#woken) return undefined
      maxCount = liveBufferSize - buffered
      if (maxCount < 1) this.#live = false // the live buffer overflows: fall back to reading in batches
    }
    if (!this.#live) {
      if (buffered > 0 && buffered + batch > historyBufferSize) return undefined
      maxCount = batch
    }
    this.#reading = true
    this.#woken = false
    return { after: this.#through, maxCount }
  }

  loaded(page: Page): void {
    this.#reading = false
    for (const event of page.events) {
      this.#append(event)
      this.#through = event.position
    }
    if (page.checkpoint && (!this.#through || comparePositions(page.checkpoint, this.#through) > 0)) {
      this.#through = page.checkpoint
    }
    this.#live = page.atEnd
  }

  /** The read could not be done; it is asked for again. */
  readFailed(): void {
    this.#reading = false
    this.#woken = true
  }

  /** Events were passed over since they do not match: they count towards a checkpoint as if done. */
  passed(count: number): void {
    this.#doneSinceCheckpoint += count
    this.#noteCountReached()
  }

  /** In order of their parked revisions. */
  replay(events: readonly ReplayedEvent[]): void {
    this.#requeue(
      events.map(({ event, parkedRevision, parkedId }) =>
        newEntry(event, replayOrder + parkedRevision, undefined, parkedId, parkedRevision),
      ),
    )
  }

  // ---- outputs

  dispatch(nowMs: number): Delivered[] {
    const delivered: Delivered[] = []
    if (this.#parksUnwritten >= maxParksUnwritten) return delivered
    this.#drain(this.#retries, nowMs, delivered)
    this.#drain(this.#fresh, nowMs, delivered)
    return delivered
  }

  takeParks(): Park[] {
    const parks = this.#parks
    this.#parks = []
    return parks
  }

  /** It is durable in the parked stream, so the checkpoint may pass it. */
  parked(park: Park): void {
    this.#parksUnwritten -= 1
    const { entry } = park as ParkedEntry
    if (entry.parkedRevision === undefined) this.#finish(entry)
    this.#noteCountReached()
  }

  /** Parked revisions whose replay was acked or skipped. */
  takeReplaysDone(): number[] {
    const done = this.#replaysDone
    this.#replaysDone = []
    return done
  }

  get isCheckpointDue(): boolean {
    return this.#checkpointDue && !this.#writing
  }

  /** Call {@link checkpointWritten} or {@link checkpointFailed} afterwards: one write at a time. */
  checkpointToWrite(nowMs: number): Position | undefined {
    if (!this.#checkpointDue || this.#writing) return undefined
    this.#checkpointDue = false
    return this.#startCheckpoint(nowMs)
  }

  /** As {@link checkpointToWrite}, but whatever the counts: the group is about to be put down. */
  lastCheckpoint(nowMs: number): Position | undefined {
    return this.#writing ? undefined : this.#startCheckpoint(nowMs)
  }

  checkpointWritten(): void {
    this.#checkpoint = this.#writing
    this.#writing = undefined
    // What fell due during the write is written now; the real server drops it.
    this.#noteCountReached()
  }

  /** It is due again at the next tick: not at once, or a full disk would be written to with every ack. */
  checkpointFailed(): void {
    this.#writing = undefined
    this.#checkpointLost = true
  }

  // ---- inside

  #append(event: RecordedEvent): void {
    const entry = newEntry(event, this.#nextOrder, this.#through, event.id, undefined)
    this.#nextOrder += 1
    entry.previous = this.#highest
    if (this.#highest) this.#highest.next = entry
    else this.#lowest = entry
    this.#highest = entry
    this.#fresh.push(entry)
  }

  /** Pinned leaves in place what waits for a full consumer, and goes on behind it. */
  #drain(queue: Deque<Entry>, nowMs: number, delivered: Delivered[]): void {
    const kept: Entry[] = []
    while (this.#freeSlots > 0) {
      const entry = queue.peek()
      if (!entry) break
      queue.shift()
      const member = this.#strategy.choose(entry.event.stream)
      if (member) delivered.push(this.#deliver(entry, member, nowMs))
      else kept.push(entry)
    }
    queue.unshift(kept)
  }

  #deliver(entry: Entry, member: Member, nowMs: number): Delivered {
    // Two streams may hold events of the same id: an ack must tell which one it means.
    if (this.#inFlight.has(entry.id)) {
      this.#duplicates += 1
      entry.ackId = `${entry.id}/${this.#duplicates}`
    } else {
      entry.ackId = entry.id
    }
    entry.member = member
    entry.deliveredAtMs = nowMs
    member.inFlight += 1
    this.#freeSlots -= 1
    this.#inFlight.set(entry.ackId, entry)
    this.#strategy.delivered(entry.event.stream)
    return { consumer: member.id, event: entry.event, retryCount: entry.retryCount, ackId: entry.ackId }
  }

  #release(entry: Entry): void {
    this.#inFlight.delete(entry.ackId)
    const { member } = entry
    if (member) {
      member.inFlight -= 1
      this.#freeSlots += 1
    }
    entry.member = undefined
    this.#strategy.released(entry.event.stream)
  }

  #finish(entry: Entry): void {
    if (entry.parkedRevision !== undefined) {
      this.#replaysDone.push(entry.parkedRevision)
      return
    }
    if (entry.previous) entry.previous.next = entry.next
    else this.#lowest = entry.next
    if (entry.next) entry.next.previous = entry.previous
    else this.#highest = entry.previous
    this.#doneSinceCheckpoint += 1
  }

  #retry(entries: readonly Entry[]): void {
    const again: Entry[] = []
    for (const entry of entries) {
      if (entry.retryCount >= this.#settings.maxRetryCount) {
        this.#park(entry, `Reached retry count of ${Math.max(0, this.#settings.maxRetryCount)}`)
      } else {
        entry.retryCount += 1
        again.push(entry)
      }
    }
    this.#requeue(again)
  }

  #requeue(entries: readonly Entry[]): void {
    if (entries.length === 0) return
    this.#retries.replace([...this.#retries.toArray(), ...entries].sort((a, b) => a.order - b.order))
  }

  #park(entry: Entry, reason: string): void {
    this.#parksUnwritten += 1
    const park: ParkedEntry = { event: entry.event, reason, replaces: entry.parkedRevision, entry }
    this.#parks.push(park)
  }

  #place(): Position | undefined {
    return this.#lowest ? this.#lowest.before : this.#through
  }

  #noteCountReached(): void {
    if (this.#doneSinceCheckpoint >= this.#settings.maxCheckpointCount) this.#checkpointDue = true
  }

  #noteTimeReached(nowMs: number): void {
    const { minCheckpointCount, checkpointAfterMs } = this.#settings
    if (this.#doneSinceCheckpoint < minCheckpointCount || checkpointAfterMs <= 0) return
    const since = this.#checkpointedAtMs
    if (since === undefined || nowMs - since >= checkpointAfterMs) this.#checkpointDue = true
  }

  #startCheckpoint(nowMs: number): Position | undefined {
    const place = this.#place()
    if (!place) return undefined
    if (this.#checkpoint && comparePositions(place, this.#checkpoint) <= 0) return undefined
    this.#writing = place
    this.#checkpointLost = false
    this.#doneSinceCheckpoint = 0
    this.#checkpointedAtMs = nowMs
    return place
  }
}

function newEntry(
  event: RecordedEvent,
  order: number,
  before: Position | undefined,
  id: string,
  parkedRevision: number | undefined,
): Entry {
  return {
    event,
    order,
    before,
    parkedRevision,
    id,
    ackId: id,
    retryCount: 0,
    deliveredAtMs: 0,
    member: undefined,
    previous: undefined,
    next: undefined,
  }
}
