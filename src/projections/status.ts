import { endOfLog } from '../event-store/end-of-log.js'
import { type EventStore, formatPosition, type Position, parsePosition } from '../event-store/event-store.js'
import type { CheckpointDocument, RebuildDocument } from '../read-models/documents.js'
import { isDeadHolder } from '../read-models/lease-holder.js'
import type { ReadModels } from '../read-models/read-models.js'
import { allProjections } from './all.js'
import { isOfThisLog, readCheckpoint } from './checkpoints.js'
import type { Projection } from './projection.js'

import { readRebuild } from './rebuild/rebuild-requests.js'
import { leaseName } from './start.js'

export interface ProjectionStatus {
  readonly name: string
  /** `new`: nothing was built yet. `outdated`: built by another version of the program, or from another log or state of it. */
  readonly state: 'current' | 'behind' | 'failed' | 'outdated' | 'new'
  /** As `formatPosition` prints it; null when nothing was looked at yet. */
  readonly checkpoint: string | null
  /** The end of the log; null when it is empty. */
  readonly end: string | null
  /** Events not yet applied; counting stops at 10,000. */
  readonly lagEvents: number
  readonly lastEventAt: string | null
  /** `host/pid/…` of the process that runs it; null when none does. */
  readonly holder: string | null
  readonly failure: NonNullable<CheckpointDocument['failure']> | null
  /** The last one, whether it runs or has ended. */
  readonly rebuild: Pick<RebuildDocument, 'state' | 'requestedAt' | 'updatedAt' | 'position' | 'end' | 'reason'> | null
}

const lagCountedTo = 10_000
const lagPage = 1_000

/** @throws StoreUnavailableError, ReadModelsUnavailableError */
export async function projectionStatus(deps: {
  readonly store: EventStore
  readonly readModels: ReadModels
}): Promise<readonly ProjectionStatus[]> {
  const end = await endOfLog(deps.store)
  return Promise.all(allProjections.map((projection) => statusOf(deps.store, deps.readModels, projection, end)))
}

async function statusOf(
  store: EventStore,
  readModels: ReadModels,
  projection: Projection,
  end: Position | undefined,
): Promise<ProjectionStatus> {
  const stored = await readCheckpoint(readModels, projection.name)
  const ofThisLog = stored === null || (await isOfThisLog(store, stored))
  const position = stored?.lastEvent && stored.position !== undefined ? parsePosition(stored.position) : undefined
  const lagEvents = ofThisLog ? await countAfter(store, projection, position) : 0
  const outdated = stored !== null && (stored.version !== projection.version || !ofThisLog)
  const standing = stored === null ? 'new' : lagEvents === 0 ? 'current' : 'behind'
  const rebuild = await readRebuild(readModels, projection.name)
  return {
    name: projection.name,
    state: stored?.failure ? 'failed' : outdated ? 'outdated' : standing,
    checkpoint: stored?.position ?? null,
    end: end ? formatPosition(end) : null,
    lagEvents,
    lastEventAt: stored?.lastEventAtMs ? new Date(stored.lastEventAtMs).toISOString() : null,
    holder: await holderOf(readModels, projection),
    failure: stored?.failure ?? null,
    rebuild: rebuild && withoutIds(rebuild),
  }
}

function withoutIds({ _id, requestId: _, ...rest }: RebuildDocument): NonNullable<ProjectionStatus['rebuild']> {
  return rest
}

async function countAfter(store: EventStore, { streamPrefixes }: Projection, position: Position | undefined) {
  let after = position
  let count = 0
  while (count < lagCountedTo) {
    const page = await store.readAll({ streamPrefixes, maxCount: lagPage, ...(after && { after }) })
    count += page.events.length
    after = page.checkpoint ?? after
    if (page.atEnd) break
  }
  return count
}

async function holderOf(readModels: ReadModels, projection: Projection): Promise<string | null> {
  const lease = await readModels.collection('leases').findOne({ _id: leaseName(projection) })
  const holder = lease?.holder
  return typeof holder === 'string' && !isDeadHolder(holder) ? holder : null
}
