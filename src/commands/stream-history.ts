import type { DomainEvent, EventMetadata } from '../event-store/event-codec.js'
import type { EventStore, Position } from '../event-store/event-store.js'
import { readableEvent, readEvent } from '../event-store/read-event.js'

/** An event as it was recorded, and what is known about how it came to be. */
export interface HistoryEntry<Event> {
  readonly id: string
  readonly revision: number
  readonly position: Position
  readonly event: Event
  readonly metadata: EventMetadata
}

/**
 * A stream from its start, without the events that are skipped; empty when there is none. `unreadable`: what to do about an event
 * that cannot be read. @throws StoreUnavailableError, UnreadableEventError
 */
export async function readHistory<Event extends DomainEvent>(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  unreadable: 'throw' | 'leave out' = 'throw',
): Promise<readonly HistoryEntry<Event>[]> {
  const recorded = await store.readStream(stream)
  return recorded.flatMap((one) => {
    const event = unreadable === 'leave out' ? readableEvent(one) : readEvent(one)
    if (!event) return []
    const { id, revision, position, metadata } = one
    return [{ id, revision, position, event: event as Event, metadata: metadata as EventMetadata }]
  })
}
