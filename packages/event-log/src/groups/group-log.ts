import { randomUUID } from 'node:crypto'
import { type ExpectedRevision, StoreUnavailableError } from '../event-log-types.js'
import type { EventContent } from '../file/event-body.js'
import type { StreamStore } from '../stream-store.js'

/** How often an append is tried again when another process appends to the stream at the same moment. */
const maxConflicts = 50

/** What groups need of the log beneath them. */
export interface GroupLog extends Pick<StreamStore, 'reader' | 'tryLock' | 'isLocked'> {
  /** @throws StoreUnavailableError */
  append(stream: string, expected: ExpectedRevision, events: readonly EventContent[]): ReturnType<StreamStore['append']>
}

/** What is appended for a group: JSON, without metadata. */
export function jsonEvent(type: string, data: unknown, id = randomUUID() as string): EventContent {
  return { id, type, isJson: true, data: Buffer.from(JSON.stringify(data)), metadata: new Uint8Array(0) }
}

/** Names the revision it saw, so that an append which is repeated is answered as the first was. @throws StoreUnavailableError */
export async function appendNext(log: GroupLog, stream: string, event: EventContent): Promise<void> {
  const { reader } = log
  await untilNoConflict(stream, async () => {
    const revision = reader.lastRevision(stream)
    if (reader.last(stream)?.id === event.id) return { kind: 'ok', revision } // an earlier attempt whose answer was lost
    return log.append(stream, revision < 0 ? 'no_stream' : revision, [event])
  })
}

/** Tries again as long as others append to the stream in between. @throws StoreUnavailableError */
export async function untilNoConflict(stream: string, attempt: () => ReturnType<GroupLog['append']>): Promise<void> {
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const { kind } = await attempt()
    if (kind === 'ok') return
    if (kind === 'deleted') throw new Error(`${stream} was deleted for ever`)
  }
  throw new StoreUnavailableError(`others keep appending to ${stream}`)
}
