import { hostname } from 'node:os'
import { ownNodeId } from './lease-holder.js'
import type { Document, ReadModels } from './read-models.js'

const collection = 'nodes'
const indexes = [{ key: { seenAt: 1 } }] as const
export const heartbeatEveryMs = 10_000
/** Two heartbeats may be lost. */
const aliveForMs = 3 * heartbeatEveryMs
const listedForMs = 86_400_000

interface NodeDocument extends Document {
  readonly host: string
  readonly processId: number
  readonly version: string
  readonly roles: readonly string[]
  readonly startedAt: string
  readonly seenAt: string
}

export type Node = Awaited<ReturnType<typeof listNodes>>[number]

/** This process in the list of nodes, which only users read: no decision depends on it. */
export class OwnNode {
  constructor(
    private readonly readModels: ReadModels,
    private readonly info: Pick<NodeDocument, 'version' | 'roles' | 'startedAt'>,
  ) {}

  /** Adds the node, and deletes nodes without a heartbeat for a day. @throws ReadModelsUnavailableError */
  async start(now: string): Promise<void> {
    await this.readModels.createIndexes(collection, indexes)
    const expired = { seenAt: { $lt: new Date(Date.parse(now) - listedForMs).toISOString() } }
    const old = await this.readModels.collection(collection).find(expired, { limit: 1_000 })
    const deletions = old.map(({ _id }) => ({ deleteOne: { filter: { _id } } }))
    if (deletions.length > 0) await this.readModels.collection(collection).bulkWrite(deletions)
    await this.heartbeat(now)
  }

  /** @throws ReadModelsUnavailableError */
  async heartbeat(now: string): Promise<void> {
    const place = { _id: ownNodeId(), host: hostname(), processId: process.pid }
    const replacement: NodeDocument = { ...place, ...this.info, seenAt: now }
    const filter = { _id: replacement._id }
    await this.readModels.collection(collection).bulkWrite([{ replaceOne: { filter, replacement, upsert: true } }])
  }

  /** @throws ReadModelsUnavailableError */
  async end(): Promise<void> {
    const filter = { _id: ownNodeId() }
    await this.readModels.collection(collection).bulkWrite([{ deleteOne: { filter } }])
  }
}

/** Returns the nodes with a heartbeat within a day, the latest first, or none before the first service ran. @throws ReadModelsUnavailableError */
export async function listNodes(readModels: ReadModels, now: string) {
  if (!(await readModels.listCollections()).includes(collection)) return []
  const since = new Date(Date.parse(now) - listedForMs).toISOString()
  const options = { sort: { seenAt: -1 }, limit: 1_000 } as const
  const found = await readModels.collection(collection).find({ seenAt: { $gte: since } }, options)
  return (found as readonly NodeDocument[]).map(
    ({ _id: nodeId, host, processId, version, roles, startedAt, seenAt }) => ({
      nodeId,
      host,
      processId,
      version,
      roles,
      startedAt,
      seenAt,
      isAlive: Math.abs(Date.parse(now) - Date.parse(seenAt)) <= aliveForMs,
    }),
  )
}
