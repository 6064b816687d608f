import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../../event-store/event-store.js'
import type { Findings } from './integrity-findings.js'
import { isBrokenLog } from './stored-log.js'

/** Events of one stream in a page of the log. */
const maxPerStream = 1_000

/**
 * Checks that each stream of a page, read by its name, shows exactly the events that the log has up to `through`. An edited index can hide
 * a transfer's completion although all events still exist.
 */
export async function checkStreams(
  store: EventStore,
  page: readonly RecordedEvent[],
  through: Position,
  findings: Findings,
): Promise<void> {
  const streams = new Map<string, RecordedEvent[]>()
  for (const event of page) {
    const events = streams.get(event.stream)
    if (events) events.push(event)
    else streams.set(event.stream, [event])
  }
  for (const [stream, events] of streams) {
    const found = await findProblem(store, stream, events, through)
    if (found) findings.add('log', `${stream}@${found.revision}`, found.problem)
  }
}

interface Problem {
  readonly revision: number
  readonly problem: string
}

async function findProblem(
  store: EventStore,
  stream: string,
  events: readonly RecordedEvent[],
  through: Position,
): Promise<Problem | undefined> {
  const first = events[0]!
  // Includes the previous and the next event, so that neither can be hidden.
  const fromRevision = Math.max(0, first.revision - 1)
  let read: readonly RecordedEvent[]
  try {
    read = await store.readStream(stream, { fromRevision, maxCount: Math.min(events.length + 2, maxPerStream) })
  } catch (error) {
    if (!isBrokenLog(error)) throw error
    return { revision: first.revision, problem: `The stream cannot be read: ${error.message}.` }
  }
  const [previous, shown] = first.revision === 0 ? [undefined, read] : [read[0], read.slice(1)]
  const isMisplaced = previous === undefined || comparePositions(previous.position, first.position) >= 0
  if (first.revision > 0 && (isMisplaced || previous.revision !== fromRevision)) {
    return { revision: fromRevision, problem: 'The log has an event after it, but the stream does not show it.' }
  }
  const missing = events.find((event, index) => !isSame(event, shown[index]))
  if (missing)
    return { revision: missing.revision, problem: 'The log has this event, but its stream does not show it.' }
  const next = shown[events.length]
  if (next && comparePositions(next.position, through) <= 0) {
    return { revision: next.revision, problem: 'The stream shows an event that the log does not have in its place.' }
  }
  return undefined
}

function isSame(event: RecordedEvent, shown: RecordedEvent | undefined): boolean {
  return (
    shown !== undefined &&
    shown.revision === event.revision &&
    shown.id === event.id &&
    comparePositions(shown.position, event.position) === 0
  )
}
