import { skippedEventsStream, streamKind, streamPrefixes } from '../domain/streams.js'
import type { RecordedEvent } from '../event-store/event-store.js'
import { decisionOf, whyUnreadable } from '../event-store/read-event.js'
import { collections, indexes, type ProblemDocument, problemId } from '../read-models/documents.js'
import type { WriteOperation } from '../read-models/read-models.js'
import type { Projection } from './projection.js'

/** Every unreadable event in the service's streams: its place and the reason, without its data. It stops at none of them. */
export const problemsProjection: Projection = {
  name: 'problems',
  version: 1,
  streamPrefixes,
  collection: collections.problems,
  indexes: indexes.problems,

  applyRecorded(events) {
    const decisions = events.flatMap((recorded) => {
      const decision = recorded.stream === skippedEventsStream ? decisionOf(recorded) : undefined
      return decision ? [{ ...decision, _id: problemId(decision.stream, decision.revision) }] : []
    })
    const skippedAt = new Map(decisions.map(({ _id, at }) => [_id, at]))
    return [
      ...events.flatMap((recorded) => problemOf(recorded, skippedAt)),
      // For problems of earlier pages. Those of this page already have it, because a bulk is unordered.
      ...decisions.map(
        ({ _id, at }): WriteOperation => ({
          updateOne: { filter: { _id }, update: { $set: { skippedAt: at }, $unset: { openKind: '' } } },
        }),
      ),
    ]
  },
}

/** Inserted only once: a repeated page must not undo a later decision. */
function problemOf(recorded: RecordedEvent, decided: ReadonlyMap<string, string>): WriteOperation[] {
  const reason = whyUnreadable(recorded)
  if (reason === undefined) return []
  const { stream, revision, recordedAtMs } = recorded
  const _id = problemId(stream, revision)
  const skippedAt = decided.get(_id)
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
