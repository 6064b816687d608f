import { forgedPlace } from '../domain/integrity.js'
import { integrityStream, skippedEventsStream, streamKind, streamPrefixes } from '../domain/streams.js'
import { forged } from '../event-store/event-codec.js'
import type { Place, RecordedEvent } from '../event-store/event-store.js'
import { decisionOf, readableEvent, unreadableReason } from '../event-store/read-event.js'
import { collections, indexes, type ProblemDocument, problemId } from '../read-models/documents.js'
import type { WriteOperation } from '../read-models/read-models.js'
import type { Projection } from './projection.js'

/**
 * Every unreadable event in the service's streams: its place and the reason, without its data. It stops at none of them. An event that was
 * damaged after it was projected is found by a reader or a verification, which record it as a finding.
 */
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
    // The event itself comes before the finding about it, and gives the better reason.
    const problems = new Map(
      events
        .flatMap(problemsIn)
        .reverse()
        .map((problem) => [problem._id, problem]),
    )
    return [
      ...[...problems.values()].map((problem) => insertOf(problem, skippedAt.get(problem._id))),
      // For problems of earlier pages. Those of this page already have it, because a bulk is unordered.
      ...decisions.map(
        ({ _id, at }): WriteOperation => ({
          updateOne: { filter: { _id }, update: { $set: { skippedAt: at }, $unset: { openKind: '' } } },
        }),
      ),
    ]
  },
}

type Problem = Pick<ProblemDocument, '_id' | 'stream' | 'revision' | 'reason' | 'recordedAt'>

/** Returns the problem of an unreadable event, or the one that a finding records. */
function problemsIn(recorded: RecordedEvent): Problem[] {
  const recordedAt = new Date(recorded.recordedAtMs).toISOString()
  const problemAt = ({ stream, revision }: Place, reason: string): Problem => {
    return { _id: problemId(stream, revision), stream, revision, reason, recordedAt }
  }
  const reason = unreadableReason(recorded)
  if (reason !== undefined) return [problemAt(recorded, reason)]
  const event = recorded.stream === integrityStream ? readableEvent(recorded) : undefined
  const place = event?.type === 'IntegrityViolated' ? forgedPlace(event.data) : undefined
  return place && streamKind(place.stream) !== undefined ? [problemAt(place, forged)] : []
}

/** Inserted only once: a repeated page must not undo a later decision. */
function insertOf(problem: Problem, skippedAt: string | undefined): WriteOperation {
  const decision = skippedAt === undefined ? { openKind: streamKind(problem.stream) ?? '' } : { skippedAt }
  const replacement: ProblemDocument = { ...problem, ...decision }
  return { replaceOne: { filter: { _id: problem._id, stream: { $exists: false } }, replacement, upsert: true } }
}
