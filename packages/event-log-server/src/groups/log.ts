import { WrongExpectedRevisionError } from '@transferd/event-log'
import type { GroupLog } from '@transferd/event-log/groups'
import type { StreamStore } from '@transferd/event-log/streams'

/** A log as the persistent subscriptions of this server write to it. */
export function groupLogOf(store: StreamStore): GroupLog {
  return {
    reader: store.reader,
    append: async (stream, expected, event) => {
      const { kind } = await store.append(stream, expected, [event])
      switch (kind) {
        case 'ok':
          return
        case 'wrong_revision':
          throw new WrongExpectedRevisionError(stream, expected, store.reader.lastRevision(stream))
        case 'deleted':
          throw new Error(`${stream} was deleted for ever`)
        default:
          kind satisfies never
      }
    },
    tryLock: (name) => store.tryLock(name),
    isLocked: (name) => store.isLocked(name),
  }
}
