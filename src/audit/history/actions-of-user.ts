import { type EventMetadata, shownType } from '../../event-store/event-codec.js'
import { type EventStore, formatPosition, type Position, type RecordedEvent } from '../../event-store/event-store.js'
import { walkLog } from '../../queries/walk-log.js'
import { merchantIdOf, trackingIdOf } from './records.js'

export interface ActionsQuery {
  /** An actor as recorded in the log, or a prefix that ends with a colon (`user:`). */
  readonly actor?: string | undefined
  /** The type of the event. */
  readonly type?: string | undefined
  /** Inclusive recording time, ISO 8601. */
  readonly from?: string | undefined
  /** Exclusive recording time. */
  readonly to?: string | undefined
  readonly after?: Position | undefined
}

/** An event and the user or part of the service that caused it. */
export interface Action {
  readonly recordedAt: string
  readonly position: string
  readonly type: string
  readonly actor: string
  readonly stream: string
  readonly revision: number
  readonly correlationId: string
  readonly merchantId: string | null
  readonly trackingId: string | null
}

export interface ActionsPage {
  readonly items: readonly Action[]
  /** The `after` of the next page; `null` at the end of the log. */
  readonly next: Position | null
  /** The recording time of the last examined event. */
  readonly lookedUpTo: string | null
}

/**
 * Returns the actions that match the query, oldest first. A page ends after `limit` actions or `maxLookedAt` events, and the next page continues
 * there.
 * @throws StoreUnavailableError
 */
export async function actionsPage(
  store: Pick<EventStore, 'readAll' | 'readStream'>,
  query: ActionsQuery,
  { limit, maxLookedAt }: { readonly limit: number; readonly maxLookedAt: number },
): Promise<ActionsPage> {
  const items: Action[] = []
  let lookedAt = 0
  let lookedUpTo: string | null = null
  let next: Position | null = null
  for await (const { events, at } of walkLog(store, { after: query.after })) {
    for (const recorded of events) {
      if (items.length === limit || lookedAt === maxLookedAt) return { items, next, lookedUpTo }
      if (matches(recorded, query)) items.push(await actionOf(store, recorded))
      lookedAt++
      lookedUpTo = new Date(recorded.recordedAtMs).toISOString()
      next = recorded.position
    }
    next = at ?? next
  }
  return { items, next: null, lookedUpTo }
}

function matches({ type, metadata, recordedAtMs }: RecordedEvent, query: ActionsQuery): boolean {
  const { actor = '' } = metadata as Partial<EventMetadata>
  if (query.type !== undefined && type !== query.type) return false
  if (query.actor !== undefined && !isActor(actor, query.actor)) return false
  if (query.from !== undefined && recordedAtMs < Date.parse(query.from)) return false
  return query.to === undefined || recordedAtMs < Date.parse(query.to)
}

function isActor(actor: string, asked: string): boolean {
  return asked.endsWith(':') ? actor.startsWith(asked) : actor === asked
}

async function actionOf(store: Pick<EventStore, 'readStream'>, recorded: RecordedEvent): Promise<Action> {
  const { type, stream, revision, position, recordedAtMs, metadata } = recorded
  const { actor = '', $correlationId: correlationId = '' } = metadata as Partial<EventMetadata>
  return {
    ...{ recordedAt: new Date(recordedAtMs).toISOString(), position: formatPosition(position) },
    ...{ type: shownType(type), actor, stream, revision, correlationId },
    ...{ merchantId: await merchantIdOf(store, recorded), trackingId: trackingIdOf(recorded) },
  }
}
