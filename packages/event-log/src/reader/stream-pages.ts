import type { ReadStreamOptions, RecordedEvent } from '../event-log-types.js'
import type { LogReader } from './log-reader.js'

/** The number of events of a stream that are read before other work of the thread gets a turn. */
const streamPageSize = 1_000

/** Yields the events of a stream in pages. */
export async function* streamPages(
  reader: LogReader,
  stream: string,
  { direction, fromRevision, maxCount }: Required<ReadStreamOptions>,
): AsyncGenerator<readonly RecordedEvent[]> {
  let from = fromRevision
  let left = maxCount
  for (;;) {
    const range = { direction, fromRevision: from, maxCount: Math.min(left, streamPageSize) }
    const { events, atEnd } = reader.readStream(stream, range)
    yield events
    left -= events.length
    if (atEnd || left === 0) return
    from = (events.at(-1)?.revision ?? from) + (direction === 'forwards' ? 1 : -1)
    await nextTurn()
  }
}

/** @throws TypeError */
export function completeRange(options: ReadStreamOptions = {}): Required<ReadStreamOptions> {
  const { direction = 'forwards', maxCount = Number.MAX_SAFE_INTEGER } = options
  const { fromRevision = direction === 'forwards' ? 0 : Number.MAX_SAFE_INTEGER } = options
  checkCount('fromRevision', fromRevision, 0)
  checkCount('maxCount', maxCount, 1)
  return { direction, fromRevision, maxCount }
}

/** @throws TypeError */
export function checkCount(name: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) throw new TypeError(`${name} must be a whole number from ${least}`)
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
