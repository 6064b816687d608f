import { skippedEventsStream } from '../domain/streams.js'
import type { EventData } from './event-codec.js'
import type { EventStore, Page, RecordedEvent } from './event-store.js'
import { readableEvent } from './read-event.js'

/**
 * The same store, with the events marked that a person decided to skip. What was decided before is known at the first read; what
 * is decided later, by whichever process or node, is learned as it comes by, so whoever must know of it at once follows
 * {@link skippedEventsStream} (the merchant directory does, in every thread).
 */
export function skipEvents(store: EventStore): EventStore {
  const decided = new SkippedEvents()
  let loading: Promise<void> | undefined
  const loaded = () => {
    loading ??= store.readStream(skippedEventsStream).then(
      (events) => decided.learn(events),
      (error) => {
        loading = undefined
        throw error
      },
    )
    return loading
  }
  const marked = (page: Page): Page => ({ ...page, events: decided.mark(page.events) })
  return {
    append: (stream, expectedRevision, events) => store.append(stream, expectedRevision, events),
    appendInOrder: (appends) => store.appendInOrder(appends),
    ...(store.appendsInOneTransaction && { appendsInOneTransaction: true }),
    persistentSubscriptions: store.persistentSubscriptions,
    close: () => store.close(),
    async readStream(stream, options) {
      await loaded()
      return decided.mark(await store.readStream(stream, options))
    },
    async readAll(options) {
      await loaded()
      return marked(await store.readAll(options))
    },
    async *subscribeToAll(options) {
      await loaded()
      for await (const page of store.subscribeToAll(options)) yield marked(page)
    },
  }
}

class SkippedEvents {
  /** The ids of the events by stream and revision: in a log that was put back, another event may stand there. */
  readonly #streams = new Map<string, Map<number, string>>()

  learn(events: readonly RecordedEvent[]): void {
    for (const recorded of events) {
      const decision = recorded.stream === skippedEventsStream ? decisionOf(recorded) : undefined
      if (!decision) continue
      const { stream, revision, eventId } = decision
      this.#streams.set(stream, new Map(this.#streams.get(stream)).set(revision, eventId))
    }
  }

  /** Almost always the very same events: there is next to nothing to look for. */
  mark(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
    this.learn(events)
    return this.#streams.size === 0 ? events : events.map((event) => this.#marked(event))
  }

  #marked(event: RecordedEvent): RecordedEvent {
    const { stream, revision, id } = event
    const decided = this.#streams.get(stream)
    if (!decided) return event
    if (decided.get(revision) === id) return { ...event, isSkipped: true }
    let previousRevision = revision - 1
    while (decided.has(previousRevision)) previousRevision--
    return previousRevision === revision - 1 ? event : { ...event, previousRevision }
  }
}

/** What was decided; undefined for an event that cannot be read itself, which skips nothing. */
export function decisionOf(recorded: RecordedEvent): EventData<'EventSkipped'> | undefined {
  const event = readableEvent(recorded)
  return event?.type === 'EventSkipped' ? event.data : undefined
}
