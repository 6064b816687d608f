import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ParkedEvent } from '../event-log-types.js'
import { parseObject } from '../file/event-body.js'
import { metadataStream } from '../file/stream-metadata.js'
import type { StoredEvent } from '../reader/event-rows.js'
import { followerView } from '../reader/log-reader.js'
import type { Park, ReplayedEvent } from './group.js'
import { groupStream, type StoredGroup } from './group-definition.js'
import { appendNext, type GroupLog, jsonEvent } from './group-log.js'
import { type Rules, rulesOf } from './group-rules.js'
import type { GroupSource } from './group-source.js'

const pageSize = 500
/** As EventStoreDB has it on a parked stream that was replayed. */
const adminsOnly = { $r: '$admins', $w: '$admins', $d: '$admins', $mr: '$admins', $mw: '$admins' }

/** What the replay stream says. */
interface ReplayData {
  readonly generation?: string
  /** Of ReplayRequested. */
  readonly stopAt?: number
  /** Of ReplayStarted, with the revision of the request. */
  readonly until?: number
  readonly request?: number
  /** Of ReplayDone. */
  readonly parkedRevisions?: readonly number[]
}

/**
 * What a group has parked, kept in two streams. `…-parked` has one event for each parked one. `…-replay` says what
 * became of them: asked to be replayed (by anybody), taken up (by the holder), done. An event stays parked until it is
 * done or parked anew: a replay which a crash cuts off loses nothing.
 *
 * Folded from the log as far as it has grown since the last look, so any process sees the same.
 */
export class ParkedEvents {
  readonly #rules: Rules
  /** Parked revisions that are neither done nor parked anew, ascending. */
  readonly #open = new Set<number>()
  /** Done before they were seen here: the two streams are read one after the other. */
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

  /** Reads what was written since. Calls may overlap. */
  async refresh(): Promise<void> {
    const end = this.log.reader.lastPosition()
    if (end === this.#seen) return
    await this.#catchUp('parked', (event) => this.#foldParked(event))
    await this.#catchUp('replay', (event) => this.#foldReplay(event))
    this.#seen = Math.max(this.#seen, end)
  }

  /** How far (excluded) a replay was asked for that no holder has taken up yet; 0: none was. */
  get requestedUntil(): number {
    return this.#requestedUntil
  }

  /** How far the last holder that took up a replay got it; 0: none did, or a later one declared it void. */
  get startedUntil(): number {
    return this.#startedUntil
  }

  /** Revision behind the last parked event. */
  get end(): number {
    return this.#next.parked
  }

  /** Parked ones that are not being replayed. @param held whether the holder which took up the replay is alive. */
  count(held: boolean): number {
    const from = this.#shownFrom(held)
    let count = 0
    for (const revision of this.#open) if (revision >= from) count += 1
    return count
  }

  async list(held: boolean, maxCount: number): Promise<ParkedEvent[]> {
    const parked: ParkedEvent[] = []
    for await (const [{ revision: parkedRevision, metadata }, link] of this.#openOnes(this.#shownFrom(held))) {
      if (parked.length >= maxCount) break
      const at = link.indexOf('@')
      const { reason, added } = parseObject(metadata) as { reason: string; added: string }
      const [stream, revision] = [link.slice(at + 1), Number(link.slice(0, at))]
      parked.push({ parkedRevision, stream, revision, reason, parkedAtMs: Date.parse(added) })
    }
    return parked
  }

  /** Originals of open ones in `[from, until)`, at most `maxCount` looked up; `next` is where to go on. */
  async toReplay<E>(
    source: GroupSource<E>,
    { from, until, maxCount }: { readonly from: number; readonly until: number; readonly maxCount: number },
  ): Promise<{ events: ReplayedEvent<E>[]; next: number }> {
    const events: ReplayedEvent<E>[] = []
    for await (const [parked, link] of this.#openOnes(from, until)) {
      if (events.length >= maxCount) return { events, next: parked.revision }
      const event = await source.original(parked, link)
      // The log never forgets: without the original this would be a broken log, which reading reports by itself.
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
    if (!this.#rules.hidesWhatIsOver) return
    const event = jsonEvent('$metadata', { $tb: stopAt, $acl: adminsOnly })
    await appendNext(this.log, metadataStream(groupStream(this.stored, 'parked')), event)
  }

  /** Takes up what was asked for so far; `until` 0 declares what an earlier holder had taken up void. */
  async startReplay(until: number): Promise<void> {
    await this.#appendReplay('ReplayStarted', { until, request: this.#lastRequest })
    await this.refresh()
  }

  async replayDone(parkedRevisions: readonly number[]): Promise<void> {
    await this.#appendReplay('ReplayDone', { parkedRevisions })
  }

  #shownFrom(held: boolean): number {
    const replayedUntil = held ? Math.max(this.#requestedUntil, this.#startedUntil) : this.#requestedUntil
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
        if (event.revision !== this.#next[kind]) continue // another call was quicker
        this.#next[kind] += 1
        fold(event)
      }
      if (page.length < pageSize) return
      await nextTurn()
    }
  }

  /** Hidden ones too. */
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
    const written: ReplayData | undefined = parseObject(data)
    if (written?.generation !== this.stored.generation) return
    switch (type) {
      case 'ReplayRequested':
        this.#requestedUntil = Math.max(this.#requestedUntil, written.stopAt ?? 0)
        this.#lastRequest = revision
        break
      case 'ReplayStarted':
        this.#startedUntil = written.until ?? 0
        if (written.request === this.#lastRequest) this.#requestedUntil = 0
        break
      case 'ReplayDone':
        for (const done of written.parkedRevisions ?? []) {
          if (!this.#open.delete(done) && done >= this.#next.parked) this.#doneAhead.add(done)
        }
        break
    }
  }

  async *#openOnes(
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
