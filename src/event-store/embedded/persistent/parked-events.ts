import { randomUUID } from 'node:crypto'
import type { ExpectedRevision, JsonObject, ParkedEvent, RecordedEvent } from '../../event-store.js'
import { WrongExpectedRevisionError } from '../../event-store.js'
import type { Park, ReplayedEvent } from './group.js'
import type { GroupLog } from './log.js'
import type { StoredGroup } from './stored-groups.js'
import { groupStream } from './streams.js'

const pageSize = 500
const maxConflicts = 50

type ReplayEvent = 'ReplayRequested' | 'ReplayStarted' | 'ReplayDone'

/**
 * What a group has parked, kept in two streams. `…-parked` has one event for each parked one. `…-replay` says what
 * became of them: asked to be replayed (by anybody), taken up (by the holder), done (acked or skipped afterwards).
 * An event stays parked until it is done or parked anew: a replay which a crash cuts off loses nothing.
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

  constructor(
    private readonly log: GroupLog,
    private readonly group: StoredGroup,
  ) {
    this.#parkedStream = groupStream(group.group, 'parked')
    this.#replayStream = groupStream(group.group, 'replay')
  }

  /** Reads what was written since. Calls may overlap. */
  async refresh(): Promise<void> {
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
    const from = this.#replayedUntil(held)
    let count = 0
    for (const revision of this.#open) if (revision >= from) count += 1
    return count
  }

  async list(held: boolean, maxCount: number): Promise<ParkedEvent[]> {
    const parked: ParkedEvent[] = []
    for await (const event of this.#openOnes(this.#replayedUntil(held), Number.POSITIVE_INFINITY)) {
      if (parked.length >= maxCount) break
      const { stream, revision } = linkOf(event)
      const { reason, added } = event.metadata as { reason: string; added: string }
      parked.push({ parkedRevision: event.revision, stream, revision, reason, parkedAtMs: Date.parse(added) })
    }
    return parked
  }

  /** Originals of open ones in `[from, until)`, at most `maxCount` looked up; `next` is where to go on. */
  async toReplay(from: number, until: number, maxCount: number): Promise<{ events: ReplayedEvent[]; next: number }> {
    const events: ReplayedEvent[] = []
    for await (const parked of this.#openOnes(from, until)) {
      if (events.length >= maxCount) return { events, next: parked.revision }
      const { stream, revision } = linkOf(parked)
      const [event] = await this.log.readStream(stream, { fromRevision: revision, maxCount: 1 })
      // The log never forgets: without the original this would be a broken log, which reading reports by itself.
      if (event) events.push({ event, parkedRevision: parked.revision, parkedId: parked.id })
    }
    return { events, next: until }
  }

  async park(park: Park, id: string): Promise<void> {
    const { event, reason, replaces } = park
    const data = { generation: this.group.generation, link: `${event.revision}@${event.stream}` }
    const metadata = { added: new Date().toISOString(), reason, subscriptionEventNumber: event.revision }
    await this.#append(this.#parkedStream, {
      id,
      type: '$>',
      data: replaces === undefined ? data : { ...data, replaces },
      metadata,
    })
  }

  async requestReplay(stopAt: number): Promise<void> {
    await this.#appendReplay('ReplayRequested', { stopAt })
  }

  /** Takes up what was asked for so far; `until` 0 declares what an earlier holder had taken up void. */
  async startReplay(until: number): Promise<void> {
    await this.#appendReplay('ReplayStarted', { until, request: this.#lastRequest })
    await this.refresh()
  }

  async replayDone(parkedRevisions: readonly number[]): Promise<void> {
    await this.#appendReplay('ReplayDone', { parkedRevisions })
  }

  #replayedUntil(held: boolean): number {
    return held ? Math.max(this.#requestedUntil, this.#startedUntil) : this.#requestedUntil
  }

  async #appendReplay(type: ReplayEvent, data: JsonObject): Promise<void> {
    const event = { id: randomUUID(), type, data: { generation: this.group.generation, ...data }, metadata: {} }
    await this.#append(this.#replayStream, event)
  }

  /** Names the revision it saw, as every append here does, so that a repeated one is answered as the first was. */
  async #append(
    stream: string,
    event: { id: string; type: string; data: JsonObject; metadata: JsonObject },
  ): Promise<void> {
    for (let i = 0; ; i += 1) {
      const last = this.log.readLast(stream)
      const expected: ExpectedRevision = last ? last.revision : 'no_stream'
      if (last?.id === event.id) return // an earlier attempt whose answer was lost
      try {
        await this.log.append(stream, expected, [event])
        return
      } catch (error) {
        if (!(error instanceof WrongExpectedRevisionError) || i >= maxConflicts) throw error
      }
    }
  }

  async #each(stream: string, next: () => number, fold: (event: RecordedEvent) => void): Promise<void> {
    for (;;) {
      const page = await this.log.readStream(stream, { fromRevision: next(), maxCount: pageSize })
      for (const event of page) if (event.revision === next()) fold(event)
      if (page.length < pageSize) return
    }
  }

  #foldParked(event: RecordedEvent): void {
    this.#nextParked = event.revision + 1
    if (event.data.generation !== this.group.generation) return
    if (!this.#doneAhead.delete(event.revision)) this.#open.add(event.revision)
    if (event.data.replaces !== undefined) this.#open.delete(event.data.replaces as number)
  }

  #foldReplay(event: RecordedEvent): void {
    this.#nextReplay = event.revision + 1
    const { data } = event
    if (data.generation !== this.group.generation) return
    switch (event.type as ReplayEvent) {
      case 'ReplayRequested':
        this.#requestedUntil = Math.max(this.#requestedUntil, data.stopAt as number)
        this.#lastRequest = event.revision
        break
      case 'ReplayStarted':
        this.#startedUntil = data.until as number
        if (data.request === this.#lastRequest) this.#requestedUntil = 0
        break
      case 'ReplayDone':
        for (const revision of data.parkedRevisions as number[]) {
          if (!this.#open.delete(revision) && revision >= this.#nextParked) this.#doneAhead.add(revision)
        }
        break
    }
  }

  async *#openOnes(from: number, until: number): AsyncGenerator<RecordedEvent> {
    let next = Math.max(from, this.#open.values().next().value ?? this.#nextParked)
    const end = Math.min(until, this.#nextParked)
    while (next < end) {
      const maxCount = Math.min(pageSize, end - next)
      const page = await this.log.readStream(this.#parkedStream, { fromRevision: next, maxCount })
      if (page.length === 0) return
      for (const event of page) if (this.#open.has(event.revision)) yield event
      next += page.length
    }
  }
}

function linkOf(parked: RecordedEvent): { stream: string; revision: number } {
  const link = parked.data.link as string
  const at = link.indexOf('@')
  return { stream: link.slice(at + 1), revision: Number(link.slice(0, at)) }
}
