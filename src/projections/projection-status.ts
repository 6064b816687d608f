import {
  type EventStore,
  endOfLog,
  formatPosition,
  logPages,
  type Position,
  type RecordedEvent,
} from '../event-store/event-store.js'
import type { Clock } from '../kernel/time.js'
import { collections, type PointerDocument, type ProjectionBuild } from '../read-models/documents.js'
import { isDeadHolder } from '../read-models/lease-holder.js'
import type { ReadModels } from '../read-models/read-models.js'
import { allProjections } from './all-projections.js'
import type { Projection } from './projection.js'
import { commitOf, isOfThisLog, readPointer, resumePosition } from './projection-pointer.js'
import { isUnfinished, leaseName, type ProjectionTask, ProjectionTasks, taskOf } from './projection-tasks.js'

export const projectionActions = ['rebuild', 'verify', 'switch', 'rollback', 'pause', 'resume', 'cancel'] as const
type ProjectionAction = (typeof projectionActions)[number]

/** Positions are printed by `formatPosition`. */
export type ProjectionStatus = Awaited<ReturnType<typeof statusOf>>

/** `new`: nothing is built. `outdated`: built by another version of the program, or from another log or another state of it. */
type State = 'current' | 'behind' | 'failed' | 'paused' | 'outdated' | 'new'

interface Stores {
  readonly store: EventStore
  readonly readModels: ReadModels
}

/** Counting reads the events, so it must not slow down a projection that is behind. */
export const lagCountedTo = 1_000

/** @throws StoreUnavailableError, ReadModelsUnavailableError */
export async function projectionStatus(stores: Stores, projections: readonly Projection[] = allProjections) {
  const end = await endOfLog(stores.store)
  return Promise.all(projections.map((projection) => statusOf(stores, projection, end)))
}

/**
 * Returns for each projection whether it is behind, and since when and for how long its first unapplied event has waited. The documents of
 * a stopped projection without such an event are as old as the stop.
 * @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function projectionLags(stores: Stores, clock: Clock) {
  return (await projectionStatus(stores)).map(({ name, state, waitingSince, paused, failure }) => {
    const since = waitingSince ?? paused?.at ?? failure?.at ?? null
    if (state === 'current') return { name, state, behind: false, lagMs: 0, since: null }
    const lagMs = waitingSince === null ? null : Math.max(0, Date.parse(clock()) - Date.parse(waitingSince))
    return { name, state, behind: true, lagMs, since }
  })
}

async function statusOf({ store, readModels }: Stores, projection: Projection, end: Position | undefined) {
  const { name, version } = projection
  const { served, failure, built, previous, task: record } = (await readPointer(readModels, name)) ?? {}
  const { request, paused } = await new ProjectionTasks(readModels, () => '').findRequests(name)
  const task = taskOf(name, request, record)
  const { progress = {} } = served ?? {}
  const ofThisLog = await isOfThisLog(store, progress)
  const { lagEvents, waitingSince } = ofThisLog
    ? await waitingFor(store, projection, resumePosition(progress))
    : { lagEvents: 0, waitingSince: null }
  const isOutdated = served !== undefined && (served.version !== version || !ofThisLog)
  const lag = progress.position === undefined ? 'new' : lagEvents === 0 ? 'current' : 'behind'
  const state: State = paused ? 'paused' : failure ? 'failed' : isOutdated ? 'outdated' : lag
  return {
    name,
    version,
    collection: served?.collection ?? null,
    state,
    checkpoint: progress.position ?? null,
    end: end ? formatPosition(end) : null,
    /** The events that are not applied yet; counting stops at 1,000. */
    lagEvents,
    /** The time at which the first of them was recorded. */
    waitingSince,
    lastEventAt: progress.lastEvent ? new Date(progress.lastEvent.recordedAtMs).toISOString() : null,
    /** `host/pid/…` of the process that runs the projection. */
    holder: await holderOf(readModels, projection),
    failure: failure ? shownFailure(name, failure) : null,
    paused: paused && { at: paused.at, by: paused.by, reason: paused.reason },
    task: task && shownTask(task),
    built: built ? shownBuild(built) : null,
    previous: previous ? shownBuild(previous) : null,
    actions: actionsFor(task, paused !== null, built !== undefined, previous?.version === version),
  }
}

/** Adds the command that resumes the projection. */
function shownFailure(name: string, { remedy, ...failure }: NonNullable<PointerDocument['failure']>) {
  const { stream, revision } = failure
  if (stream === undefined || revision === undefined) return { ...failure, command: null }
  if (remedy === 'rebuild') return { ...failure, command: `transferd projections rebuild ${name}` }
  return { ...failure, command: `transferd events skip ${stream}@${revision} --reason <text>` }
}

function actionsFor(task: ProjectionTask | null, isPaused: boolean, canSwitch: boolean, canRollBack: boolean) {
  const isBusy = isUnfinished(task)
  const possible: { readonly [action in ProjectionAction]: boolean } = {
    rebuild: !isBusy,
    verify: !isBusy,
    switch: !isBusy && canSwitch,
    rollback: !isBusy && canRollBack,
    pause: !isPaused,
    resume: isPaused,
    cancel: isBusy && task?.state !== 'cancelling' && task?.phase !== 'switching',
  }
  return projectionActions.filter((action) => possible[action])
}

/** Adds the position that the build has reached, and the share of the log up to there, from 0 to 1. */
function shownTask({ build, interruptions, isConcluded, ...task }: ProjectionTask) {
  const { state, reached, end } = task
  const isRunning = state === 'running' && end !== undefined
  const progress = isRunning ? Math.min(1, commitOf(reached) / Math.max(1, commitOf(end))) : null
  return { ...task, position: reached ?? null, progress }
}

function shownBuild({ progress: { position }, ...build }: ProjectionBuild) {
  return { ...build, position: position ?? null }
}

async function waitingFor(store: EventStore, { streamPrefixes }: Projection, after: Position | undefined) {
  let first: RecordedEvent | undefined
  let lagEvents = 0
  for await (const { events } of logPages(store, { after, streamPrefixes, maxCount: lagCountedTo })) {
    first ??= events[0]
    lagEvents += events.length
    if (lagEvents >= lagCountedTo) break
  }
  const waitingSince = first ? new Date(first.recordedAtMs).toISOString() : null
  return { lagEvents: Math.min(lagEvents, lagCountedTo), waitingSince }
}

async function holderOf(readModels: ReadModels, projection: Projection): Promise<string | null> {
  const lease = await readModels.collection('leases').findOne({ _id: leaseName(projection) })
  const holder = lease?.holder
  return typeof holder === 'string' && !isDeadHolder(holder) ? holder : null
}

/** Returns when the newest event was recorded that any projection has applied. @throws ReadModelsUnavailableError */
export async function newestEventMs(readModels: ReadModels): Promise<number | null> {
  const stored = (await readModels.collection(collections.pointers).find({})) as readonly PointerDocument[]
  const times = stored.flatMap(({ served }) => served.progress.lastEvent?.recordedAtMs ?? [])
  return times.length === 0 ? null : Math.max(...times)
}
