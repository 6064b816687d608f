import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ParkedEvent } from '../event-log-types.js'
import { parseObject } from '../file/event-body.js'
import { metadataStream } from '../file/stream-metadata.js'
import { followerView } from '../reader/log-reader.js'
import type { StoredEvent } from '../reader/stored-event.js'
import type { Park, ReplayedEvent } from './group.js'
import { groupStream, type StoredGroup } from './group-definition.js'
import { appendNext, type GroupLog, jsonEvent, type Rules, rulesOf } from './group-rules.js'
import { type GroupSource, parseLink } from './group-source.js'

const pageSize = 500
/** The access list that EventStoreDB gives a parked stream after a replay. */
const adminsOnly = { $r: '$admins', $w: '$admins', $d: '$admins', $mr: '$admins', $mw: '$admins' }

/** The data of an event in the replay stream. */
interface ReplayData {
  readonly generation?: string
  /** The end of a ReplayRequested. */
  readonly stopAt?: number
  /** The end of a ReplayStarted, and the revision of its request. */
  readonly until?: number
  readonly request?: number
  /** The revisions of a ReplayDone. */
  readonly parkedRevisions?: readonly number[]
}

/**
 * The parked events of a group, stored in two streams. `…-parked` has an event for each of them. `…-replay` records their replays:
 * requested by any process, started by the holder of the group, done. An event stays parked until its replay is done or it is parked
 * again, so that a crash during a replay loses nothing.
 *
 * The state is folded from the log incrementally, so every process sees the same.
 */
export class ParkedEvents {
  readonly #rules: Rules
  /** The parked revisions that are neither done nor parked again, ascending. */
  readonly #open = new Set<number>()
  /** The revisions whose replay was done before this object read them: the two streams are read sequentially. */
  readonly #doneAhead = new Set<number>()
  readonly #next = { parked: 0, replay: 0 }
  #requestedUntil = 0
  #startedUntil = 0
  #lastRequest = -1
  #seen = -1

  constructor(
    private readonly log: GroupLog,
    private readonly stored: StoredGroup,
  ) {
    this.#rules = rulesOf(stored)
  }

  /** Reads the new events of both streams. Calls may overlap. */
  async refresh(): Promise<void> {
    const end = this.log.reader.lastPosition()
    if (end === this.#seen) return
    await this.#catchUp('parked', (event) => this.#foldParked(event))
    await this.#catchUp('replay', (event) => this.#foldReplay(event))
    this.#seen = Math.max(this.#seen, end)
  }

  /** The exclusive end of a requested replay that no holder has started, or 0 without a request. */
  get requestedUntil(): number {
    return this.#requestedUntil
  }

  /** The end of the last started replay, or 0 if none was started or a later holder cancelled it. */
  get startedUntil(): number {
    return this.#startedUntil
  }

  get end(): number {
    return this.#next.parked
  }

  /** Counts the parked events that are not being replayed. @param isHeld Whether the holder that started the replay is alive. */
  count(isHeld: boolean): number {
    const from = this.#firstShown(isHeld)
    let count = 0
    for (const revision of this.#open) if (revision >= from) count += 1
    return count
  }

  async list(isHeld: boolean, maxCount: number): Promise<ParkedEvent[]> {
    const parked: ParkedEvent[] = []
    for await (const [{ revision: parkedRevision, metadata }, link] of this.#openEvents(this.#firstShown(isHeld))) {
      if (parked.length >= maxCount) break
      const { reason = '', added = '' } = parseObject(metadata) ?? {}
      const parkedAtMs = Date.parse(String(added)) || 0
      parked.push({ parkedRevision, ...parseLink(link), reason: String(reason), parkedAtMs })
    }
    return parked
  }

  /** Returns at most `maxCount` originals of open events in `[from, until)`, and the revision to continue from. */
  async toReplay<E>(
    source: GroupSource<E>,
    { from, until, maxCount }: { readonly from: number; readonly until: number; readonly maxCount: number },
  ): Promise<{ events: ReplayedEvent<E>[]; next: number }> {
    const events: ReplayedEvent<E>[] = []
    for await (const [parked, link] of this.#openEvents(from, until)) {
      if (events.length >= maxCount) return { events, next: parked.revision }
      const event = await source.original(parked, link)
      // The original is missing only in a broken log, which reads report on their own.
      if (event !== undefined) {
        events.push({ event, lane: source.laneOf(event), parkedRevision: parked.revision, parkedId: parked.id })
      }
    }
    return { events, next: until }
  }

  async park<E>(source: GroupSource<E>, { event, reason, replaces }: Park<E>, id: string): Promise<void> {
    const record = { ...source.parkedAs(event), replaces, reason, added: new Date().toISOString() }
    await appendNext(this.log, groupStream(this.stored, 'parked'), this.#rules.parkedEvent(this.stored, id, record))
  }

  async requestReplay(stopAt: number): Promise<void> {
    await this.#appendReplay('ReplayRequested', { stopAt })
    if (!this.#rules.hidesObsoleteEvents) return
    const event = jsonEvent('$metadata', { $tb: stopAt, $acl: adminsOnly })
    await appendNext(this.log, metadataStream(groupStream(this.stored, 'parked')), event)
  }

  /** Starts the requested replay. An `until` of 0 cancels the replay that an earlier holder started. */
  async startReplay(until: number): Promise<void> {
    await this.#appendReplay('ReplayStarted', { until, request: this.#lastRequest })
    await this.refresh()
  }

  async replayDone(parkedRevisions: readonly number[]): Promise<void> {
    await this.#appendReplay('ReplayDone', { parkedRevisions })
  }

  #firstShown(isHeld: boolean): number {
    const replayedUntil = isHeld ? Math.max(this.#requestedUntil, this.#startedUntil) : this.#requestedUntil
    const view = this.log.reader.view(groupStream(this.stored, 'parked'))
    return Math.max(replayedUntil, this.#rules.firstParked(view))
  }

  async #appendReplay(type: 'ReplayRequested' | 'ReplayStarted' | 'ReplayDone', data: ReplayData): Promise<void> {
    const { generation } = this.stored
    await appendNext(this.log, groupStream(this.stored, 'replay'), jsonEvent(type, { generation, ...data }))
  }

  async #catchUp(kind: 'parked' | 'replay', fold: (event: StoredEvent) => void): Promise<void> {
    for (;;) {
      const page = this.#page(kind, this.#next[kind], pageSize)
      for (const event of page) {
        if (event.revision !== this.#next[kind]) continue // a concurrent call has read it
        this.#next[kind] += 1
        fold(event)
      }
      if (page.length < pageSize) return
      await nextTurn()
    }
  }

  /** Reads a page, including hidden events. */
  #page(kind: 'parked' | 'replay', from: number, maxCount: number): StoredEvent[] {
    const { reader } = this.log
    return reader.streamPage(followerView(reader.view(groupStream(this.stored, kind))), 'forwards', from, maxCount)
  }

  #foldParked(event: StoredEvent): void {
    const record = this.#rules.parkedRecord(this.stored, event)
    if (!record) return
    if (!this.#doneAhead.delete(event.revision)) this.#open.add(event.revision)
    if (record.replaces !== undefined) this.#open.delete(record.replaces)
  }

  #foldReplay({ type, revision, data }: StoredEvent): void {
    const replay: ReplayData | undefined = parseObject(data)
    if (replay?.generation !== this.stored.generation) return
    switch (type) {
      case 'ReplayRequested':
        this.#requestedUntil = Math.max(this.#requestedUntil, replay.stopAt ?? 0)
        this.#lastRequest = revision
        break
      case 'ReplayStarted':
        this.#startedUntil = replay.until ?? 0
        if (replay.request === this.#lastRequest) this.#requestedUntil = 0
        break
      case 'ReplayDone':
        for (const done of replay.parkedRevisions ?? []) {
          if (!this.#open.delete(done) && done >= this.#next.parked) this.#doneAhead.add(done)
        }
        break
    }
  }

  async *#openEvents(
    from: number,
    until = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<[parked: StoredEvent, link: string]> {
    let next = Math.max(from, this.#open.values().next().value ?? this.#next.parked)
    const end = Math.min(until, this.#next.parked)
    while (next < end) {
      const page = this.#page('parked', next, Math.min(pageSize, end - next))
      if (page.length === 0) return
      for (const event of page) {
        const record = this.#open.has(event.revision) && this.#rules.parkedRecord(this.stored, event)
        if (record) yield [event, record.link]
      }
      next += page.length
      await nextTurn()
    }
  }
}
