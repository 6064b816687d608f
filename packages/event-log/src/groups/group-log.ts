import type { EventContent } from '../file/event-body.js'
import type { ProcessLock } from '../file/process-lock.js'
import type { StreamReader } from '../reader/stream-reader.js'
import type { ExpectedRevision } from '../types.js'

/** What groups need of the log beneath them; the service and the protocol's server write to it in different ways. */
export interface GroupLog {
  readonly reader: StreamReader
  /** @throws WrongExpectedRevisionError, StoreUnavailableError */
  append(stream: string, expected: ExpectedRevision, event: EventContent): Promise<void>
  /** Undefined when another holder, of this process or another one, has the lock of this name. */
  tryLock(name: string): ProcessLock | undefined
  isLocked(name: string): boolean
}

/** What is appended for a group: JSON, without metadata. */
export function jsonContent(id: string, type: string, data: unknown): EventContent {
  return { id, type, isJson: true, data: Buffer.from(JSON.stringify(data)), metadata: new Uint8Array(0) }
}

/** The revision the next append to a stream names. */
export function expectedAfter(reader: StreamReader, stream: string): ExpectedRevision {
  const revision = reader.lastRevision(stream)
  return revision < 0 ? 'no_stream' : revision
}
