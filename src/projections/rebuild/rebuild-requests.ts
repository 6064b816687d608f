import { randomUUID } from 'node:crypto'
import type { Clock } from '../../commands/handle-command.js'
import { formatPosition, type Position } from '../../event-store/event-store.js'
import { collections, type RebuildDocument } from '../../read-models/documents.js'
import type { ReadModels } from '../../read-models/read-models.js'

/** The small documents through which a rebuild is asked for and watched, whoever does it. */
export class RebuildRequests {
  constructor(
    private readonly readModels: ReadModels,
    private readonly clock: Clock,
  ) {}

  find(projection: string): Promise<RebuildDocument | null> {
    return readRebuild(this.readModels, projection)
  }

  /** Replaces what was there; one that is being answered then ends without a report, and this one is answered next. */
  async put(projection: string): Promise<RebuildDocument> {
    const now = this.clock()
    const request = {
      _id: projection,
      requestId: randomUUID(),
      state: 'requested',
      requestedAt: now,
      updatedAt: now,
    } as const
    const replaceOne = { filter: { _id: projection }, replacement: request, upsert: true }
    await this.readModels.collection(collections.rebuilds).bulkWrite([{ replaceOne }])
    return request
  }

  /** Changes nothing when another request has replaced this one. */
  async report(
    { _id, requestId }: RebuildDocument,
    state: 'running' | 'done' | 'failed',
    progress: {
      readonly position?: Position | undefined
      readonly end?: Position | undefined
      readonly reason?: string
    },
  ): Promise<void> {
    const { position, end, reason } = progress
    const $set = {
      state,
      updatedAt: this.clock(),
      ...(position && { position: formatPosition(position) }),
      ...(end && { end: formatPosition(end) }),
      ...(reason !== undefined && { reason }),
    }
    const updateOne = { filter: { _id, requestId }, update: { $set } }
    await this.readModels.collection(collections.rebuilds).bulkWrite([{ updateOne }])
  }
}

export async function readRebuild(readModels: ReadModels, projection: string): Promise<RebuildDocument | null> {
  return (await readModels.collection(collections.rebuilds).findOne({ _id: projection })) as RebuildDocument | null
}
