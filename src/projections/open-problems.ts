import { streamPrefixes } from '../domain/streams.js'
import type { UnreadableEventError } from '../event-store/event-codec.js'
import type { EventStore, Position } from '../event-store/event-store.js'
import { parsePosition } from '../event-store/event-store.js'
import { whyUnreadable } from '../event-store/read-event.js'
import { type CheckpointDocument, collections, type ProblemDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { isOfThisLog, readCheckpoint } from './checkpoints.js'
import { problemsProjection } from './event-problems.js'

/** An event that cannot be read and that no one has decided to skip. */
export interface OpenProblem {
  readonly stream: string
  readonly revision: number
  /** A sentence, without anything of the event's data. */
  readonly reason: string
}

const maxListed = 1_000
const pageSize = 500

/**
 * What is known, by `stream@revision`: what the projection has found, what another one is stopped at, and what puts a merchant
 * or a user out of service (`known`). The last two also find an event that can be read but does not fit what is before it.
 * @throws ReadModelsUnavailableError
 */
export async function openProblems(
  readModels: ReadModels,
  known: readonly UnreadableEventError[],
): Promise<readonly OpenProblem[]> {
  const [found, checkpoints] = await Promise.all([
    readModels.collection(collections.problems).find({ openKind: { $exists: true } }, { limit: maxListed }),
    readModels.collection(collections.checkpoints).find({}),
  ])
  const standing = (checkpoints as CheckpointDocument[]).flatMap(({ failure }) => {
    const { stream, revision, reason = '' } = failure ?? {}
    return stream === undefined || revision === undefined ? [] : [{ stream, revision, reason }]
  })
  const problems = new Map<string, OpenProblem>()
  for (const { stream, revision, reason } of [...standing, ...known, ...(found as ProblemDocument[])])
    problems.set(placeOf({ stream, revision }), { stream, revision, reason: withoutPlace(reason, stream, revision) })
  return [...problems.values()].sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
}

/**
 * Whether the log has the problem still: the read models know of a decision only when somebody projects it, and they may tell of a
 * log that was put back. @throws StoreUnavailableError
 */
export async function isStillOpen(store: EventStore, { stream, revision }: OpenProblem): Promise<boolean> {
  const [recorded] = await store.readStream(stream, { fromRevision: revision, maxCount: 1 })
  return recorded?.revision === revision && !recorded.isSkipped
}

/** What the projection has not come to yet, or nobody runs it: looked up in the log. @throws StoreUnavailableError */
export async function* problemsNotFoundYet(store: EventStore, readModels: ReadModels): AsyncGenerator<OpenProblem> {
  const stored = await readCheckpoint(readModels, problemsProjection.name)
  const isUsable = stored?.position !== undefined && (await isOfThisLog(store, stored))
  let after: Position | undefined = isUsable ? parsePosition(stored.position ?? '') : undefined
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

/** A projection's failure names the event in its sentence. */
function withoutPlace(reason: string, stream: string, revision: number): string {
  const place = `${placeOf({ stream, revision })}: `
  return reason.startsWith(place) ? reason.slice(place.length) : reason
}
