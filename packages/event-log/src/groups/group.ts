import Denque from 'denque'
import type { NackAction } from '../event-log-types.js'
import { type Member, type Strategy, strategyNamed } from './consumer-strategy.js'
import type { GroupSettings } from './group-definition.js'
import { GroupProgress, type InFlightEvents, ReadAhead, type Unfinished } from './group-progress.js'
import type { Rules } from './group-rules.js'
import type { Item, SourcePage } from './group-source.js'

/** A parked event to redeliver. */
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

/** An event to write to the parked stream. */
export interface Park<E> {
  readonly event: E
  readonly reason: string
  /** The revision of the replayed parked event that this one replaces. */
  readonly replaces: number | undefined
}

interface Entry<E> extends Unfinished {
  readonly event: E
  readonly lane: string
  readonly id: string
  /** The sort key in the retry queue: the order of reading, followed by replayed events in order of their parked revisions. */
  readonly order: number
  /** The parked revision of a replayed event, which is never unfinished: it stays parked until its replay is done. */
  readonly parkedRevision: number | undefined
  isReplayDone: boolean
  ackId: string
  retryCount: number
  deliveredAtMs: number
  member: Member | undefined
}

const replayOrder = 2 ** 52
/** The size of an event's entry in addition to its content. */
const entryBytes = 512
/** The number of unwritten parked events at which the group stops delivering, because each of them frees a slot for another event. */
const maxParksUnwritten = 1_000

/**
 * The rules of a persistent subscription, without I/O or clock. After each input, the caller processes its outputs: `dispatch`,
 * `nextPark`, `replaysDone`, `nextRead`, and the checkpoint of `progress`.
 */
export class Group<E> {
  readonly progress: GroupProgress
  readonly readAhead: ReadAhead
  readonly #strategy: Strategy
  readonly #members = new Map<number, Member>()
  readonly #inFlight: InFlightEvents<Entry<E>>
  readonly #fresh = new Denque<Entry<E>>()
  #retries = new Denque<Entry<E>>()
  readonly #parks = new Denque<Park<E> & { readonly entry: Entry<E> }>()
  #replaysDone: number[] = []
  #nextOrder = 0
  #freeSlots = 0
  #lastRead: number | undefined

  /** @param start The stored checkpoint, or the position after which the group starts. */
  constructor(
    private readonly settings: GroupSettings,
    private readonly rules: Rules,
    start: { readonly after: number; readonly checkpoint: number | undefined },
  ) {
    this.#strategy = strategyNamed(settings.strategy)
    this.#inFlight = rules.inFlight()
    this.readAhead = new ReadAhead(settings)
    this.progress = new GroupProgress(settings, start)
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  inFlightOf(consumer: number): number {
    return this.#members.get(consumer)?.inFlight ?? 0
  }

  get buffered(): number {
    return this.#fresh.length
  }

  /** The number of retried and replayed events that wait for a consumer. */
  get waitingForRetry(): number {
    return this.#retries.length
  }

  get lastRead(): number | undefined {
    return this.#lastRead
  }

  // ---- consumers

  join(consumer: number, bufferSize: number): void {
    const member: Member = { id: consumer, bufferSize, inFlight: 0 }
    this.#members.set(consumer, member)
    this.#freeSlots += bufferSize
    this.#strategy.join(member)
  }

  /** Requeues the consumer's events in flight, before any new events. This counts as a retry but never parks an event. */
  leave(consumer: number): void {
    const member = this.#members.get(consumer)
    if (!member) return
    const returned = [...this.#inFlight.all()].filter((entry) => entry.member === member)
    this.#members.delete(consumer)
    this.#strategy.leave(member)
    for (const entry of returned) {
      this.#release(entry)
      entry.retryCount += 1
    }
    this.#freeSlots -= member.bufferSize
    this.#requeue(returned)
  }

  // ---- responses of consumers

  ack(ackIds: readonly string[]): void {
    for (const entry of this.#releaseAll(ackIds)) this.#finish(entry)
  }

  nack(action: NackAction, reason: string, ackIds: readonly string[]): void {
    const entries = this.#releaseAll(ackIds)
    switch (action) {
      case 'skip':
        for (const entry of entries) this.#finish(entry)
        break
      case 'retry':
        this.#retry(entries)
        break
      case 'park':
        for (const entry of entries) this.#park(entry, `Client explicitly NAK'ed message.\n${reason}`)
        break
      default:
        action satisfies never
    }
  }

  /** Removes the events with these ids from the events in flight. */
  #releaseAll(ackIds: readonly string[]): Entry<E>[] {
    const entries: Entry<E>[] = []
    for (const ackId of ackIds) {
      const entry = this.#inFlight.find(ackId)
      if (!entry) continue
      this.#release(entry)
      entries.push(entry)
    }
    return entries
  }

  // ---- time

  /** Checks timeouts. Call it once a second. */
  tick(nowMs: number): void {
    const late: Entry<E>[] = []
    for (const entry of this.#inFlight.all()) {
      if (nowMs - entry.deliveredAtMs < this.settings.messageTimeoutMs) break
      late.push(entry)
    }
    for (const entry of late) this.#release(entry)
    this.#retry(late)
    this.progress.tick(nowMs)
  }

  // ---- reading

  /** Requests events after `after` while there is room for them. Call {@link addPage} or `readAhead.readFailed` afterwards. */
  nextRead(): { readonly after: number; readonly maxCount: number } | undefined {
    const maxCount = this.readAhead.next(this.#fresh.length, this.progress.heldBytes)
    return maxCount === undefined ? undefined : { after: this.progress.through, maxCount }
  }

  addPage(page: SourcePage<E>): void {
    this.readAhead.readSucceeded(page.atEnd)
    const { progress } = this
    for (const { event, id, lane, size, position, unmatchedBefore } of page.items) {
      const entry = newEntry({ event, id, lane, size: size + entryBytes }, this.#nextOrder, {
        before: unmatchedBefore?.through ?? progress.through,
        unmatchedBefore: progress.unmatched + (unmatchedBefore?.count ?? 0),
      })
      this.#nextOrder += 1
      progress.add(entry, position)
      this.#fresh.push(entry)
      this.#lastRead = position
    }
    progress.advance(page.through, page.unmatched)
  }

  /** Queues parked events, in order of their parked revisions. */
  replay(events: readonly ReplayedEvent<E>[]): void {
    this.#requeue(
      events.map(({ event, lane, parkedRevision, parkedId }) =>
        newEntry({ event, lane, id: parkedId, size: 0 }, replayOrder + parkedRevision, { parkedRevision }),
      ),
    )
  }

  // ---- outputs

  dispatch(nowMs: number): Delivered<E>[] {
    const delivered: Delivered<E>[] = []
    if (this.#parks.length >= maxParksUnwritten) return delivered
    this.#drain(this.#retries, nowMs, delivered)
    this.#drain(this.#fresh, nowMs, delivered)
    return delivered
  }

  /** The next event to write to the parked stream. Call {@link parkWritten} when it is durable. */
  get nextPark(): Park<E> | undefined {
    return this.#parks.peekFront()
  }

  /** Records that the checkpoint may pass the parked event. */
  parkWritten(): void {
    const entry = this.#parks.shift()?.entry
    if (entry && entry.parkedRevision === undefined) this.progress.finish(entry)
  }

  /** The parked revisions whose replay is done. Call {@link replaysDoneWritten} when that is durable. */
  get replaysDone(): readonly number[] {
    return this.#replaysDone
  }

  replaysDoneWritten(count: number): void {
    this.#replaysDone = this.#replaysDone.slice(count)
  }

  // ---- internals

  /** Delivers the events of a queue. With Pinned, events that wait for a full consumer stay, and later ones are delivered. */
  #drain(queue: Denque<Entry<E>>, nowMs: number, delivered: Delivered<E>[]): void {
    const kept: Entry<E>[] = []
    while (this.#freeSlots > 0) {
      const entry = queue.shift()
      if (!entry) break
      const member = this.#strategy.choose(entry.lane)
      if (member) delivered.push(this.#deliver(entry, member, nowMs))
      else kept.push(entry)
    }
    for (const entry of kept.reverse()) queue.unshift(entry)
  }

  #deliver(entry: Entry<E>, member: Member, nowMs: number): Delivered<E> {
    this.#inFlight.add(entry)
    if (this.rules.completesReplaysOnDelivery) this.#completeReplay(entry)
    entry.member = member
    entry.deliveredAtMs = nowMs
    member.inFlight += 1
    this.#freeSlots -= 1
    this.#strategy.delivered(entry.lane)
    return { consumer: member.id, event: entry.event, retryCount: entry.retryCount, ackId: entry.ackId }
  }

  #release(entry: Entry<E>): void {
    this.#inFlight.delete(entry)
    if (entry.member) {
      entry.member.inFlight -= 1
      this.#freeSlots += 1
    }
    entry.member = undefined
    this.#strategy.released(entry.lane)
  }

  #finish(entry: Entry<E>): void {
    if (entry.parkedRevision === undefined) this.progress.finish(entry)
    else this.#completeReplay(entry)
  }

  #completeReplay(entry: Entry<E>): void {
    if (entry.parkedRevision === undefined || entry.isReplayDone) return
    entry.isReplayDone = true
    this.#replaysDone.push(entry.parkedRevision)
  }

  #retry(entries: readonly Entry<E>[]): void {
    const { maxRetryCount } = this.settings
    const retried: Entry<E>[] = []
    for (const entry of entries) {
      if (entry.retryCount >= maxRetryCount) this.#park(entry, `Reached retry count of ${Math.max(0, maxRetryCount)}`)
      else {
        entry.retryCount += 1
        retried.push(entry)
      }
    }
    this.#requeue(retried)
  }

  #requeue(entries: readonly Entry<E>[]): void {
    if (entries.length === 0) return
    this.#retries = new Denque([...this.#retries.toArray(), ...entries].sort((a, b) => a.order - b.order))
  }

  #park(entry: Entry<E>, reason: string): void {
    const replaces = entry.isReplayDone ? undefined : entry.parkedRevision
    this.#parks.push({ event: entry.event, reason, replaces, entry })
  }
}

function newEntry<E>(
  item: Pick<Item<E>, 'event' | 'id' | 'lane' | 'size'>,
  order: number,
  { before = 0, unmatchedBefore = 0, parkedRevision }: Partial<Entry<E>>,
): Entry<E> {
  // List the fields: spreading costs more than all other work for an event that passes through.
  const { event, id, lane, size } = item
  return {
    event,
    id,
    lane,
    size,
    order,
    before,
    unmatchedBefore,
    parkedRevision,
    isReplayDone: false,
    ackId: id,
    retryCount: 0,
    deliveredAtMs: 0,
    member: undefined,
    previous: undefined,
    next: undefined,
  }
}
