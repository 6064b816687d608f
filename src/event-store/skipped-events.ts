import { skippedEventsStream } from '../domain/streams.js'
import { decorateStore } from './decorate-store.js'
import type { EventData } from './event-codec.js'
import type { EventStore, Page, RecordedEvent } from './event-store.js'
import { readableEvent } from './read-event.js'

/**
 * Returns a store that marks the events that operators decided to skip. The first read loads the existing decisions. Later ones, by any
 * process or node, take effect when they are read, so a reader that must not miss one follows {@link skippedEventsStream} (the merchant
 * directory of every thread does).
 */
export function skipEvents(store: EventStore): EventStore {
  const skipped = new SkippedEvents()
  let loading: Promise<void> | undefined
  const loaded = () => {
    loading ??= store.readStream(skippedEventsStream).then(
      (events) => skipped.learn(events),
      (error) => {
        loading = undefined
        throw error
      },
    )
    return loading
  }
  const marked = (page: Page): Page => ({ ...page, events: skipped.mark(page.events) })
  return decorateStore(store, {
    async readStream(stream, options) {
      await loaded()
      return skipped.mark(await store.readStream(stream, options))
    },
    async readAll(options) {
      await loaded()
      return marked(await store.readAll(options))
    },
    async *subscribeToAll(options) {
      await loaded()
      for await (const page of store.subscribeToAll(options)) yield marked(page)
    },
  })
}

class SkippedEvents {
  /** The ids of skipped events by stream and revision: in a restored log, the location may hold a different event. */
  readonly #streams = new Map<string, Map<number, string>>()

  learn(events: readonly RecordedEvent[]): void {
    for (const recorded of events) {
      const decision = recorded.stream === skippedEventsStream ? decisionOf(recorded) : undefined
      if (!decision) continue
      const { stream, revision, eventId } = decision
      this.#streams.set(stream, new Map(this.#streams.get(stream)).set(revision, eventId))
    }
  }

  /** Returns the same list if no event was ever skipped, which is almost always the case. */
  mark(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
    this.learn(events)
    return this.#streams.size === 0 ? events : events.map((event) => this.#marked(event))
  }

  #marked(event: RecordedEvent): RecordedEvent {
    const { stream, revision, id } = event
    const skipped = this.#streams.get(stream)
    if (!skipped) return event
    if (skipped.get(revision) === id) return { ...event, isSkipped: true }
    let previousRevision = revision - 1
    while (skipped.has(previousRevision)) previousRevision--
    return previousRevision === revision - 1 ? event : { ...event, previousRevision }
  }
}

/** Returns the decision that an event records, or `undefined` if it is unreadable itself, in which case it skips nothing. */
export function decisionOf(recorded: RecordedEvent): EventData<'EventSkipped'> | undefined {
  const event = readableEvent(recorded)
  return event?.type === 'EventSkipped' ? event.data : undefined
}
