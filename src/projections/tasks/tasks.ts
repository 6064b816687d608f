import { randomUUID } from 'node:crypto'
import type { Clock } from '../../kernel/clock.js'
import { collections, type PauseDocument, pauseId, type TaskDocument } from '../../read-models/documents.js'
import type { Document, ReadModels } from '../../read-models/read-models.js'

/** What is asked of a projection while something else is done to it. */
export class ProjectionBusyError extends Error {
  override readonly name = 'ProjectionBusyError'
}

/** The task is not this holder's any more: it was cancelled, or another holder has it. */
export class TaskWithdrawnError extends Error {
  override readonly name = 'TaskWithdrawnError'
}

export interface Asked {
  readonly what: TaskDocument['what']
  readonly by: string
  readonly keep?: boolean
}

export type TaskFields = Partial<
  Pick<
    TaskDocument,
    | 'phase'
    | 'beside'
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

/** The small documents through which something is asked of whoever runs a projection, and watched. */
export class Tasks {
  constructor(
    private readonly readModels: ReadModels,
    private readonly clock: Clock,
  ) {}

  async find(projection: string): Promise<TaskDocument | null> {
    return (await this.#collection.findOne({ _id: projection })) as TaskDocument | null
  }

  /** The last task and the pause of a projection, in one look. */
  async look(
    projection: string,
  ): Promise<{ readonly task: TaskDocument | null; readonly paused: PauseDocument | null }> {
    const found = await this.#collection.find({ _id: { $in: [projection, pauseId(projection)] } })
    const by = (id: string) => found.find(({ _id }) => _id === id) ?? null
    return { task: by(projection) as TaskDocument | null, paused: by(pauseId(projection)) as PauseDocument | null }
  }

  /** A task of the same kind that is under way already is joined, and not begun again. @throws ProjectionBusyError */
  async ask(projection: string, asked: Asked): Promise<{ readonly task: TaskDocument; readonly joined: boolean }> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const before = await this.find(projection)
      if (before && isUnfinished(before)) {
        if (before.what === asked.what && before.state !== 'cancelling') return { task: before, joined: true }
        throw new ProjectionBusyError(`${projection} is busy: ${before.what} is ${before.state}.`)
      }
      const now = this.clock()
      const asOf = { state: 'requested', requestedAt: now, updatedAt: now } as const
      const task: TaskDocument = { _id: projection, requestId: randomUUID(), ...asked, ...asOf }
      const filter = { _id: projection, ...(before ? { requestId: before.requestId } : { state: { $exists: false } }) }
      const result = await this.#write({ replaceOne: { filter, replacement: task, upsert: true } })
      if (result.matchedCount + result.upsertedCount > 0) return { task, joined: false }
    }
    throw new ProjectionBusyError(`${projection} is busy: others ask for something as well.`)
  }

  /** From now on it is this lease's. Null when it was cancelled or has ended. */
  async take(task: TaskDocument, leaseToken: number, interruptions: number): Promise<TaskDocument | null> {
    const { _id, requestId } = task
    const filter = { _id, requestId, state: { $in: ['requested', 'running'] }, leaseToken: { $ne: leaseToken } }
    const taken = { state: 'running', leaseToken, interruptions, updatedAt: this.clock() } as const
    const result = await this.#write({ updateOne: { filter, update: { $set: taken } } })
    return result.matchedCount === 0 ? null : { ...task, ...taken }
  }

  /** @throws TaskWithdrawnError */
  async report(task: TaskDocument, fields: TaskFields): Promise<void> {
    await this.#update(task, fields)
  }

  /** @throws TaskWithdrawnError */
  async end(task: TaskDocument, state: 'done' | 'failed', fields: TaskFields = {}): Promise<void> {
    const { _id, requestId, leaseToken } = task
    const filter = { _id, requestId, leaseToken: leaseToken ?? null, state: 'running' }
    const $set = { ...fields, state, updatedAt: this.clock() }
    const $unset = { phase: '', beside: '', secondsLeft: '', interruptions: '' } as const
    const result = await this.#write({ updateOne: { filter, update: { $set, $unset } } })
    if (result.matchedCount === 0) throw new TaskWithdrawnError(_id)
  }

  /** Whoever works on it clears up. False when there is nothing to cancel. */
  async cancel(projection: string, requestId?: string): Promise<boolean> {
    const filter = {
      _id: projection,
      state: { $in: ['requested', 'running'] },
      ...(requestId !== undefined && { requestId }),
    }
    const $set = { state: 'cancelling', updatedAt: this.clock() }
    return (await this.#write({ updateOne: { filter, update: { $set } } })).matchedCount > 0
  }

  /** After a cancelled task has left nothing behind. */
  async remove({ _id, requestId }: TaskDocument): Promise<void> {
    await this.#write({ deleteOne: { filter: { _id, requestId } } })
  }

  /** False when it was paused before. */
  async pause(projection: string, by: string, reason: string | null): Promise<boolean> {
    const replacement: PauseDocument = { _id: pauseId(projection), at: this.clock(), by, reason }
    const filter = { _id: replacement._id, at: { $exists: false } }
    return (await this.#write({ replaceOne: { filter, replacement, upsert: true } })).upsertedCount > 0
  }

  /** False when it was not paused. */
  async resume(projection: string): Promise<boolean> {
    return (await this.#write({ deleteOne: { filter: { _id: pauseId(projection) } } })).deletedCount > 0
  }

  async #update({ _id, requestId, leaseToken }: TaskDocument, fields: TaskFields): Promise<void> {
    const filter = { _id, requestId, leaseToken: leaseToken ?? null, state: 'running' }
    const $set = { ...fields, updatedAt: this.clock() }
    const result = await this.#write({ updateOne: { filter, update: { $set } } })
    if (result.matchedCount === 0) throw new TaskWithdrawnError(_id)
  }

  get #collection() {
    return this.readModels.collection(collections.projectionTasks)
  }

  #write(operation: Parameters<ReturnType<ReadModels['collection']>['bulkWrite']>[0][number]) {
    return this.#collection.bulkWrite([operation])
  }
}

/** Every projection that is paused now, by name. */
export async function pausedProjections(
  readModels: ReadModels,
  names: readonly string[],
): Promise<ReadonlyMap<string, PauseDocument>> {
  const found = await readModels.collection(collections.projectionTasks).find({ _id: { $in: names.map(pauseId) } })
  const ofId = new Map(found.map((document: Document) => [document._id, document as PauseDocument]))
  return new Map(names.flatMap((name) => (ofId.has(pauseId(name)) ? [[name, ofId.get(pauseId(name))!] as const] : [])))
}
