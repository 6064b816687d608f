import { endOfLog } from '../event-store/end-of-log.js'
import { type EventStore, formatPosition, type Position, type RecordedEvent } from '../event-store/event-store.js'
import type { CheckpointDocument, PauseDocument, StandbyDocuments, TaskDocument } from '../read-models/documents.js'
import { isDeadHolder } from '../read-models/lease-holder.js'
import type { ReadModels } from '../read-models/read-models.js'
import { allProjections } from './all.js'
import { commitOf, isOfThisLog, positionOf, readCheckpoint } from './checkpoints.js'
import type { Projection } from './projection.js'
import { leaseName } from './start.js'
import { isUnfinished, Tasks } from './tasks/tasks.js'

export const projectionActions = ['rebuild', 'verify', 'switch', 'rollback', 'pause', 'resume', 'cancel'] as const
export type ProjectionAction = (typeof projectionActions)[number]

export interface ProjectionStatus {
  readonly name: string
  readonly version: number
  readonly collection: string
  /** `new`: nothing was built yet. `outdated`: built by another version of the program, or from another log or state of it. */
  readonly state: 'current' | 'behind' | 'failed' | 'paused' | 'outdated' | 'new'
  /** As `formatPosition` prints it; null when nothing was looked at yet. */
  readonly checkpoint: string | null
  /** The end of the log; null when it is empty. */
  readonly end: string | null
  /** Events not yet applied; counting stops at 1,000. */
  readonly lagEvents: number
  /** When the first of them was recorded; null when none waits. */
  readonly waitingSince: string | null
  readonly lastEventAt: string | null
  /** `host/pid/…` of the process that runs it; null when none does. */
  readonly holder: string | null
  readonly failure: (NonNullable<CheckpointDocument['failure']> & { readonly command: string | null }) | null
  readonly paused: Pick<PauseDocument, 'at' | 'by' | 'reason'> | null
  /** The last one, whether it is under way or has ended. */
  readonly task: ShownTask | null
  /** Waits to be switched to. */
  readonly built: StandbyDocuments | null
  /** In use before the last switch. */
  readonly previous: StandbyDocuments | null
  readonly actions: readonly ProjectionAction[]
}

interface ShownTask
  extends Pick<TaskDocument, 'what' | 'state' | 'keep' | 'by' | 'requestedAt' | 'updatedAt' | 'phase' | 'end'>,
    Pick<TaskDocument, 'eventsPerSecond' | 'secondsLeft' | 'comparison' | 'reason'> {
  /** What the new documents have come to. */
  readonly position: string | null
  /** Of the log, from 0 to 1. */
  readonly progress: number | null
}

interface Stores {
  readonly store: EventStore
  readonly readModels: ReadModels
}

/** So few that to count them does not hold up what is behind: they are read for it. */
export const lagCountedTo = 1_000

/** @throws StoreUnavailableError, ReadModelsUnavailableError */
export async function projectionStatus(
  stores: Stores,
  projections: readonly Projection[] = allProjections,
): Promise<readonly ProjectionStatus[]> {
  const end = await endOfLog(stores.store)
  return Promise.all(projections.map((projection) => statusOf(stores, projection, end)))
}

async function statusOf(
  { store, readModels }: Stores,
  projection: Projection,
  end: Position | undefined,
): Promise<ProjectionStatus> {
  const { name, version, collection } = projection
  const stored = await readCheckpoint(readModels, name)
  const { task, paused } = await new Tasks(readModels, () => '').look(name)
  const ofThisLog = stored === null || (await isOfThisLog(store, stored))
  const { lagEvents, waitingSince } = ofThisLog
    ? await waitingFor(store, projection, stored ? positionOf(stored) : undefined)
    : { lagEvents: 0, waitingSince: null }
  const outdated = stored !== null && (stored.version !== version || !ofThisLog)
  const standing = stored === null ? 'new' : lagEvents === 0 ? 'current' : 'behind'
  const { failure, built = null, previous = null } = stored ?? {}
  return {
    ...{ name, version, collection },
    state: paused ? 'paused' : failure ? 'failed' : outdated ? 'outdated' : standing,
    checkpoint: stored?.position ?? null,
    end: end ? formatPosition(end) : null,
    ...{ lagEvents, waitingSince },
    lastEventAt: stored?.lastEventAtMs ? new Date(stored.lastEventAtMs).toISOString() : null,
    holder: await holderOf(readModels, projection),
    failure: failure ? { ...failure, command: commandFor(name, failure) } : null,
    paused: paused && { at: paused.at, by: paused.by, reason: paused.reason },
    task: task && shown(task),
    ...{ built, previous },
    actions: actionsFor({ task, paused, built, previous }),
  }
}

/** What helps, for a shell. Null where nobody can tell without looking. */
function commandFor(name: string, { stream, revision, reason }: NonNullable<CheckpointDocument['failure']>) {
  if (stream === undefined || revision === undefined) return null
  // The event can be read: it is the documents that have nothing for it.
  if (/, whose document is /.test(reason)) return `transferd projections rebuild ${name}`
  return `transferd events skip ${stream}@${revision} --reason <text>`
}

function actionsFor({
  task,
  paused,
  built,
  previous,
}: { task: TaskDocument | null; paused: PauseDocument | null } & Pick<ProjectionStatus, 'built' | 'previous'>) {
  const busy = isUnfinished(task)
  const isCancellable = busy && task?.state !== 'cancelling' && task?.phase !== 'switching'
  const possible: { readonly [action in ProjectionAction]: boolean } = {
    rebuild: !busy,
    verify: !busy,
    switch: !busy && built !== null,
    rollback: !busy && previous !== null,
    pause: paused === null,
    resume: paused !== null,
    cancel: isCancellable,
  }
  return projectionActions.filter((action) => possible[action])
}

function shown(task: TaskDocument): ShownTask {
  const { what, state, keep, by, requestedAt, updatedAt, phase, end, eventsPerSecond, secondsLeft } = task
  const { beside, reached, comparison, reason } = task
  return {
    ...{ what, state, by, requestedAt, updatedAt },
    ...(keep && { keep }),
    ...(phase && { phase }),
    ...(end !== undefined && { end }),
    ...(eventsPerSecond !== undefined && { eventsPerSecond }),
    ...(secondsLeft !== undefined && { secondsLeft }),
    ...(comparison && { comparison }),
    ...(reason !== undefined && { reason }),
    position: reached ?? beside?.position ?? null,
    progress: beside && end ? Math.min(1, commitOf(reached) / Math.max(1, commitOf(end))) : null,
  }
}

async function waitingFor(store: EventStore, { streamPrefixes }: Projection, position: Position | undefined) {
  let after = position
  let first: RecordedEvent | undefined
  let lagEvents = 0
  while (lagEvents < lagCountedTo) {
    const page = await store.readAll({ streamPrefixes, maxCount: lagCountedTo - lagEvents, ...(after && { after }) })
    first ??= page.events[0]
    lagEvents += page.events.length
    after = page.checkpoint ?? after
    if (page.atEnd) break
  }
  return { lagEvents, waitingSince: first ? new Date(first.recordedAtMs).toISOString() : null }
}

async function holderOf(readModels: ReadModels, projection: Projection): Promise<string | null> {
  const lease = await readModels.collection('leases').findOne({ _id: leaseName(projection) })
  const holder = lease?.holder
  return typeof holder === 'string' && !isDeadHolder(holder) ? holder : null
}
