import Denque from 'denque'
import type { NackAction } from '../event-log-types.js'
import { type Member, type Strategy, strategyNamed } from './consumer-strategy.js'
import type { GroupSettings } from './group-definition.js'
import { Progress, type Unfinished } from './group-progress.js'
import type { Rules } from './group-rules.js'
import type { Item, SourcePage } from './group-source.js'
import type { InFlight } from './in-flight-events.js'
import { ReadAhead } from './read-ahead.js'

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

/** An event to be written to the parked stream. */
export interface Park<E> {
  readonly event: E
  readonly reason: string
  /** The parked event that this one takes the place of: it had been replayed. */
  readonly replaces: number | undefined
}

interface Entry<E> extends Unfinished {
  readonly event: E
  readonly lane: string
  readonly id: string
  /** Place in the retry queue: the order of reading; replayed ones behind all others, by parked revision. */
  readonly order: number
  /** Of a replayed event, which is never unfinished: it stays parked until it is done. */
  readonly parkedRevision: number | undefined
  isReplayDone: boolean
  ackId: string
  retryCount: number
  deliveredAtMs: number
  member: Member | undefined
}

const replayOrder = 2 ** 52
/** What an event takes beside its content. */
const entryBytes = 512
/** With so many parks not yet durable the group stops delivering: each could free a slot for one more. */
const maxParksUnwritten = 1_000

/**
 * A persistent subscription's rules, without I/O or clock. After any input whoever runs it does what it wants done:
 * `dispatch`, `nextPark`, `replaysDone`, `nextRead`, and the checkpoint of its `progress`.
 */
export class Group<E> {
  readonly progress: Progress
  readonly readAhead: ReadAhead
  readonly #settings: GroupSettings
  readonly #rules: Rules
  readonly #strategy: Strategy
  readonly #members = new Map<number, Member>()
  readonly #inFlight: InFlight<Entry<E>>
  readonly #fresh = new Denque<Entry<E>>()
  #retries = new Denque<Entry<E>>()
  readonly #parks = new Denque<Park<E> & { readonly entry: Entry<E> }>()
  #replaysDone: number[] = []
  #nextOrder = 0
  #freeSlots = 0
  #lastRead: number | undefined

  /** @param start the stored checkpoint, or the place behind which the group begins. */
  constructor(
    settings: GroupSettings,
    rules: Rules,
    start: { readonly after: number; readonly checkpoint: number | undefined },
  ) {
    this.#settings = settings
    this.#rules = rules
    this.#strategy = strategyNamed(settings.strategy)
    this.#inFlight = rules.inFlight()
    this.readAhead = new ReadAhead(settings)
    this.progress = new Progress(settings, start)
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

  /** Retried and replayed events that wait for a consumer. */
  get waitingForRetry(): number {
    return this.#retries.length
  }

  /** The place of the last event that was read. */
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

  /** What it had in flight goes back, before anything new. That counts as a retry, but never parks. */
  leave(consumer: number): void {
    const member = this.#members.get(consumer)
    if (!member) return
    const back = [...this.#inFlight.all()].filter((entry) => entry.member === member)
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
    for (const entry of this.#answered(ackIds)) this.#finish(entry)
  }

  nack(action: NackAction, reason: string, ackIds: readonly string[]): void {
    const entries = this.#answered(ackIds)
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

  /** What these ids mean of what is in flight, and is no more. */
  #answered(ackIds: readonly string[]): Entry<E>[] {
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

  /** Once a second. */
  tick(nowMs: number): void {
    const late: Entry<E>[] = []
    for (const entry of this.#inFlight.all()) {
      if (nowMs - entry.deliveredAtMs < this.#settings.messageTimeoutMs) break
      late.push(entry)
    }
    for (const entry of late) this.#release(entry)
    this.#retry(late)
    this.progress.tick(nowMs)
  }

  // ---- reading

  /** Asks for events behind `after`, as long as there is room for them. Call {@link loaded}, or `readAhead.failed`, afterwards. */
  nextRead(): { readonly after: number; readonly maxCount: number } | undefined {
    const maxCount = this.readAhead.next(this.#fresh.length, this.progress.heldBytes)
    return maxCount === undefined ? undefined : { after: this.progress.through, maxCount }
  }

  loaded(page: SourcePage<E>): void {
    this.readAhead.loaded(page.atEnd)
    const { progress } = this
    for (const { event, id, lane, size, place, unmatchedBefore } of page.items) {
      const entry = newEntry({ event, id, lane, size: size + entryBytes }, this.#nextOrder, {
        before: unmatchedBefore?.through ?? progress.through,
        unmatchedBefore: progress.unmatched + (unmatchedBefore?.count ?? 0),
      })
      this.#nextOrder += 1
      progress.add(entry, place)
      this.#fresh.push(entry)
      this.#lastRead = place
    }
    progress.lookedAt(page.through, page.unmatched)
  }

  /** In order of their parked revisions. */
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

  /** The next event to be written to the parked stream; call {@link parked} once it is durable there. */
  get nextPark(): Park<E> | undefined {
    return this.#parks.peekFront()
  }

  /** The checkpoint may pass it. */
  parked(): void {
    const entry = this.#parks.shift()?.entry
    if (entry && entry.parkedRevision === undefined) this.progress.finish(entry)
  }

  /** Parked revisions whose replay is done; call {@link replaysDoneWritten} once that is durable. */
  get replaysDone(): readonly number[] {
    return this.#replaysDone
  }

  replaysDoneWritten(count: number): void {
    this.#replaysDone = this.#replaysDone.slice(count)
  }

  // ---- inside

  /** Pinned leaves in place what waits for a full consumer, and goes on behind it. */
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
    if (this.#rules.isReplayDoneOnDelivery) this.#replayDone(entry)
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
    else this.#replayDone(entry)
  }

  #replayDone(entry: Entry<E>): void {
    if (entry.parkedRevision === undefined || entry.isReplayDone) return
    entry.isReplayDone = true
    this.#replaysDone.push(entry.parkedRevision)
  }

  #retry(entries: readonly Entry<E>[]): void {
    const { maxRetryCount } = this.#settings
    const again = entries.filter(({ retryCount }) => retryCount < maxRetryCount)
    const spent = entries.filter(({ retryCount }) => retryCount >= maxRetryCount)
    for (const entry of spent) this.#park(entry, `Reached retry count of ${Math.max(0, maxRetryCount)}`)
    for (const entry of again) entry.retryCount += 1
    this.#requeue(again)
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
  // One by one: spreading costs more than all else that is done about an event that passes through.
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
