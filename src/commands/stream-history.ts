import type { DomainEvent, EventMetadata } from '../event-store/event-codec.js'
import type { EventStore, Position } from '../event-store/event-store.js'
import { readableEvent, readEvent } from '../event-store/read-event.js'

/** A recorded event with its metadata. */
export interface HistoryEntry<Event> {
  readonly id: string
  readonly revision: number
  readonly position: Position
  readonly event: Event
  readonly metadata: EventMetadata
}

/** How a reader of a history treats unreadable events. */
export type Unreadable = 'throw' | 'omit'

/** Reads every event of a stream, except skipped ones, oldest first. @throws StoreUnavailableError, UnreadableEventError */
export async function readHistory<Event extends DomainEvent>(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  unreadable: Unreadable = 'throw',
): Promise<readonly HistoryEntry<Event>[]> {
  const recorded = await store.readStream(stream)
  return recorded.flatMap((one) => {
    const event = unreadable === 'omit' ? readableEvent(one) : readEvent(one)
    if (!event) return []
    const { id, revision, position, metadata } = one
    return [{ id, revision, position, event: event as Event, metadata: metadata as EventMetadata }]
  })
}
