import { skippedEventsStream } from '../domain/streams.js'
import { type DomainEvent, decodeEvent, type EventData, UnreadableEventError } from './event-codec.js'
import type { EventStore, Page, RecordedEvent, UnparsedEvent } from './event-store.js'

/**
 * Returns the decoded event, or `undefined` if it is skipped ({@link skipEvents}). Every reader uses this function, and ignores a skipped
 * event except for its revision. @throws UnreadableEventError
 */
export function readEvent(recorded: RecordedEvent): DomainEvent | undefined {
  return recorded.isSkipped ? undefined : decoded(recorded)
}

const shared = new WeakMap<RecordedEvent, { readonly event?: DomainEvent; readonly failure?: unknown }>()

/** Marks events that several readers share: the first reader decodes each, the others reuse the result. */
export function decodeOnce(events: readonly RecordedEvent[]): void {
  for (const recorded of events) if (!shared.has(recorded)) shared.set(recorded, {})
}

function decoded(recorded: RecordedEvent): DomainEvent {
  const known = shared.get(recorded)
  if (known?.event) return known.event
  if (known?.failure) throw known.failure
  try {
    const event = decodeEvent(recorded)
    if (known) shared.set(recorded, { event })
    return event
  } catch (failure) {
    if (known) shared.set(recorded, { failure })
    throw failure
  }
}

/** Returns `undefined` for an unreadable event too. */
export function readableEvent(recorded: RecordedEvent): DomainEvent | undefined {
  try {
    return readEvent(recorded)
  } catch (error) {
    if (error instanceof UnreadableEventError) return undefined
    throw error
  }
}

/** Returns the state after an event, which a skipped event does not change. @throws UnreadableEventError also if the event does not fit the state */
export function foldEvent<State, Event>(
  evolve: (state: State, event: Event) => State,
  state: State,
  recorded: RecordedEvent,
): State {
  const event = readEvent(recorded) as Event | undefined
  return event ? evolved(evolve, state, recorded, event) : state
}

/** Returns the state after a decoded event. @throws UnreadableEventError if the event does not fit the state */
export function evolved<State, Event>(
  evolve: (state: State, event: Event) => State,
  state: State,
  recorded: RecordedEvent,
  event: Event,
): State {
  try {
    return evolve(state, event)
  } catch (error) {
    // The message of evolve is a constant, such as: a transfer changed before it was created.
    throw new UnreadableEventError(recorded, error instanceof Error ? error.message : String(error))
  }
}

/** Returns why an event is unreadable, even if it is skipped, or `undefined` if it is readable. */
export function unreadableReason(recorded: RecordedEvent): string | undefined {
  try {
    decoded(recorded)
    return undefined
  } catch (error) {
    if (error instanceof UnreadableEventError) return error.reason
    throw error
  }
}

/**
 * Returns a store that marks the events that operators decided to skip. The first read loads the existing decisions. Later ones, by any
 * process or node, take effect when they are read, so a reader that must not miss one follows {@link skippedEventsStream} (the merchant
 * directory of every thread does).
 */
export function skipEvents(store: EventStore): EventStore {
  /** The ids of skipped events by stream and revision: in a restored log, the location may hold a different event. */
  const streams = new Map<string, Map<number, string>>()
  const learn = (events: readonly RecordedEvent[]) => {
    for (const recorded of events) {
      const decision = recorded.stream === skippedEventsStream ? decisionOf(recorded) : undefined
      if (!decision) continue
      const { stream, revision, eventId } = decision
      streams.set(stream, new Map(streams.get(stream)).set(revision, eventId))
    }
  }
  let loading: Promise<void> | undefined
  const loaded = () => {
    loading ??= store.readStream(skippedEventsStream).then(learn, (error) => {
      loading = undefined
      throw error
    })
    return loading
  }
  /** Returns the same list if no event was ever skipped, which is almost always the case. */
  const mark = (events: readonly RecordedEvent[]) => {
    learn(events)
    return streams.size === 0 ? events : events.map((event) => marked(event, streams.get(event.stream)))
  }
  const markedUnparsed = (event: UnparsedEvent): UnparsedEvent => {
    const id = streams.get(event.stream)?.get(event.revision)
    return id !== undefined && hasId(event, id) ? { ...event, isSkipped: true } : event
  }
  const markedPage = (page: Page): Page => ({ ...page, events: mark(page.events) })
  return {
    ...store,
    async readStream(stream, options) {
      await loaded()
      return mark(await store.readStream(stream, options))
    },
    async readEvents(places) {
      await loaded()
      return mark(await store.readEvents(places))
    },
    async readAll(options) {
      await loaded()
      return markedPage(await store.readAll(options))
    },
    async readUnparsed(options) {
      await loaded()
      const page = await store.readUnparsed(options)
      return streams.size === 0 ? page : { ...page, events: page.events.map(markedUnparsed) }
    },
    async *subscribeToAll(options) {
      await loaded()
      for await (const page of store.subscribeToAll(options)) yield markedPage(page)
    },
  }
}

function hasId({ text, bytes }: UnparsedEvent, id: string): boolean {
  return text === undefined ? Buffer.from(bytes?.[0] ?? []).toString() === id : text.startsWith(`["${id}",`)
}

function marked(event: RecordedEvent, skipped: ReadonlyMap<number, string> | undefined): RecordedEvent {
  if (!skipped) return event
  const { revision, id } = event
  if (skipped.get(revision) === id) return { ...event, isSkipped: true }
  let previousRevision = revision - 1
  while (skipped.has(previousRevision)) previousRevision--
  return previousRevision === revision - 1 ? event : { ...event, previousRevision }
}

/** Returns the decision that an event records, or `undefined` if it is unreadable itself, in which case it skips nothing. */
export function decisionOf(recorded: RecordedEvent): EventData<'EventSkipped'> | undefined {
  const event = readableEvent(recorded)
  return event?.type === 'EventSkipped' ? event.data : undefined
}
