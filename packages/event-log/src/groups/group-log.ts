import { randomUUID } from 'node:crypto'
import { type ExpectedRevision, StoreUnavailableError } from '../event-log-types.js'
import type { EventContent } from '../file/event-body.js'
import type { StreamStore } from '../stream-store.js'

/** The number of attempts for an append when other processes append to the stream at the same time. */
const maxConflicts = 50

/** The parts of a log that groups use. */
export interface GroupLog extends Pick<StreamStore, 'directory' | 'reader'> {
  /** @throws StoreUnavailableError */
  append(stream: string, expected: ExpectedRevision, events: readonly EventContent[]): ReturnType<StreamStore['append']>
}

/** Returns a JSON event without metadata. */
export function jsonEvent(type: string, data: unknown, id = randomUUID() as string): EventContent {
  return { id, type, isJson: true, data: Buffer.from(JSON.stringify(data)), metadata: new Uint8Array(0) }
}

/** Appends at the revision that it read, so that repeating the append returns the first result. @throws StoreUnavailableError */
export async function appendNext(log: GroupLog, stream: string, event: EventContent): Promise<void> {
  const { reader } = log
  await untilNoConflict(stream, async () => {
    const revision = reader.lastRevision(stream)
    if (reader.last(stream)?.id === event.id) return { kind: 'ok', revision } // an earlier attempt whose response was lost
    return log.append(stream, revision < 0 ? 'no_stream' : revision, [event])
  })
}

/** Retries an append while others append to the stream concurrently. @throws StoreUnavailableError */
export async function untilNoConflict(stream: string, attempt: () => ReturnType<GroupLog['append']>): Promise<void> {
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const { kind } = await attempt()
    if (kind === 'ok') return
    if (kind === 'deleted') throw new Error(`${stream} was deleted permanently`)
  }
  throw new StoreUnavailableError(`others keep appending to ${stream}`)
}
