import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../../event-store/event-store.js'
import type { Findings } from './findings.js'

/** Of a stream, in one page of the log. */
const maxAtOnce = 1_000

/**
 * Whether each stream, read by its name, shows exactly what the log's order has of it: a page of the log, up to `through`. An index that was
 * edited shows a transfer without its completion, while all events are still there.
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
    const problem = await problemOf(store, stream, events, through)
    if (problem) findings.add('log', problem.place, problem.problem)
  }
}

async function problemOf(store: EventStore, stream: string, events: readonly RecordedEvent[], through: Position) {
  const first = events[0]!
  const problem = (revision: number, text: string) => ({ place: `${stream}@${revision}`, problem: text })
  // With the one before and the one behind: neither may hide.
  const fromRevision = Math.max(0, first.revision - 1)
  let read: readonly RecordedEvent[]
  try {
    read = await store.readStream(stream, { fromRevision, maxCount: Math.min(events.length + 2, maxAtOnce) })
  } catch (error) {
    if (!isBroken(error)) throw error
    return problem(first.revision, `The stream cannot be read: ${error.message}.`)
  }
  const [before, shown] = first.revision === 0 ? [undefined, read] : [read[0], read.slice(1)]
  const isBehind = before === undefined || comparePositions(before.position, first.position) >= 0
  if (first.revision > 0 && (isBehind || before.revision !== fromRevision)) {
    return problem(fromRevision, 'The log has an event behind it, but the stream does not show it.')
  }
  const missing = events.find((event, index) => !isSame(event, shown[index]))
  if (missing) return problem(missing.revision, 'The log has this event, but its stream does not show it.')
  const next = shown[events.length]
  if (next && comparePositions(next.position, through) <= 0) {
    return problem(next.revision, 'The stream shows an event that the log does not have in its place.')
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

/** What the embedded engine throws about rows that contradict each other. */
function isBroken(error: unknown): error is Error {
  return error instanceof Error && error.name === 'BrokenLogError'
}
