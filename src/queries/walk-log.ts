import { setImmediate } from 'node:timers/promises'
import type { Decider } from '../domain/decider.js'
import { streamPrefixes as allPrefixes } from '../domain/streams.js'
import {
  comparePositions,
  type EventStore,
  type Position,
  parsePosition,
  type RecordedEvent,
} from '../event-store/event-store.js'
import { foldEvent } from '../event-store/read-event.js'
import { parseTime } from '../kernel/time.js'

const pageSize = 500

export type LogStore = Pick<EventStore, 'readAll'>

interface LogRange {
  /** Exclusive; defaults to the start of the log. */
  readonly after?: Position | undefined
  /** Inclusive; defaults to the end of the log. */
  readonly until?: Position | undefined
  /** Defaults to the service's streams. */
  readonly streamPrefixes?: readonly string[]
}

/**
 * Yields a range of the log page by page, each with the last examined position, which is `undefined` on an empty log. Other work of the
 * thread runs between the pages. @throws StoreUnavailableError
 */
export async function* walkLog(store: LogStore, { after, until, streamPrefixes = allPrefixes }: LogRange) {
  let at = after
  while (!until || !at || comparePositions(at, until) < 0) {
    const page = await store.readAll({ streamPrefixes, maxCount: pageSize, ...(at && { after: at }) })
    at = page.checkpoint ?? at
    const isPast = until !== undefined && at !== undefined && comparePositions(at, until) > 0
    if (isPast) at = until
    const events = isPast ? page.events.filter(({ position }) => comparePositions(position, until) <= 0) : page.events
    yield { events, at }
    if (page.atEnd) return
    await setImmediate()
  }
}

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
