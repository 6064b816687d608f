import type { Decider } from '../domain/decider.js'
import {
  comparePositions,
  type EventStore,
  type Position,
  parsePosition,
  type RecordedEvent,
} from '../event-store/event-store.js'
import { foldEvent } from '../event-store/read-event.js'
import { parseTime } from '../kernel/time.js'

/** A position in the log, or a time at which events were recorded, which is as accurate as the clock of the log. */
export type PointInTime = { readonly position: Position } | { readonly recordedMs: number }

/** Parses a position or an ISO 8601 time. Returns `undefined` for anything else. */
export function parsePointInTime(text: string): PointInTime | undefined {
  const position = parsePosition(text)
  if (position) return { position }
  const time = parseTime(text)
  return time === undefined ? undefined : { recordedMs: Date.parse(time) }
}

/** Returns whether the event was recorded by this time; always true without one. */
export function isRecordedBy({ position, recordedAtMs }: RecordedEvent, asOf: PointInTime | undefined): boolean {
  if (!asOf) return true
  return 'position' in asOf ? comparePositions(position, asOf.position) <= 0 : recordedAtMs <= asOf.recordedMs
}

/**
 * Folds a stream as it was then, and returns its last event as well. The fold ends before the first later event, even if the clock was set
 * back after it. @throws StoreUnavailableError, UnreadableEventError
 */
export async function foldAsOf<State, Event>(
  store: Pick<EventStore, 'readStream'>,
  { initialState, evolve }: Pick<Decider<State, never, Event>, 'initialState' | 'evolve'>,
  stream: string,
  asOf: PointInTime | undefined,
): Promise<{ readonly state: State; readonly last: RecordedEvent | undefined }> {
  const events = await store.readStream(stream)
  const later = events.findIndex((event) => !isRecordedBy(event, asOf))
  const known = later < 0 ? events : events.slice(0, later)
  return {
    state: known.reduce((before, recorded) => foldEvent(evolve, before, recorded), initialState),
    last: known.at(-1),
  }
}
