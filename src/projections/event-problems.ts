import { skippedEventsStream, streamKind, streamPrefixes } from '../domain/streams.js'
import type { RecordedEvent } from '../event-store/event-store.js'
import { whyUnreadable } from '../event-store/read-event.js'
import { decisionOf } from '../event-store/skipped-events.js'
import { collections, indexes, type ProblemDocument, problemId } from '../read-models/documents.js'
import type { WriteOperation } from '../read-models/read-models.js'
import type { Projection } from './projection.js'

/** Every event in the service's streams that cannot be read: where it is and why, nothing of its data. It stops at none. */
export const problemsProjection: Projection = {
  name: 'problems',
  version: 1,
  streamPrefixes,
  collection: collections.problems,
  indexes: indexes.problems,

  applyUnread(events) {
    const decided = events.flatMap((recorded) => {
      const decision = recorded.stream === skippedEventsStream ? decisionOf(recorded) : undefined
      return decision ? [{ ...decision, _id: problemId(decision.stream, decision.revision) }] : []
    })
    const skipped = new Map(decided.map(({ _id, at }) => [_id, at]))
    return [
      ...events.flatMap((recorded) => found(recorded, skipped)),
      // Also for what was found in an earlier page; a problem of this page has it already, as a bulk has no order.
      ...decided.map(
        ({ _id, at }): WriteOperation => ({
          updateOne: { filter: { _id }, update: { $set: { skippedAt: at }, $unset: { openKind: '' } } },
        }),
      ),
    ]
  },
}

/** Written once: what is decided of it later must not be undone by a page that comes again. */
function found(recorded: RecordedEvent, skipped: ReadonlyMap<string, string>): WriteOperation[] {
  const reason = whyUnreadable(recorded)
  if (reason === undefined) return []
  const { stream, revision, recordedAtMs } = recorded
  const _id = problemId(stream, revision)
  const skippedAt = skipped.get(_id)
  const replacement: ProblemDocument = {
    _id,
    stream,
    revision,
    reason,
    recordedAt: new Date(recordedAtMs).toISOString(),
    ...(skippedAt === undefined ? { openKind: streamKind(stream) ?? '' } : { skippedAt }),
  }
  return [{ replaceOne: { filter: { _id, stream: { $exists: false } }, replacement, upsert: true } }]
}
