import { streamKind, streamPrefixes } from '../domain/streams.js'
import type { UnreadableEventError } from '../event-store/event-codec.js'
import { type EventStore, logPages } from '../event-store/event-store.js'
import { unreadableReason } from '../event-store/read-event.js'
import { collections, type PointerDocument, type ProblemDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { problemsProjection } from './problems-projection.js'
import { isOfThisLog, readPointer, resumePosition } from './projection-pointer.js'
import { projectionStatus } from './projection-status.js'

export type OpenProblem = Pick<ProblemDocument, 'stream' | 'revision' | 'reason'>

const maxListed = 1_000
const maxDetails = 20

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

/** Returns the problems that no operator has skipped, with the projections that are stopped at each. */
export async function unskippedProblems(
  stores: { readonly store: EventStore; readonly readModels: ReadModels },
  known: readonly UnreadableEventError[],
) {
  const found = await openProblems(stores.readModels, known)
  const status = await projectionStatus(stores)
  const open = []
  for (const problem of found) if (await isStillOpen(stores.store, problem)) open.push(problem)
  return open.map(({ stream, revision, reason }) => ({
    stream,
    revision,
    reason,
    stopped: status
      .filter(({ failure }) => failure?.stream === stream && failure.revision === revision)
      .map(({ name }) => name),
  }))
}

/** Returns the problems as sentences. The events that are not listed are counted by kind, so that every kind with a problem is named. */
export async function problemDetails(
  readModels: ReadModels,
  known: readonly UnreadableEventError[],
): Promise<readonly string[]> {
  const problems = await openProblems(readModels, known)
  const listed = problems.length > maxDetails ? problems.slice(0, maxDetails - 1) : problems
  const counts = new Map<string, number>()
  for (const { stream } of problems.slice(listed.length)) {
    const kind = streamKind(stream)?.slice(0, -1) ?? stream
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  const others = [...counts].map(([kind, count]) => `${count} of ${kind}`).join(', ')
  return [
    ...listed.map((problem) => `${placeOf(problem)} cannot be read: ${problem.reason} (transferd events problems)`),
    ...(others === '' ? [] : [`further events cannot be read: ${others} (transferd events problems)`]),
  ]
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
  const after = (await isOfThisLog(store, progress)) ? resumePosition(progress) : undefined
  for await (const { events } of logPages(store, { after, streamPrefixes })) {
    for (const recorded of events) {
      const reason = recorded.isSkipped ? undefined : unreadableReason(recorded)
      if (reason !== undefined) yield { stream: recorded.stream, revision: recorded.revision, reason }
    }
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
