import { isDeepStrictEqual } from 'node:util'
import { type EventStore, formatPosition, type Position, type RecordedEvent } from '../../event-store/event-store.js'

/** Where two logs are known to be equal up to. */
export interface EqualUpTo {
  /** Events in both, from the start. */
  readonly events: number
  /** Of them, those that begin a stream. */
  readonly streams: number
  readonly last: RecordedEvent | undefined
  readonly source: Position | undefined
  readonly target: Position | undefined
}

export const nothingYet: EqualUpTo = { events: 0, streams: 0, last: undefined, source: undefined, target: undefined }

/** The target has another event than the source where the message says. */
export class LogsDifferError extends Error {
  override readonly name = 'LogsDifferError'
}

export interface ReadingOptions {
  readonly signal: AbortSignal
  readonly onProgress: (events: number, at: Position) => void
}

export const pageSize = 500

/** Events in the global order, system streams left out, up to what is the end when it is reached. */
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
 * Reads both logs side by side up to the target's end: every event must be the source's next one, in all but the place and
 * the time that each store gave it. Ends early when the signal aborts.
 * @throws LogsDifferError, StoreUnavailableError
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
    const problem = original ? difference(original, copy) : 'which the source has not'
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

/** As the end of a sentence; never a value, as some are secrets. */
function difference(original: RecordedEvent, copy: RecordedEvent): string | undefined {
  if (original.stream !== copy.stream || original.revision !== copy.revision || original.id !== copy.id) {
    return `where the source has ${placeOf(original)}`
  }
  for (const field of ['type', 'data', 'metadata'] as const) {
    if (isDeepStrictEqual(original[field], copy[field])) continue
    return `whose ${field} is not the source's`
  }
  return undefined
}

export function placeOf({ stream, revision, id, position }: RecordedEvent): string {
  return `${stream}@${revision} (${id}, position ${formatPosition(position)})`
}
