import { randomUUID } from 'node:crypto'
import { violate } from '../domain/decider.js'
import type { Violation } from '../domain/rules.js'
import type { Clock } from '../kernel/time.js'
import {
  collections,
  type PauseDocument,
  type PointerDocument,
  pauseId,
  type RequestDocument,
  type TaskRecord,
} from '../read-models/documents.js'
import type { ReadModels, WriteOperation } from '../read-models/read-models.js'
import type { Projection } from './projection.js'
import { readPointer } from './projection-pointer.js'

const maxAttempts = 10

/** Returns the name of the lease that one process at a time holds to run the projection. */
export function leaseName({ name }: Projection): string {
  return `projection:${name}`
}

/** The state of the projection does not permit the task. */
export class ProjectionConflictError extends Error {
  override readonly name = 'ProjectionConflictError'

  constructor(readonly violation: Violation) {
    super(violation.rule)
  }
}

/** The last task of a projection, as its request and the process that performs it describe it. */
export interface ProjectionTask extends Omit<TaskRecord, 'state'> {
  readonly projection: string
  readonly state: 'requested' | 'cancelling' | TaskRecord['state']
}

export type TaskRequest = Pick<RequestDocument, 'what' | 'by' | 'keep'>

export function isUnfinished(task: ProjectionTask | null | undefined): boolean {
  return task?.state === 'requested' || task?.state === 'running' || task?.state === 'cancelling'
}

/** Returns the state of a task: its record starts with the work on it, and its request is deleted when it is cancelled. */
export function taskOf(
  projection: string,
  request: RequestDocument | null,
  record?: TaskRecord,
): ProjectionTask | null {
  if (request && request.requestId !== record?.requestId) {
    const { _id, ...requested } = request
    return { projection, ...requested, state: 'requested', updatedAt: requested.requestedAt }
  }
  if (!record) return null
  const isCancelled = !request && record.state === 'running' && !record.isConcluded
  return { projection, ...record, ...(isCancelled && { state: 'cancelling' }) }
}

/** The requests through which operators have work done by the process that runs a projection. */
export class ProjectionTasks {
  constructor(
    private readonly readModels: ReadModels,
    private readonly clock: Clock,
  ) {}

  async find(projection: string): Promise<ProjectionTask | null> {
    // The record first: a request that is newer than the record is right, a record that is newer than the request looks cancelled.
    const pointer = await readPointer(this.readModels, projection)
    return taskOf(projection, (await this.findRequests(projection)).request, pointer?.task)
  }

  async findRequests(projection: string) {
    const requests = this.readModels.collection(collections.projectionRequests)
    const found = await requests.find({ _id: { $in: [projection, pauseId(projection)] } })
    const byId = (id: string) => found.find(({ _id }) => _id === id) ?? null
    const request = byId(projection) as RequestDocument | null
    return { request, paused: byId(pauseId(projection)) as PauseDocument | null }
  }

  /** Requests a task, or joins an unfinished one of the same kind. @throws ProjectionConflictError */
  async request(projection: string, request: TaskRequest) {
    const { built, previous } = (await readPointer(this.readModels, projection)) ?? {}
    if (request.what === 'switch' && !built) throw new ProjectionConflictError(violate('nothing-built'))
    if (request.what === 'rollback' && !previous) throw new ProjectionConflictError(violate('nothing-kept'))
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const last = await this.find(projection)
      if (last && isUnfinished(last)) {
        if (last.what === request.what && last.state !== 'cancelling') return { task: last, joined: true }
        throw new ProjectionConflictError(violate('projection-busy', { projection, task: last.what }))
      }
      const requested = { ...request, requestId: randomUUID(), requestedAt: this.clock() }
      const replacement: RequestDocument = { _id: projection, ...requested }
      const filter = { _id: projection, requestId: last ? last.requestId : { $exists: false } }
      const result = await this.#write({ replaceOne: { filter, replacement, upsert: true } })
      if (result.matchedCount + result.upsertedCount > 0)
        return { task: taskOf(projection, replacement)!, joined: false }
    }
    throw new ProjectionConflictError(violate('projection-busy', { projection, task: request.what }))
  }

  /** Cancels an unfinished task: the process that works on it stops and cleans up. Returns whether there was one. */
  async cancel(projection: string, requestId?: string): Promise<boolean> {
    const task = await this.find(projection)
    if (!task || !isUnfinished(task) || (requestId !== undefined && task.requestId !== requestId)) return false
    const filter = { _id: projection, requestId: task.requestId }
    return (await this.#write({ deleteOne: { filter } })).deletedCount > 0
  }

  async pause(projection: string, by: string, reason: string | null): Promise<boolean> {
    const replacement: PauseDocument = { _id: pauseId(projection), at: this.clock(), by, reason }
    const filter = { _id: replacement._id, at: { $exists: false } }
    return (await this.#write({ replaceOne: { filter, replacement, upsert: true } })).upsertedCount > 0
  }

  /** Returns whether the projection was paused before. */
  async resume(projection: string): Promise<boolean> {
    return (await this.#write({ deleteOne: { filter: { _id: pauseId(projection) } } })).deletedCount > 0
  }

  #write(operation: WriteOperation) {
    return this.readModels.collection(collections.projectionRequests).bulkWrite([operation])
  }
}

/** Returns the stopped and paused projections as sentences. An event at which one is stopped is listed with the unreadable events. */
export async function projectionDetails(readModels: ReadModels, names: readonly string[]): Promise<readonly string[]> {
  const pointers = (await readModels.collection(collections.pointers).find({})) as PointerDocument[]
  const stopped = pointers.flatMap(({ _id: name, failure }) =>
    failure && failure.stream === undefined
      ? `the projection ${name} is stopped: ${failure.reason} (docs/operating/projections.md)`
      : [],
  )
  const paused = (await pausedProjections(readModels, names)).map(
    ({ name, since }) => `the projection ${name} has been paused since ${since} (transferd projections resume ${name})`,
  )
  return [...stopped, ...paused]
}

/** Returns those projections that are paused, and since when. */
export async function pausedProjections(readModels: ReadModels, names: readonly string[]) {
  const found = await readModels.collection(collections.projectionRequests).find({ _id: { $in: names.map(pauseId) } })
  return names.flatMap((name) => {
    const pause = found.find(({ _id }) => _id === pauseId(name)) as PauseDocument | undefined
    return pause ? [{ name, since: pause.at }] : []
  })
}
