import { endpointStream, streamKind, streamPrefix, streamPrefixes, transferStream } from '../../domain/streams.js'
import { type EventMetadata, shownType } from '../../event-store/event-codec.js'
import {
  type EventStore,
  formatPosition,
  logPages,
  type Position,
  type RecordedEvent,
} from '../../event-store/event-store.js'
import { unreadableReason } from '../../event-store/read-event.js'
import { redactedFields } from '../integrity/event-leaf.js'

/** An event for auditors: as it is stored, except for secrets. */
export type AuditRecord = ReturnType<typeof auditRecord>

/**
 * Secrets, even if they are sealed, digests against which a secret can be tried, and ids of devices and logins. Auditors do not need them,
 * and exported files are passed on. A test compares this list with the schemas of all events.
 */
export const withheldFields: ReadonlySet<string> = new Set([
  ...redactedFields,
  ...['sealed', 'accountMac', 'customerMac', 'challengeId', 'device', 'codeCounter'],
])

export function auditRecord(recorded: RecordedEvent) {
  const { stream, revision, id, metadata, isSkipped } = recorded
  const { $causationId: causationId = '' } = metadata as Partial<EventMetadata>
  const { actor, correlationId, ...shown } = shownFields(recorded)
  const unreadable = unreadableReason(recorded)
  const shownData = Object.entries(recorded.data).filter(([name]) => !withheldFields.has(name))
  return {
    position: shown.position,
    recordedAt: shown.recordedAt,
    stream,
    revision,
    id,
    type: shown.type,
    actor,
    correlationId,
    causationId,
    schemaVersion: Number(metadata.schemaVersion ?? 0),
    /** `null` if the event is unreadable, because it can contain anything. */
    data: unreadable === undefined ? Object.fromEntries(shownData) : null,
    ...(unreadable !== undefined && { unreadable }),
    /** Whether an operator decided to skip the event. */
    ...(isSkipped && { skipped: true }),
  }
}

/** The position is printed by `formatPosition`, and the time is that of the log's clock. */
function shownFields({ position, recordedAtMs, type, metadata }: RecordedEvent) {
  const { actor = '', $correlationId: correlationId = '' } = metadata as Partial<EventMetadata>
  const recordedAt = new Date(recordedAtMs).toISOString()
  return { position: formatPosition(position), recordedAt, type: shownType(type), actor, correlationId }
}

/** Returns the transfer of an event, or `null`. */
export function trackingIdOf({ stream, data }: Pick<RecordedEvent, 'stream' | 'data'>): string | null {
  if (typeof data.trackingId === 'string') return data.trackingId
  const kind = streamKind(stream)
  const isOfTransfer = kind === streamPrefix.transfer || kind === streamPrefix.payment || kind === streamPrefix.callback
  return isOfTransfer ? stream.slice(kind.length) : null
}

/** Returns the merchant of an event, or `null`. Events of wallet accounts do not contain a merchant. */
export async function merchantIdOf(
  store: Pick<EventStore, 'readStream'>,
  recorded: Pick<RecordedEvent, 'stream' | 'data'>,
): Promise<string | null> {
  const { stream, data } = recorded
  if (typeof data.merchantId === 'string') return data.merchantId
  if (streamKind(stream) === streamPrefix.merchant) return stream.slice(streamPrefix.merchant.length)
  if (stream.startsWith(endpointStream(''))) return stream.slice(endpointStream('').length)
  const trackingId = trackingIdOf(recorded)
  if (trackingId === null) return null
  const [created] = await store.readStream(transferStream(trackingId), { maxCount: 1 })
  return typeof created?.data.merchantId === 'string' ? created.data.merchantId : null
}

interface ActionsQuery {
  /** An actor as recorded in the log, or a prefix that ends with a colon (`user:`). */
  readonly actor?: string | undefined
  readonly type?: string | undefined
  /** Inclusive recording time, ISO 8601. */
  readonly from?: string | undefined
  /** Exclusive recording time. */
  readonly to?: string | undefined
  readonly after?: Position | undefined
  readonly limit: number
  readonly maxLookedAt: number
}

/** An event and the user or part of the service that caused it. */
type ActorAction = Awaited<ReturnType<typeof actionOf>>

/**
 * Returns the actions that match the query, oldest first. A page ends after `limit` actions or `maxLookedAt` events. `next` is the `after`
 * of the next page, or `null` at the end of the log, and `lookedUpTo` the recording time of the last examined event.
 * @throws StoreUnavailableError
 */
export async function actionsPage(
  { store }: { readonly store: Pick<EventStore, 'readAll' | 'readStream'> },
  query: ActionsQuery,
) {
  const { limit, maxLookedAt } = query
  const items: ActorAction[] = []
  let lookedAt = 0
  let lookedUpTo: string | null = null
  let next: Position | null = null
  for await (const { events, through } of logPages(store, { after: query.after, streamPrefixes })) {
    for (const recorded of events) {
      if (items.length === limit || lookedAt === maxLookedAt) return { items, next, lookedUpTo }
      if (matches(recorded, query)) items.push(await actionOf(store, recorded))
      lookedAt++
      lookedUpTo = new Date(recorded.recordedAtMs).toISOString()
      next = recorded.position
    }
    next = through ?? next
  }
  return { items, next: null, lookedUpTo }
}

function matches({ type, metadata, recordedAtMs }: RecordedEvent, query: ActionsQuery): boolean {
  const { actor = '' } = metadata as Partial<EventMetadata>
  if (query.type !== undefined && type !== query.type) return false
  const { actor: wanted = actor } = query
  if (wanted.endsWith(':') ? !actor.startsWith(wanted) : actor !== wanted) return false
  if (query.from !== undefined && recordedAtMs < Date.parse(query.from)) return false
  return query.to === undefined || recordedAtMs < Date.parse(query.to)
}

async function actionOf(store: Pick<EventStore, 'readStream'>, recorded: RecordedEvent) {
  const { stream, revision } = recorded
  const { recordedAt, position, type, actor, correlationId } = shownFields(recorded)
  const merchantId = await merchantIdOf(store, recorded)
  return {
    recordedAt,
    position,
    type,
    actor,
    stream,
    revision,
    correlationId,
    merchantId,
    trackingId: trackingIdOf(recorded),
  }
}
