import { type DomainEvent, decodeEvent, UnreadableEventError } from './event-codec.js'
import type { RecordedEvent } from './event-store.js'

/**
 * The one way from a recorded event to what it says; undefined when a person decided to skip it (skipped-events.ts): every reader
 * then takes it as if it were not there, its revision aside. @throws UnreadableEventError
 */
export function readEvent(recorded: RecordedEvent): DomainEvent | undefined {
  return recorded.isSkipped ? undefined : decoded(recorded)
}

interface Decoded {
  readonly event?: DomainEvent
  readonly failure?: unknown
}

const shared = new WeakMap<RecordedEvent, Decoded>()

/** Of events that many read: each is decoded by the first and shared by all. */
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

/** As {@link readEvent}; undefined for an event that cannot be read, too. */
export function readableEvent(recorded: RecordedEvent): DomainEvent | undefined {
  try {
    return readEvent(recorded)
  } catch (error) {
    if (error instanceof UnreadableEventError) return undefined
    throw error
  }
}

/** The state after an event; as before when it is skipped. @throws UnreadableEventError also when it does not fit the state */
export function foldEvent<State, Event>(
  evolve: (state: State, event: Event) => State,
  state: State,
  recorded: RecordedEvent,
): State {
  const event = readEvent(recorded) as Event | undefined
  return event ? evolved(evolve, state, recorded, event) : state
}

/** The state after an event that was read. @throws UnreadableEventError when it does not fit the state */
export function evolved<State, Event>(
  evolve: (state: State, event: Event) => State,
  state: State,
  recorded: RecordedEvent,
  event: Event,
): State {
  try {
    return evolve(state, event)
  } catch (error) {
    // What evolve throws is a fixed sentence: a transfer that changed before it was created.
    throw new UnreadableEventError(recorded, error instanceof Error ? error.message : String(error))
  }
}

/** Why an event cannot be read, whether or not it is skipped; undefined when it can. */
export function whyUnreadable(recorded: RecordedEvent): string | undefined {
  try {
    decoded(recorded)
    return undefined
  } catch (error) {
    if (error instanceof UnreadableEventError) return error.reason
    throw error
  }
}
