import type { GroupSource, Item, SourcePage } from '@transferd/event-log/groups'
import { configStream, type StoredGroup, wholeLog } from '@transferd/event-log/groups'
import type { StreamStore } from '@transferd/event-log/streams'
import { followerView, parseObject, type StoredEvent, tombstoneRevision } from '@transferd/event-log/streams'
import { epochStream } from '../access/server-streams.js'
import { type Matcher, matcherOf } from '../filters/event-filter.js'
import type { MatchingBudget } from '../filters/matching-budget.js'
import { linkOrEvent, type ResolvedEvent, resolve } from '../wire/resolved-event.js'

/** The number of events per scan, matching or not. */
const scanEvents = 500
/** The prefix of streams of groups on the whole log, whose events no such group receives. */
const groupStreams = `$persistentsubscription-${wholeLog}::`

function isExcluded({ stream }: StoredEvent): boolean {
  return stream.startsWith(groupStreams) || stream.startsWith(`$$${groupStreams}`) || stream === epochStream
}

export function sourceOf(store: StreamStore, stored: StoredGroup, budget: MatchingBudget): GroupSource<ResolvedEvent> {
  return stored.source === wholeLog ? new WholeLogSource(store, stored, budget) : new StreamSource(store, stored)
}

/** The common parts of the sources of streams and of the whole log. */
abstract class ProtocolGroupSource implements GroupSource<ResolvedEvent> {
  abstract readonly hasEnded: boolean

  constructor(
    protected readonly store: StreamStore,
    protected readonly stored: StoredGroup,
  ) {}

  abstract read(after: number, maxCount: number): Promise<SourcePage<ResolvedEvent>>
  abstract listen(wake: () => void, signal: AbortSignal): Promise<void>

  parkedAs(resolved: ResolvedEvent): { link: string; number: number } {
    const { event, link } = resolved
    const number = linkOrEvent(resolved).revision
    // A broken link is parked with its own text.
    if (event === undefined) return { link: Buffer.from(linkOrEvent(resolved).data).toString(), number }
    return { link: `${event.revision}@${event.stream}`, number: (link ?? event).revision }
  }

  async original(parked: StoredEvent): Promise<ResolvedEvent> {
    return resolve(parked, this.store.reader)
  }

  laneOf(resolved: ResolvedEvent): string {
    const event = resolved.event ?? linkOrEvent(resolved)
    if (this.stored.settings.strategy !== 'PinnedByCorrelation') return event.stream
    const correlation = parseObject(event.metadata)?.$correlationId
    return typeof correlation === 'string' ? correlation : event.stream
  }

  protected itemOf(event: StoredEvent, position: number): Item<ResolvedEvent> {
    const resolved = this.stored.settings.resolveLinks ? resolve(event, this.store.reader) : { event }
    const size = event.data.length + event.metadata.length + (resolved.event?.data.length ?? 0)
    return { event: resolved, id: event.id, position, lane: this.laneOf(resolved), size }
  }
}

class WholeLogSource extends ProtocolGroupSource {
  readonly hasEnded = false
  readonly #matches: Matcher
  /** The rest of a page of which a full group took only a part. */
  #rest: { readonly from: number; readonly events: readonly StoredEvent[] } | undefined

  constructor(store: StreamStore, stored: StoredGroup, budget: MatchingBudget) {
    super(store, stored)
    const { filter, madeBy } = stored
    if (filter) this.#matches = matcherOf(filter, budget)
    // The service's groups receive no system events.
    else this.#matches = async (events) => events.map(({ stream }) => madeBy === 'protocol' || !stream.startsWith('$'))
  }

  async read(after: number, maxCount: number): Promise<SourcePage<ResolvedEvent>> {
    await new Promise(setImmediate) // give other work a turn, because many pages may contain no match
    const rest = this.#rest
    this.#rest = undefined
    const from = after + 1
    const events = rest?.from === from ? rest.events : this.store.reader.allPage('forwards', from, scanEvents)
    const matches = await this.#matches(events)
    const items: Item<ResolvedEvent>[] = []
    let through = after
    let unmatched = 0
    for (const [i, event] of events.entries()) {
      if (!isExcluded(event) && matches[i]) {
        if (items.length === maxCount) {
          this.#rest = { from: event.position, events: events.slice(i) }
          return { items, through, unmatched, atEnd: false }
        }
        items.push({ ...this.itemOf(event, event.position), unmatchedBefore: { count: unmatched, through } })
      } else if (!isExcluded(event) && event.stream !== configStream) {
        unmatched += 1 // the groups' own events must not count: a checkpoint would cause the next one, forever
      }
      through = event.position
    }
    return { items, through, unmatched, atEnd: through >= this.store.reader.lastPosition() }
  }

  async listen(wake: () => void, signal: AbortSignal): Promise<void> {
    let seen = 0
    while (!signal.aborted) {
      await this.store.waitForCommit(seen, signal)
      seen = this.store.reader.lastPosition()
      wake()
    }
  }
}

class StreamSource extends ProtocolGroupSource {
  readonly hasEnded: boolean
  #isCaughtUp = false

  constructor(store: StreamStore, stored: StoredGroup) {
    super(store, stored)
    this.hasEnded = store.reader.view(stored.source).isTombstoned
  }

  async read(after: number, maxCount: number): Promise<SourcePage<ResolvedEvent>> {
    await new Promise(setImmediate)
    const { reader } = this.store
    const { source } = this.stored
    const view = reader.view(source)
    if (this.hasEnded) return { items: [], through: after, unmatched: 0, atEnd: true }
    if (view.isTombstoned) return this.#readTombstone(after)
    // Hidden events stay hidden while the group catches up. Afterwards it receives every new event.
    const visible = this.#isCaughtUp ? followerView(view) : view
    const events = view.isMissing ? [] : reader.streamPage(visible, 'forwards', after + 1, maxCount)
    const items = events.map((event) => this.itemOf(event, event.revision))
    const through = items.length > 0 ? items.at(-1)!.position : Math.max(after, view.current)
    const atEnd = items.length === 0 || through >= view.current
    this.#isCaughtUp ||= atEnd
    return { items, through, unmatched: 0, atEnd }
  }

  /** Returns the event that ended the stream, which is the last one. */
  #readTombstone(after: number): SourcePage<ResolvedEvent> {
    const end = after < tombstoneRevision ? this.store.reader.tombstone(this.stored.source) : undefined
    const items = end ? [this.itemOf(end, tombstoneRevision)] : []
    return { items, through: tombstoneRevision, unmatched: 0, atEnd: true }
  }

  listen(wake: () => void, signal: AbortSignal): Promise<void> {
    const stop = this.store.activity.listen(this.stored.source, wake)
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        stop()
        resolve()
      })
    })
  }
}
