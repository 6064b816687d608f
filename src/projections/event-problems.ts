import { skippedEventsStream, streamKind, streamPrefixes } from '../domain/streams.js'
import type { UnreadableEventError } from '../event-store/event-codec.js'
import type { EventStore, Position, RecordedEvent } from '../event-store/event-store.js'
import { decisionOf, whyUnreadable } from '../event-store/read-event.js'
import {
  collections,
  indexes,
  type PointerDocument,
  type ProblemDocument,
  problemId,
} from '../read-models/documents.js'
import type { ReadModels, WriteOperation } from '../read-models/read-models.js'
import type { Projection } from './projection.js'
import { isOfThisLog, readPointer, resumePosition } from './projection-pointer.js'

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

export type OpenProblem = Pick<ProblemDocument, 'stream' | 'revision' | 'reason'>

const maxListed = 1_000
const pageSize = 500

/**
 * Returns the problems that the projection has found, at which other projections are stopped, or that put a merchant or a user out of
 * service (`known`). The last two sources also include readable events that do not fit the preceding ones.
 * @throws ReadModelsUnavailableError
 */
export async function openProblems(readModels: ReadModels, known: readonly UnreadableEventError[]) {
  const [found, pointers] = await Promise.all([
    readModels.collection(collections.problems).find({ openKind: { $exists: true } }, { limit: maxListed }),
    readModels.collection(collections.pointers).find({}),
  ])
  const stoppedAt = (pointers as PointerDocument[]).flatMap(({ failure }) => {
    const { stream, revision, reason = '' } = failure ?? {}
    return stream === undefined || revision === undefined ? [] : [{ stream, revision, reason }]
  })
  const problems = new Map<string, OpenProblem>()
  for (const { stream, revision, reason } of [...stoppedAt, ...known, ...(found as ProblemDocument[])])
    problems.set(placeOf({ stream, revision }), { stream, revision, reason: withoutPlace(reason, stream, revision) })
  return [...problems.values()].sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
}

/**
 * Returns whether the log still has the problem. The read models may not have projected a decision yet, or come from a log that was
 * restored since. @throws StoreUnavailableError
 */
export async function isStillOpen(store: EventStore, { stream, revision }: OpenProblem): Promise<boolean> {
  const [recorded] = await store.readStream(stream, { fromRevision: revision, maxCount: 1 })
  return recorded?.revision === revision && !recorded.isSkipped
}

/** Yields the problems in the part of the log that the projection has not reached yet. @throws StoreUnavailableError */
export async function* problemsNotFoundYet(store: EventStore, readModels: ReadModels): AsyncGenerator<OpenProblem> {
  const { progress = {} } = (await readPointer(readModels, problemsProjection.name))?.served ?? {}
  let after: Position | undefined = (await isOfThisLog(store, progress)) ? resumePosition(progress) : undefined
  for (;;) {
    const page = await store.readAll({ streamPrefixes, maxCount: pageSize, ...(after && { after }) })
    for (const recorded of page.events) {
      const reason = recorded.isSkipped ? undefined : whyUnreadable(recorded)
      if (reason !== undefined) yield { stream: recorded.stream, revision: recorded.revision, reason }
    }
    after = page.checkpoint ?? after
    if (page.atEnd) return
  }
}

export function placeOf({ stream, revision }: Pick<OpenProblem, 'stream' | 'revision'>): string {
  return `${stream}@${revision}`
}

/** Removes the place from the start of a reason, because the failure of a projection includes it. */
function withoutPlace(reason: string, stream: string, revision: number): string {
  const place = `${placeOf({ stream, revision })}: `
  return reason.startsWith(place) ? reason.slice(place.length) : reason
}
