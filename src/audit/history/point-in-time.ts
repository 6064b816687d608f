import { comparePositions, type Position, parsePosition, type RecordedEvent } from '../../event-store/event-store.js'
import { parseTime } from '../../kernel/time.js'

/** A place in the log: exactly, or by when its events were recorded, which is as good as the log's clock was. */
export type Moment = { readonly position: Position } | { readonly recordedMs: number }

/** A position, or a time as ISO 8601; undefined for anything else. */
export function parseLogMoment(text: string): Moment | undefined {
  const position = parsePosition(text)
  if (position) return { position }
  const moment = parseTime(text)
  return moment === undefined ? undefined : { recordedMs: Date.parse(moment) }
}

/** Whether the event was there then; always when no moment is given. */
export function wasThere({ position, recordedAtMs }: RecordedEvent, moment: Moment | undefined): boolean {
  if (!moment) return true
  return 'position' in moment ? comparePositions(position, moment.position) <= 0 : recordedAtMs <= moment.recordedMs
}

/** A stream as it was then: up to the first event that was not there yet, whatever a clock that was set back says of those behind it. */
export function streamAt(events: readonly RecordedEvent[], moment: Moment | undefined): readonly RecordedEvent[] {
  const end = events.findIndex((event) => !wasThere(event, moment))
  return end < 0 ? events : events.slice(0, end)
}
