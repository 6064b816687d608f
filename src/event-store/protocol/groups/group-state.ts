import { Deque } from '../../embedded/persistent/deque.js'
import { type Member, type Strategy, strategyNamed } from '../../embedded/persistent/strategy.js'
import { parseObject } from '../../embedded/streams/event-body.js'
import { placeOfResolved, type ResolvedEvent } from '../recorded-event.js'
import type { GroupSettings } from './group-settings.js'

/** An event on its way through a group. */
export interface Entry {
  readonly resolved: ResolvedEvent
  /** What it is acked by: the link's id, if it was found by one. */
  readonly id: string
  /** Revision in the group's stream, or position in the log; of replayed ones behind all others. */
  readonly order: number
  /** The checkpoint while this is the lowest unfinished event. */
  readonly before: number | undefined
  /** Counts what was looked at up to this event. */
  readonly sequence: number
  readonly parkedRevision: number | undefined
  retryCount: number
  deliveredAtMs: number
  to: GroupMember | undefined
  previous: Entry | undefined
  next: Entry | undefined
}

export interface GroupMember extends Member {
  readonly deliver: (entry: Entry) => void
  readonly drop: () => void
  readonly name: string
  readonly user: string
  totalItems: number
}

export interface Park {
  readonly entry: Entry
  readonly reason: string
}

const replayOrder = 2 ** 52

/**
 * The rules of a persistent subscription: who gets what, what comes again, and how far everything is done. Without I/O
 * or clock. An event is unfinished from when it was read until it was acked, skipped or parked for good; the lowest
 * unfinished one bounds the checkpoint, so a reload loses nothing that had only been read. (The real server's passes
 * over what waits in its buffer.)
 */
export class GroupState {
  readonly members: GroupMember[] = []
  totalItems = 0
  /** The last event read that matched. */
  known: number | undefined
  /** Everything up to here has been looked at. */
  through: number | undefined
  readonly #strategy: Strategy
  readonly #passesOver: boolean
  readonly #outstanding = new Map<string, Entry[]>()
  #inFlight = 0
  readonly #retries = new Deque<Entry>()
  readonly #fresh = new Deque<Entry>()
  #parks: Park[] = []
  #sequence = 0
  #lowest: Entry | undefined
  #highest: Entry | undefined

  constructor(
    private readonly settings: GroupSettings,
    checkpoint: number | undefined,
  ) {
    this.through = checkpoint
    const { strategy } = settings
    this.#passesOver = strategy.startsWith('Pinned')
    this.#strategy = strategyNamed(
      strategy === 'DispatchToSingle' ? strategy : this.#passesOver ? 'Pinned' : 'RoundRobin',
    )
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get waitingForRetry(): number {
    return this.#retries.length
  }

  get buffered(): number {
    return this.#fresh.length
  }

  /** Where a reload may go on behind, with the count of what was looked at up to there. */
  get place(): { at: number | undefined; sequence: number } {
    return this.#lowest === undefined
      ? { at: this.through, sequence: this.#sequence }
      : { at: this.#lowest.before, sequence: this.#lowest.sequence - 1 }
  }

  join(member: GroupMember): void {
    this.members.push(member)
    this.#strategy.join(member)
  }

  leave(member: GroupMember): void {
    const index = this.members.indexOf(member)
    if (index < 0) return
    this.members.splice(index, 1)
    this.#strategy.leave(member)
    const left = [...this.#outstanding.values()].flat().filter(({ to }) => to === member)
    for (const entry of left) {
      this.#release(entry)
      entry.retryCount += 1
    }
    this.#requeue(left)
  }

  /** An event that was read; `place` is its revision or position. */
  add(resolved: ResolvedEvent, place: number): void {
    this.#sequence += 1
    const entry = newEntry(resolved, place, this.through, this.#sequence, undefined)
    this.through = place
    this.known = place
    entry.previous = this.#highest
    if (this.#highest) this.#highest.next = entry
    else this.#lowest = entry
    this.#highest = entry
    this.#fresh.push(entry)
  }

  /** An event that did not match. What the group itself causes must not count, or it would go round for ever. */
  pass(place: number, isCounted: boolean): void {
    if (isCounted) this.#sequence += 1
    this.through = place
  }

  replay(resolved: ResolvedEvent, parkedRevision: number): void {
    const entry = newEntry(resolved, replayOrder + parkedRevision, undefined, 0, parkedRevision)
    this.#retries.push(entry)
  }

  /** Ids that are not in flight are ignored, whoever sent them. */
  ack(ids: readonly string[]): void {
    for (const id of ids) {
      const entry = this.#outstanding.get(id)?.[0]
      if (entry === undefined) continue
      this.#release(entry)
      this.finish(entry)
    }
  }

  retry(ids: readonly string[]): void {
    this.#retryAll(this.#taken(ids))
  }

  park(ids: readonly string[], reason: string): void {
    for (const entry of this.#taken(ids)) this.#parks.push({ entry, reason })
  }

  /** What was delivered so long ago that it is delivered again. */
  expire(nowMs: number): void {
    const expired: Entry[] = []
    for (const entries of this.#outstanding.values()) {
      for (const entry of entries)
        if (nowMs - entry.deliveredAtMs >= this.settings.messageTimeoutMs) expired.push(entry)
    }
    for (const entry of expired) this.#release(entry)
    this.#retryAll(expired)
  }

  /** To be written to the parked stream; call {@link finish} when that is durable. */
  takeParks(): Park[] {
    const parks = this.#parks
    this.#parks = []
    return parks
  }

  finish(entry: Entry): void {
    if (entry.parkedRevision !== undefined) return
    if (entry.previous) entry.previous.next = entry.next
    else this.#lowest = entry.next
    if (entry.next) entry.next.previous = entry.previous
    else this.#highest = entry.previous
  }

  /** Delivers what there is room for; what comes again goes first. */
  dispatch(nowMs: number): void {
    if (this.#dispatchFrom(this.#retries, nowMs)) this.#dispatchFrom(this.#fresh, nowMs)
  }

  /** False when nobody has room any more. */
  #dispatchFrom(queue: Deque<Entry>, nowMs: number): boolean {
    if (queue.length === 0) return true
    if (!this.#hasRoom()) return false
    if (this.#passesOver) {
      const left: Entry[] = []
      for (const entry of queue.toArray()) if (!this.#deliver(entry, nowMs)) left.push(entry)
      queue.replace(left)
      return this.#hasRoom()
    }
    for (let entry = queue.peek(); entry !== undefined; entry = queue.peek()) {
      if (!this.#deliver(entry, nowMs)) return false
      queue.shift()
    }
    return true
  }

  #hasRoom(): boolean {
    return this.members.some(({ inFlight, bufferSize }) => inFlight < bufferSize)
  }

  #deliver(entry: Entry, nowMs: number): boolean {
    const key = this.#keyOf(entry)
    const member = this.#strategy.choose(key) as GroupMember | undefined
    if (member === undefined) return false
    member.inFlight += 1
    member.totalItems += 1
    this.totalItems += 1
    this.#inFlight += 1
    entry.to = member
    entry.deliveredAtMs = nowMs
    const same = this.#outstanding.get(entry.id)
    if (same) same.push(entry)
    else this.#outstanding.set(entry.id, [entry])
    this.#strategy.delivered(key)
    member.deliver(entry)
    return true
  }

  #keyOf({ resolved }: Entry): string {
    const event = resolved.event ?? placeOfResolved(resolved)
    if (this.settings.strategy !== 'PinnedByCorrelation') return this.#passesOver ? event.stream : ''
    const correlation = parseObject(event.metadata)?.$correlationId
    return typeof correlation === 'string' ? correlation : event.stream
  }

  #taken(ids: readonly string[]): Entry[] {
    const taken: Entry[] = []
    for (const id of ids) {
      const entry = this.#outstanding.get(id)?.[0]
      if (entry === undefined) continue
      this.#release(entry)
      taken.push(entry)
    }
    return taken
  }

  #release(entry: Entry): void {
    const same = this.#outstanding.get(entry.id) ?? []
    if (same.length > 1) same.splice(same.indexOf(entry), 1)
    else this.#outstanding.delete(entry.id)
    this.#inFlight -= 1
    if (entry.to) entry.to.inFlight -= 1
    entry.to = undefined
    this.#strategy.released(this.#keyOf(entry))
  }

  #retryAll(entries: readonly Entry[]): void {
    const { maxRetryCount } = this.settings
    const again: Entry[] = []
    for (const entry of entries) {
      if (entry.retryCount >= maxRetryCount) {
        this.#parks.push({ entry, reason: `Reached retry count of ${maxRetryCount}` })
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
}

function newEntry(
  resolved: ResolvedEvent,
  order: number,
  before: number | undefined,
  sequence: number,
  parkedRevision: number | undefined,
): Entry {
  return {
    resolved,
    id: placeOfResolved(resolved).id,
    order,
    before,
    sequence,
    parkedRevision,
    retryCount: 0,
    deliveredAtMs: 0,
    to: undefined,
    previous: undefined,
    next: undefined,
  }
}
