import { type DomainEvent, decodeEvent, UnreadableEventError } from './event-codec.js'
import type { RecordedEvent } from './event-store.js'

/**
 * Returns the decoded event, or `undefined` if it is skipped (skipped-events.ts). Every reader uses this function, and ignores a skipped
 * event except for its revision. @throws UnreadableEventError
 */
export function readEvent(recorded: RecordedEvent): DomainEvent | undefined {
  return recorded.isSkipped ? undefined : decoded(recorded)
}

interface Decoded {
  readonly event?: DomainEvent
  readonly failure?: unknown
}

const shared = new WeakMap<RecordedEvent, Decoded>()

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
export function whyUnreadable(recorded: RecordedEvent): string | undefined {
  try {
    decoded(recorded)
    return undefined
  } catch (error) {
    if (error instanceof UnreadableEventError) return error.reason
    throw error
  }
}
