import { randomUUID } from 'node:crypto'
import { type EventContent, parseObject } from '../file/event-body.js'
import { metadataStream } from '../file/stream-metadata.js'
import { asFollowed, type StoredEvent } from '../reader/stream-reader.js'
import type { ParkedEvent } from '../types.js'
import { WrongExpectedRevisionError } from '../types.js'
import type { Park, ReplayedEvent } from './group.js'
import { groupStream, type StoredGroup } from './group-definition.js'
import { expectedAfter, type GroupLog, jsonContent } from './group-log.js'
import type { GroupSource } from './group-source.js'

const pageSize = 500
const maxConflicts = 50
/** As EventStoreDB has it on a parked stream that was replayed. */
const adminsOnly = { $r: '$admins', $w: '$admins', $d: '$admins', $mr: '$admins', $mw: '$admins' }

type ReplayEvent = 'ReplayRequested' | 'ReplayStarted' | 'ReplayDone'

/** What the replay stream says. */
interface ReplayData {
  readonly generation?: string
  readonly stopAt?: number
  readonly until?: number
  readonly request?: number
  readonly parkedRevisions?: readonly number[]
}

/** An event of the parked stream. */
interface ParkedRecord {
  readonly link: string
  readonly isOurs: boolean
  readonly replaces?: number
}

/**
 * What a group has parked, kept in two streams. `…-parked` has one event for each parked one. `…-replay` says what
 * became of them: asked to be replayed (by anybody), taken up (by the holder), done. An event stays parked until it is
 * done or parked anew: a replay which a crash cuts off loses nothing.
 *
 * Clients of the protocol read the parked streams of the groups they make, so these have EventStoreDB's form, which has
 * no room for a generation, and what was replayed is hidden in them (`$tb`).
 *
 * Folded from the log as far as it has grown since the last look, so any process sees the same.
 */
export class ParkedEvents {
  readonly #parkedStream: string
  readonly #replayStream: string
  /** Parked revisions that are neither done nor parked anew, ascending. */
  readonly #open = new Set<number>()
  /** Done before they were seen here: the two streams are read one after the other. */
  readonly #doneAhead = new Set<number>()
  #nextParked = 0
  #nextReplay = 0
  /** Excluded; asked for since the holder last took something up. */
  #requestedUntil = 0
  #startedUntil = 0
  #lastRequest = -1
  #seen = -1

  constructor(
    private readonly log: GroupLog,
    private readonly stored: StoredGroup,
  ) {
    this.#parkedStream = groupStream(stored, 'parked')
    this.#replayStream = groupStream(stored, 'replay')
  }

  /** Reads what was written since. Calls may overlap. */
  async refresh(): Promise<void> {
    const end = this.log.reader.lastPosition()
    if (end === this.#seen) return
    await this.#each(
      this.#parkedStream,
      () => this.#nextParked,
      (event) => this.#foldParked(event),
    )
    await this.#each(
      this.#replayStream,
      () => this.#nextReplay,
      (event) => this.#foldReplay(event),
    )
    this.#seen = Math.max(this.#seen, end)
  }

  /** How far a replay was asked for that no holder has taken up yet; 0: none was. */
  get requestedUntil(): number {
    return this.#requestedUntil
  }

  /** How far the last holder that took up a replay got it; 0: none did, or a later one declared it void. */
  get startedUntil(): number {
    return this.#startedUntil
  }

  /** Revision behind the last parked event. */
  get end(): number {
    return this.#nextParked
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
    for await (const event of this.#openOnes(this.#shownFrom(held), Number.POSITIVE_INFINITY)) {
      if (parked.length >= maxCount) break
      const { stream, revision } = placeOf(this.#recordIn(event).link)
      const { reason, added } = parseObject(event.metadata) as { reason: string; added: string }
      parked.push({ parkedRevision: event.revision, stream, revision, reason, parkedAtMs: Date.parse(added) })
    }
    return parked
  }

  /** Originals of open ones in `[from, until)`, at most `maxCount` looked up; `next` is where to go on. */
  async toReplay<E>(
    source: GroupSource<E>,
    { from, until, maxCount }: { readonly from: number; readonly until: number; readonly maxCount: number },
  ): Promise<{ events: ReplayedEvent<E>[]; next: number }> {
    const events: ReplayedEvent<E>[] = []
    for await (const parked of this.#openOnes(from, until)) {
      if (events.length >= maxCount) return { events, next: parked.revision }
      const event = await source.original(parked, this.#recordIn(parked).link)
      // The log never forgets: without the original this would be a broken log, which reading reports by itself.
      if (event !== undefined) {
        events.push({ event, lane: source.laneOf(event), parkedRevision: parked.revision, parkedId: parked.id })
      }
    }
    return { events, next: until }
  }

  async park<E>(source: GroupSource<E>, { event, reason, replaces }: Park<E>, id: string): Promise<void> {
    const { link, number } = source.parkedAs(event)
    const added = new Date().toISOString()
    const { generation, madeBy } = this.stored
    switch (madeBy) {
      case 'service': {
        const content = jsonContent(id, '$>', { generation, link, replaces })
        const metadata = Buffer.from(JSON.stringify({ added, reason, subscriptionEventNumber: number }))
        await this.#append(this.#parkedStream, { ...content, metadata })
        return
      }
      case 'protocol': {
        // What is 0 is left out there.
        const metadata = { added, reason, ...(number !== 0 && { subscriptionEventNumber: number }), replaces }
        const content = { id, type: '$>', isJson: false, data: Buffer.from(link) }
        await this.#append(this.#parkedStream, { ...content, metadata: Buffer.from(JSON.stringify(metadata)) })
        return
      }
      default:
        madeBy satisfies never
    }
  }

  async requestReplay(stopAt: number): Promise<void> {
    await this.#appendReplay('ReplayRequested', { stopAt })
    if (this.stored.madeBy === 'protocol') await this.#describe(JSON.stringify({ $tb: stopAt, $acl: adminsOnly }))
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
    if (this.stored.madeBy === 'service') return replayedUntil
    // A client may have put away what it has seen to by truncating the stream, or deleting it.
    const { isMissing, first } = this.log.reader.view(this.#parkedStream)
    return isMissing ? Number.POSITIVE_INFINITY : Math.max(replayedUntil, first)
  }

  async #appendReplay(type: ReplayEvent, data: ReplayData): Promise<void> {
    const { generation } = this.stored
    await this.#append(this.#replayStream, jsonContent(randomUUID(), type, { generation, ...data }))
  }

  async #describe(text: string): Promise<void> {
    await this.#append(metadataStream(this.#parkedStream), {
      ...jsonContent(randomUUID(), '$metadata', {}),
      data: Buffer.from(text),
    })
  }

  /** Names the revision it saw, as every append here does, so that a repeated one is answered as the first was. */
  async #append(stream: string, event: EventContent): Promise<void> {
    const { reader } = this.log
    for (let i = 0; ; i += 1) {
      const expected = expectedAfter(reader, stream)
      if (reader.last(stream)?.id === event.id) return // an earlier attempt whose answer was lost
      try {
        await this.log.append(stream, expected, event)
        return
      } catch (error) {
        if (!(error instanceof WrongExpectedRevisionError) || i >= maxConflicts) throw error
      }
    }
  }

  async #each(stream: string, next: () => number, fold: (event: StoredEvent) => void): Promise<void> {
    for (;;) {
      const page = this.#page(stream, next(), pageSize)
      for (const event of page) if (event.revision === next()) fold(event)
      if (page.length === 0) return
      if (page.length === pageSize) await nextTurn()
    }
  }

  /** Hidden ones too. */
  #page(stream: string, from: number, maxCount: number): StoredEvent[] {
    const { reader } = this.log
    return reader.streamPage(asFollowed(reader.view(stream)), 'forwards', from, maxCount)
  }

  #recordIn({ data, metadata, revision }: StoredEvent): ParkedRecord {
    const { generation, madeBy, since } = this.stored
    switch (madeBy) {
      case 'service': {
        const record = parseObject(data) as { generation?: string; link?: string; replaces?: number } | undefined
        return { link: '', ...record, isOurs: record?.generation === generation }
      }
      case 'protocol':
        return { link: Buffer.from(data).toString(), isOurs: revision >= since.parked, ...replacesIn(metadata) }
      default:
        return madeBy satisfies never
    }
  }

  #foldParked(event: StoredEvent): void {
    this.#nextParked = event.revision + 1
    const { isOurs, replaces } = this.#recordIn(event)
    if (!isOurs) return
    if (!this.#doneAhead.delete(event.revision)) this.#open.add(event.revision)
    if (replaces !== undefined) this.#open.delete(replaces)
  }

  #foldReplay(event: StoredEvent): void {
    this.#nextReplay = event.revision + 1
    const data = (parseObject(event.data) ?? {}) as ReplayData
    if (data.generation !== this.stored.generation) return
    switch (event.type as ReplayEvent) {
      case 'ReplayRequested':
        this.#requestedUntil = Math.max(this.#requestedUntil, data.stopAt ?? 0)
        this.#lastRequest = event.revision
        break
      case 'ReplayStarted':
        this.#startedUntil = data.until ?? 0
        if (data.request === this.#lastRequest) this.#requestedUntil = 0
        break
      case 'ReplayDone':
        for (const revision of data.parkedRevisions ?? []) {
          if (!this.#open.delete(revision) && revision >= this.#nextParked) this.#doneAhead.add(revision)
        }
        break
    }
  }

  async *#openOnes(from: number, until: number): AsyncGenerator<StoredEvent> {
    let next = Math.max(from, this.#open.values().next().value ?? this.#nextParked)
    const end = Math.min(until, this.#nextParked)
    while (next < end) {
      const page = this.#page(this.#parkedStream, next, Math.min(pageSize, end - next))
      if (page.length === 0) return
      for (const event of page) if (this.#open.has(event.revision)) yield event
      next += page.length
      await nextTurn()
    }
  }
}

function replacesIn(metadata: Uint8Array): { replaces?: number } {
  const replaces = parseObject(metadata)?.replaces
  return typeof replaces === 'number' ? { replaces } : {}
}

function placeOf(link: string): { stream: string; revision: number } {
  const at = link.indexOf('@')
  return { stream: link.slice(at + 1), revision: Number(link.slice(0, at)) }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
