import {
  type AppendResult,
  type EventStore,
  type ExpectedRevision,
  type NewEvent,
  WrongExpectedRevisionError,
} from '../event-store/event-store.js'
import { KeyedLimit } from '../kernel/keyed-limit.js'

/** Other writers won every attempt and nothing was appended. Trying again later is safe. */
export class TooMuchContentionError extends Error {
  override readonly name = 'TooMuchContentionError'
}

const maxAttempts = 10

/** Runs the tasks of each key one at a time, so that writers of one stream in this process do not conflict with one another. */
export function oneAtATime(maxWaiting: number): KeyedLimit {
  return new KeyedLimit({ concurrency: 1, maxWaiting }, (key) => {
    return new TooMuchContentionError(`${maxWaiting} tasks are waiting for ${key}`)
  })
}

/**
 * Calls `attempt`, which reads, decides and appends, until it meets no conflict with another writer, at most ten times.
 * `isRetried` excludes conflicts that a new attempt would only repeat. @throws TooMuchContentionError, and every error that is not retried
 */
export async function retryOnConflict<Result>(
  subject: string,
  attempt: () => Promise<Result>,
  isRetried: (error: WrongExpectedRevisionError) => boolean = () => true,
): Promise<Result> {
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError) || !isRetried(error)) throw error
    }
  }
  throw new TooMuchContentionError(`${subject}: gave up after ${maxAttempts} conflicts with other writers`)
}

/** Appends an event that depends on none of the stream's earlier events. @throws StoreUnavailableError, TooMuchContentionError */
export async function appendToEnd(store: EventStore, stream: string, event: NewEvent): Promise<void> {
  await retryOnConflict(stream, async () => {
    const [last] = await store.readStream(stream, { direction: 'backwards', maxCount: 1 })
    await store.append(stream, last?.revision ?? 'no_stream', [event])
  })
}

/** Returns `undefined`, and appends nothing, if another writer has changed the stream. @throws StoreUnavailableError */
export async function appendUnlessChanged(
  store: EventStore,
  stream: string,
  expectedRevision: ExpectedRevision,
  event: NewEvent,
): Promise<AppendResult | undefined> {
  try {
    return await store.append(stream, expectedRevision, [event])
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) return undefined
    throw error
  }
}
