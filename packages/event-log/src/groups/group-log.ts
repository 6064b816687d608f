import { randomUUID } from 'node:crypto'
import type { EventContent } from '../file/event-body.js'
import type { ProcessLock } from '../file/process-lock.js'
import type { LogReader } from '../reader/log-reader.js'
import { type ExpectedRevision, WrongExpectedRevisionError } from '../types.js'

/** How often an append is tried again when another process appends to the stream at the same moment. */
export const maxConflicts = 50

/** What groups need of the log beneath them; the service and the protocol's server write to it in different ways. */
export interface GroupLog {
  readonly reader: LogReader
  /** @throws WrongExpectedRevisionError, StoreUnavailableError */
  append(stream: string, expected: ExpectedRevision, event: EventContent): Promise<void>
  /** Undefined when another holder, of this process or another one, has the lock of this name. */
  tryLock(name: string): ProcessLock | undefined
  isLocked(name: string): boolean
}

/** What is appended for a group: JSON, without metadata. */
export function jsonEvent(type: string, data: unknown, id = randomUUID() as string): EventContent {
  return { id, type, isJson: true, data: Buffer.from(JSON.stringify(data)), metadata: new Uint8Array(0) }
}

/** Names the revision it saw, so that an append which is repeated is answered as the first was. @throws WrongExpectedRevisionError, StoreUnavailableError */
export async function appendNext(log: GroupLog, stream: string, event: EventContent): Promise<void> {
  const { reader } = log
  for (let conflicts = 0; ; conflicts += 1) {
    const revision = reader.lastRevision(stream)
    if (reader.last(stream)?.id === event.id) return // an earlier attempt whose answer was lost
    try {
      await log.append(stream, revision < 0 ? 'no_stream' : revision, event)
      return
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError) || conflicts >= maxConflicts) throw error
    }
  }
}
