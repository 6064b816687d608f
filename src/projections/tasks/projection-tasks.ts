import { randomUUID } from 'node:crypto'
import type { Clock } from '../../kernel/clock.js'
import { collections, type PauseDocument, pauseId, type TaskDocument } from '../../read-models/documents.js'
import type { ReadModels, Update, WriteOperation } from '../../read-models/read-models.js'

/** The projection already has a different unfinished task. */
export class ProjectionBusyError extends Error {
  override readonly name = 'ProjectionBusyError'
}

/** The task was cancelled, or another process has taken it over. */
export class TaskLostError extends Error {
  override readonly name = 'TaskLostError'
}

export type TaskRequest = Pick<TaskDocument, 'what' | 'by' | 'keep'>

type TaskReport = Partial<
  Pick<
    TaskDocument,
    | 'phase'
    | 'build'
    | 'reached'
    | 'interruptions'
    | 'end'
    | 'eventsPerSecond'
    | 'secondsLeft'
    | 'comparison'
    | 'reason'
  >
>

const maxAttempts = 10

export function isUnfinished(task: Pick<TaskDocument, 'state'> | null | undefined): boolean {
  return task?.state === 'requested' || task?.state === 'running' || task?.state === 'cancelling'
}

/** The documents through which operators request work of the process that runs a projection, and watch its progress. */
export class ProjectionTasks {
  constructor(
    private readonly readModels: ReadModels,
    private readonly clock: Clock,
  ) {}

  /** Returns the last task of a projection. */
  async find(projection: string): Promise<TaskDocument | null> {
    return (await this.#collection.findOne({ _id: projection })) as TaskDocument | null
  }

  /** Returns the last task and the pause of a projection. */
  async findAll(
    projection: string,
  ): Promise<{ readonly task: TaskDocument | null; readonly paused: PauseDocument | null }> {
    const found = await this.#collection.find({ _id: { $in: [projection, pauseId(projection)] } })
    const byId = (id: string) => found.find(({ _id }) => _id === id) ?? null
    return { task: byId(projection) as TaskDocument | null, paused: byId(pauseId(projection)) as PauseDocument | null }
  }

  /** Requests a task, or joins an unfinished one of the same kind. @throws ProjectionBusyError */
  async request(
    projection: string,
    request: TaskRequest,
  ): Promise<{ readonly task: TaskDocument; readonly joined: boolean }> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const last = await this.find(projection)
      if (last && isUnfinished(last)) {
        if (last.what === request.what && last.state !== 'cancelling') return { task: last, joined: true }
        throw new ProjectionBusyError(`${projection} is busy: ${last.what} is ${last.state}.`)
      }
      const now = this.clock()
      const state = { state: 'requested', requestedAt: now, updatedAt: now } as const
      const task: TaskDocument = { _id: projection, requestId: randomUUID(), ...request, ...state }
      const filter = { _id: projection, ...(last ? { requestId: last.requestId } : { state: { $exists: false } }) }
      const result = await this.#write({ replaceOne: { filter, replacement: task, upsert: true } })
      if (result.matchedCount + result.upsertedCount > 0) return { task, joined: false }
    }
    throw new ProjectionBusyError(`${projection} is busy: other requests arrived at the same time.`)
  }

  /** Takes a task under a lease. Returns `null` if it was cancelled or has ended. */
  async take(task: TaskDocument, leaseToken: number, interruptions: number): Promise<TaskDocument | null> {
    const { _id, requestId } = task
    const filter = { _id, requestId, state: { $in: ['requested', 'running'] }, leaseToken: { $ne: leaseToken } }
    const taken = { state: 'running', leaseToken, interruptions, updatedAt: this.clock() } as const
    const result = await this.#write({ updateOne: { filter, update: { $set: taken } } })
    return result.matchedCount === 0 ? null : { ...task, ...taken }
  }

  /** @throws TaskLostError */
  report(task: TaskDocument, report: TaskReport): Promise<void> {
    return this.#change(task, { $set: report })
  }

  /** @throws TaskLostError */
  end(task: TaskDocument, state: 'done' | 'failed', report: TaskReport = {}): Promise<void> {
    const $unset = { phase: '', build: '', secondsLeft: '', interruptions: '' } as const
    return this.#change(task, { $set: { ...report, state }, $unset })
  }

  /** Asks the process that works on the task to stop and clean up. Returns whether there was a task to cancel. */
  async cancel(projection: string, requestId?: string): Promise<boolean> {
    const request = requestId === undefined ? {} : { requestId }
    const filter = { _id: projection, state: { $in: ['requested', 'running'] }, ...request }
    const $set = { state: 'cancelling', updatedAt: this.clock() }
    return (await this.#write({ updateOne: { filter, update: { $set } } })).matchedCount > 0
  }

  /** Removes a cancelled task after its cleanup. */
  async remove({ _id, requestId }: TaskDocument): Promise<void> {
    await this.#write({ deleteOne: { filter: { _id, requestId } } })
  }

  /** Returns whether the projection was not paused before. */
  async pause(projection: string, by: string, reason: string | null): Promise<boolean> {
    const replacement: PauseDocument = { _id: pauseId(projection), at: this.clock(), by, reason }
    const filter = { _id: replacement._id, at: { $exists: false } }
    return (await this.#write({ replaceOne: { filter, replacement, upsert: true } })).upsertedCount > 0
  }

  /** Returns whether the projection was paused before. */
  async resume(projection: string): Promise<boolean> {
    return (await this.#write({ deleteOne: { filter: { _id: pauseId(projection) } } })).deletedCount > 0
  }

  async #change({ _id, requestId, leaseToken }: TaskDocument, { $set, ...rest }: Update): Promise<void> {
    const filter = { _id, requestId, leaseToken: leaseToken ?? null, state: 'running' }
    const update = { $set: { ...$set, updatedAt: this.clock() }, ...rest }
    if ((await this.#write({ updateOne: { filter, update } })).matchedCount === 0) throw new TaskLostError(_id)
  }

  get #collection() {
    return this.readModels.collection(collections.projectionTasks)
  }

  #write(operation: WriteOperation) {
    return this.#collection.bulkWrite([operation])
  }
}

/** Returns the pauses of those projections that are paused, by name. */
export async function pausedProjections(
  readModels: ReadModels,
  names: readonly string[],
): Promise<ReadonlyMap<string, PauseDocument>> {
  const found = await readModels.collection(collections.projectionTasks).find({ _id: { $in: names.map(pauseId) } })
  return new Map(
    names.flatMap((name) => {
      const pause = found.find(({ _id }) => _id === pauseId(name)) as PauseDocument | undefined
      return pause ? [[name, pause] as const] : []
    }),
  )
}
