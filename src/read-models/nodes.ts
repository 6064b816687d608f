import { hostname } from 'node:os'
import { ownNodeId } from './lease-holder.js'
import type { Document, ReadModels } from './read-models.js'

const collection = 'nodes'
const indexes = [{ key: { seenAt: 1 } }] as const
export const signEveryMs = 10_000
/** Two signs may be lost. */
const aliveForMs = 3 * signEveryMs
const listedForMs = 86_400_000

/** A process of the service, as it tells of itself. */
interface Told {
  readonly host: string
  readonly processId: number
  readonly version: string
  readonly roles: readonly string[]
  readonly startedAt: string
  /** By the node's own clock. */
  readonly seenAt: string
}

/** `_id` is {@link ownNodeId}. */
interface NodeDocument extends Told, Document {}

export interface Node extends Told {
  readonly nodeId: string
  readonly isAlive: boolean
}

/** A process of the service as it tells of itself: for people to see, nothing is decided by it. */
export class OwnNode {
  readonly #told: Omit<Told, 'seenAt'>

  constructor(
    private readonly readModels: ReadModels,
    told: Pick<Told, 'version' | 'roles' | 'startedAt'>,
  ) {
    this.#told = { host: hostname(), processId: process.pid, ...told }
  }

  /** Forgets nodes that gave no sign for a day, which nobody else does. @throws ReadModelsUnavailableError */
  async begin(now: string): Promise<void> {
    await this.readModels.createIndexes(collection, indexes)
    const forgotten = { seenAt: { $lt: new Date(Date.parse(now) - listedForMs).toISOString() } }
    const old = await this.readModels.collection(collection).find(forgotten, { limit: 1_000 })
    const deletions = old.map(({ _id }) => ({ deleteOne: { filter: { _id } } }))
    if (deletions.length > 0) await this.readModels.collection(collection).bulkWrite(deletions)
    await this.sign(now)
  }

  /** @throws ReadModelsUnavailableError */
  async sign(now: string): Promise<void> {
    const replacement: NodeDocument = { _id: ownNodeId(), ...this.#told, seenAt: now }
    const filter = { _id: replacement._id }
    await this.readModels.collection(collection).bulkWrite([{ replaceOne: { filter, replacement, upsert: true } }])
  }

  /** @throws ReadModelsUnavailableError */
  async end(): Promise<void> {
    const filter = { _id: ownNodeId() }
    await this.readModels.collection(collection).bulkWrite([{ deleteOne: { filter } }])
  }
}

/** Those that gave a sign within a day, the latest first; none where no service has run yet. @throws ReadModelsUnavailableError */
export async function listNodes(readModels: ReadModels, now: string): Promise<readonly Node[]> {
  if (!(await readModels.listCollections()).includes(collection)) return []
  const since = new Date(Date.parse(now) - listedForMs).toISOString()
  const options = { sort: { seenAt: -1 }, limit: 1_000 } as const
  const found = await readModels.collection(collection).find({ seenAt: { $gte: since } }, options)
  return (found as readonly NodeDocument[]).map(
    ({ _id: nodeId, host, processId, version, roles, startedAt, seenAt }) => ({
      ...{ nodeId, host, processId, version, roles, startedAt, seenAt },
      isAlive: Date.parse(now) - Date.parse(seenAt) <= aliveForMs,
    }),
  )
}
