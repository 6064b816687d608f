import type { NackAction } from '../types.js'
import { Deque } from './deque.js'
import type { GroupSettings, Maker } from './group-definition.js'
import type { Item, SourcePage } from './group-source.js'
import { type Member, type Strategy, strategyNamed } from './strategy.js'

/** What a group reads next: events behind `after`, at most `maxCount` of them. */
export interface ReadRequest {
  readonly after: number
  readonly maxCount: number
}

/** A parked event that is to be delivered again. */
export interface ReplayedEvent<E> {
  readonly event: E
  readonly lane: string
  readonly parkedRevision: number
  readonly parkedId: string
}

export interface Delivered<E> {
  readonly consumer: number
  readonly event: E
  readonly retryCount: number
  readonly ackId: string
}

/** An event to be written to the parked stream; hand it back with {@link Group.parked} once that is durable. */
export interface Park<E> {
  readonly event: E
  readonly reason: string
  /** The parked event that this one takes the place of: it had been replayed. */
  readonly replaces: number | undefined
}

interface Entry<E> {
  readonly event: E
  readonly size: number
  readonly lane: string
  /** Place in the retry queue: the order of reading; replayed ones behind all others, by parked revision. */
  readonly order: number
  /** Checkpoint while this is the lowest unfinished event. */
  readonly before: number
  /** How many events had been passed over before it. */
  readonly passedBefore: number
  readonly parkedRevision: number | undefined
  readonly id: string
  ackId: string
  isReplayDone: boolean
  retryCount: number
  deliveredAtMs: number
  member: Member | undefined
  previous: Entry<E> | undefined
  next: Entry<E> | undefined
}

type ParkedEntry<E> = Park<E> & { readonly entry: Entry<E> }

const replayOrder = 2 ** 52
/** What the real server reads when a group's readBatchSize is 0. */
const fallbackBatchSize = 20
/** With so many bytes read and not finished it reads no further, whatever its buffers are set to. */
const maxHeldBytes = 64 * 1024 * 1024
/** What an event takes beside its content. */
const entryBytes = 512
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
export class Group<E> {
  readonly #settings: GroupSettings
  readonly #madeBy: Maker
  readonly #strategy: Strategy
  readonly #members = new Map<number, Member>()
  /** In order of delivery, hence of deadline. */
  readonly #inFlight = new Map<string, Entry<E>>()
  /** Those in flight under an id of their own, as another had theirs. */
  readonly #alike = new Map<string, Set<Entry<E>>>()
  readonly #retries = new Deque<Entry<E>>()
  readonly #fresh = new Deque<Entry<E>>()
  #lowest: Entry<E> | undefined
  #highest: Entry<E> | undefined
  #parks: ParkedEntry<E>[] = []
  #parksUnwritten = 0
  #replaysDone: number[] = []
  #nextOrder = 0
  #heldBytes = 0
  #freeSlots = 0
  #duplicates = 0

  /** The place behind which the group began. */
  readonly #begin: number
  #through: number
  #known: number | undefined
  #reading = false
  #live = false
  #woken = false

  #checkpoint: number | undefined
  #writing: number | undefined
  #doneSinceCheckpoint = 0
  /** Events of pages that did not match, and how many of them count into earlier checkpoints. */
  #passed = 0
  #passedCounted = 0
  #checkpointDue = false
  #checkpointLost = false
  #checkpointedAtMs: number | undefined

  /** @param start the stored checkpoint, or the place behind which the group begins. */
  constructor(
    { settings, madeBy }: { readonly settings: GroupSettings; readonly madeBy: Maker },
    start: { readonly after: number; readonly checkpoint: number | undefined },
  ) {
    this.#settings = settings
    this.#madeBy = madeBy
    this.#strategy = strategyNamed(settings.strategy)
    this.#begin = start.after
    this.#through = start.checkpoint ?? start.after
    this.#checkpoint = start.checkpoint
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  inFlightOf(consumer: number): number {
    return this.#members.get(consumer)?.inFlight ?? 0
  }

  /** Events that were read and not delivered yet. */
  get buffered(): number {
    return this.#fresh.length
  }

  /** At the end of what there is. */
  get isLive(): boolean {
    return this.#live
  }

  /** The last event that was read. */
  get known(): number | undefined {
    return this.#known
  }

  /** The last one that was durably written. */
  get checkpoint(): number | undefined {
    return this.#checkpoint
  }

  /** Everything up to here has been read into the group or did not match. */
  get through(): number {
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
    const back: Entry<E>[] = []
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
      const entry = this.#named(ackId)
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
    const entries: Entry<E>[] = []
    for (const ackId of ackIds) {
      const entry = this.#named(ackId)
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
    const late: Entry<E>[] = []
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
    if (this.#reading || this.#heldBytes >= maxHeldBytes) return undefined
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

  loaded(page: SourcePage<E>): void {
    this.#reading = false
    const passedFrom = this.#passed
    for (const item of page.items) {
      this.#append(item, passedFrom + (item.passedOver?.count ?? 0))
      this.#through = item.place
      this.#known = item.place
    }
    this.#through = Math.max(this.#through, page.through)
    this.#live = page.atEnd
    this.#passed = passedFrom + page.passed
    this.#noteCountReached()
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
  replay(events: readonly ReplayedEvent<E>[]): void {
    this.#requeue(
      events.map(({ event, lane, parkedRevision, parkedId }) =>
        newEntry(
          { event, lane, id: parkedId, place: 0, size: 0 },
          { order: replayOrder + parkedRevision, before: 0, passedBefore: 0 },
          parkedRevision,
        ),
      ),
    )
  }

  // ---- outputs

  dispatch(nowMs: number): Delivered<E>[] {
    const delivered: Delivered<E>[] = []
    if (this.#parksUnwritten >= maxParksUnwritten) return delivered
    this.#drain(this.#retries, nowMs, delivered)
    this.#drain(this.#fresh, nowMs, delivered)
    return delivered
  }

  takeParks(): Park<E>[] {
    const parks = this.#parks
    this.#parks = []
    return parks
  }

  /** It is durable in the parked stream, so the checkpoint may pass it. */
  parked(park: Park<E>): void {
    this.#parksUnwritten -= 1
    const { entry } = park as ParkedEntry<E>
    if (entry.parkedRevision === undefined) this.#finish(entry)
    this.#noteCountReached()
  }

  /** Parked revisions whose replay is done: acked or skipped; in a group of the protocol, delivered. */
  takeReplaysDone(): number[] {
    const done = this.#replaysDone
    this.#replaysDone = []
    return done
  }

  get isCheckpointDue(): boolean {
    return this.#checkpointDue && this.#writing === undefined
  }

  /** Call {@link checkpointWritten} or {@link checkpointFailed} afterwards: one write at a time. */
  checkpointToWrite(nowMs: number): number | undefined {
    if (!this.isCheckpointDue) return undefined
    this.#checkpointDue = false
    return this.#startCheckpoint(nowMs)
  }

  /** As {@link checkpointToWrite}, but whatever the counts: the group is about to be put down. */
  lastCheckpoint(nowMs: number): number | undefined {
    return this.#writing === undefined ? this.#startCheckpoint(nowMs) : undefined
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

  #append(item: Item<E>, passedBefore: number): void {
    const before = item.passedOver?.through ?? this.#through
    const entry = newEntry(item, { order: this.#nextOrder, before, passedBefore }, undefined)
    this.#nextOrder += 1
    entry.previous = this.#highest
    if (this.#highest) this.#highest.next = entry
    else this.#lowest = entry
    this.#highest = entry
    this.#heldBytes += entry.size + entryBytes
    this.#fresh.push(entry)
  }

  /** Pinned leaves in place what waits for a full consumer, and goes on behind it. */
  #drain(queue: Deque<Entry<E>>, nowMs: number, delivered: Delivered<E>[]): void {
    const kept: Entry<E>[] = []
    while (this.#freeSlots > 0) {
      const entry = queue.peek()
      if (!entry) break
      queue.shift()
      const member = this.#strategy.choose(entry.lane)
      if (member) delivered.push(this.#deliver(entry, member, nowMs))
      else kept.push(entry)
    }
    queue.unshift(kept)
  }

  #deliver(entry: Entry<E>, member: Member, nowMs: number): Delivered<E> {
    // Two streams may hold events of the same id: an ack must tell which one it means.
    if (this.#inFlight.has(entry.id)) {
      this.#duplicates += 1
      entry.ackId = `${entry.id}/${this.#duplicates}`
      this.#alike.set(entry.id, (this.#alike.get(entry.id) ?? new Set()).add(entry))
    } else {
      entry.ackId = entry.id
    }
    if (this.#madeBy === 'protocol') this.#replayDone(entry)
    entry.member = member
    entry.deliveredAtMs = nowMs
    member.inFlight += 1
    this.#freeSlots -= 1
    this.#inFlight.set(entry.ackId, entry)
    this.#strategy.delivered(entry.lane)
    return { consumer: member.id, event: entry.event, retryCount: entry.retryCount, ackId: entry.ackId }
  }

  /** Clients of the protocol name the event's id: of several events of one id in flight, any. */
  #named(ackId: string): Entry<E> | undefined {
    const entry = this.#inFlight.get(ackId)
    if (entry || this.#madeBy === 'service') return entry
    return this.#alike.get(ackId)?.values().next().value
  }

  #release(entry: Entry<E>): void {
    this.#inFlight.delete(entry.ackId)
    const alike = this.#alike.get(entry.id)
    if (alike?.delete(entry) && alike.size === 0) this.#alike.delete(entry.id)
    const { member } = entry
    if (member) {
      member.inFlight -= 1
      this.#freeSlots += 1
    }
    entry.member = undefined
    this.#strategy.released(entry.lane)
  }

  #replayDone(entry: Entry<E>): void {
    if (entry.parkedRevision === undefined || entry.isReplayDone) return
    entry.isReplayDone = true
    this.#replaysDone.push(entry.parkedRevision)
  }

  #finish(entry: Entry<E>): void {
    if (entry.parkedRevision !== undefined) {
      this.#replayDone(entry)
      return
    }
    if (entry.previous) entry.previous.next = entry.next
    else this.#lowest = entry.next
    if (entry.next) entry.next.previous = entry.previous
    else this.#highest = entry.previous
    this.#heldBytes -= entry.size + entryBytes
    this.#doneSinceCheckpoint += 1
  }

  #retry(entries: readonly Entry<E>[]): void {
    const again: Entry<E>[] = []
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

  #requeue(entries: readonly Entry<E>[]): void {
    if (entries.length === 0) return
    this.#retries.replace([...this.#retries.toArray(), ...entries].sort((a, b) => a.order - b.order))
  }

  #park(entry: Entry<E>, reason: string): void {
    this.#parksUnwritten += 1
    const replaces = entry.isReplayDone ? undefined : entry.parkedRevision
    const park: ParkedEntry<E> = { event: entry.event, reason, replaces, entry }
    this.#parks.push(park)
  }

  /** What did not match counts as done once the checkpoint may pass it. */
  #passedCountable(): number {
    return this.#lowest ? this.#lowest.passedBefore : this.#passed
  }

  #doneCount(): number {
    return this.#doneSinceCheckpoint + this.#passedCountable() - this.#passedCounted
  }

  #noteCountReached(): void {
    if (this.#doneCount() >= Math.max(1, this.#settings.maxCheckpointCount)) this.#checkpointDue = true
  }

  #noteTimeReached(nowMs: number): void {
    const { minCheckpointCount, checkpointAfterMs } = this.#settings
    if (this.#doneCount() < Math.max(1, minCheckpointCount) || checkpointAfterMs <= 0) return
    const since = this.#checkpointedAtMs
    if (since === undefined || nowMs - since >= checkpointAfterMs) this.#checkpointDue = true
  }

  #startCheckpoint(nowMs: number): number | undefined {
    const place = this.#lowest ? this.#lowest.before : this.#through
    if (place <= (this.#checkpoint ?? this.#begin)) return undefined
    this.#writing = place
    this.#checkpointLost = false
    this.#doneSinceCheckpoint = 0
    this.#passedCounted = this.#passedCountable()
    this.#checkpointedAtMs = nowMs
    return place
  }
}

function newEntry<E>(
  { event, lane, id, size }: Item<E>,
  place: Pick<Entry<E>, 'order' | 'before' | 'passedBefore'>,
  parkedRevision: number | undefined,
): Entry<E> {
  return {
    event,
    size,
    lane,
    ...place,
    parkedRevision,
    id,
    ackId: id,
    isReplayDone: false,
    retryCount: 0,
    deliveredAtMs: 0,
    member: undefined,
    previous: undefined,
    next: undefined,
  }
}
