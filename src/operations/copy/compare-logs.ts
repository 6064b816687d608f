import { isDeepStrictEqual } from 'node:util'
import { type EventStore, formatPosition, type Position, type RecordedEvent } from '../../event-store/event-store.js'

/** The point up to which two logs are known to be equal. */
export interface EqualUpTo {
  /** The number of events up to this point. */
  readonly events: number
  /** The number of streams that start before this point. */
  readonly streams: number
  readonly last: RecordedEvent | undefined
  readonly source: Position | undefined
  readonly target: Position | undefined
}

export const nothingYet: EqualUpTo = { events: 0, streams: 0, last: undefined, source: undefined, target: undefined }

/** The target differs from the source. The message states where. */
export class LogsDifferError extends Error {
  override readonly name = 'LogsDifferError'
}

export interface ReadingOptions {
  readonly signal: AbortSignal
  readonly onProgress: (events: number, at: Position) => void
}

export const pageSize = 500

/** Yields the events in the global order, without system streams, to the end of the log. */
export async function* eventsAfter(store: EventStore, after: Position | undefined): AsyncGenerator<RecordedEvent> {
  let from = after
  for (;;) {
    const page = await store.readAll({ maxCount: pageSize, ...(from && { after: from }) })
    yield* page.events
    from = page.checkpoint ?? from
    if (page.atEnd) return
  }
}

/**
 * Reads both logs in parallel up to the target's end. Every event must be the source's next one, except for the position and the recording
 * time. Ends early if the signal aborts. @throws LogsDifferError, StoreUnavailableError
 */
export async function compareLogs(
  source: EventStore,
  target: EventStore,
  from: EqualUpTo,
  { signal, onProgress }: ReadingOptions,
): Promise<EqualUpTo> {
  let equal = from
  const originals = eventsAfter(source, from.source)
  for await (const copy of eventsAfter(target, from.target)) {
    const { value: original } = (await originals.next()) as { value?: RecordedEvent }
    const problem = original ? difference(original, copy) : 'which the source does not have'
    if (!original || problem) throw new LogsDifferError(`${placeOf(copy)} of the target, ${problem}`)
    const streams = equal.streams + (original.revision === 0 ? 1 : 0)
    equal = {
      events: equal.events + 1,
      streams,
      last: original,
      source: original.position,
      target: copy.position,
    }
    onProgress(equal.events, original.position)
    if (signal.aborted) break
  }
  return equal
}

/** Returns the rest of a sentence. It never contains a value, because some are secrets. */
function difference(original: RecordedEvent, copy: RecordedEvent): string | undefined {
  if (original.stream !== copy.stream || original.revision !== copy.revision || original.id !== copy.id) {
    return `where the source has ${placeOf(original)}`
  }
  for (const field of ['type', 'data', 'metadata'] as const) {
    if (isDeepStrictEqual(original[field], copy[field])) continue
    return `whose ${field} differs from the source's`
  }
  return undefined
}

export function placeOf({ stream, revision, id, position }: RecordedEvent): string {
  return `${stream}@${revision} (${id}, position ${formatPosition(position)})`
}
