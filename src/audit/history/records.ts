import { endpointStream, streamKind, streamPrefix, transferStream } from '../../domain/streams.js'
import { type EventMetadata, shownType } from '../../event-store/event-codec.js'
import {
  type EventStore,
  formatPosition,
  type JsonObject,
  type Position,
  type RecordedEvent,
} from '../../event-store/event-store.js'
import { whyUnreadable } from '../../event-store/read-event.js'
import { walkLog } from '../../queries/walk-log.js'

/** An event for auditors: as it is stored, except for secrets. */
export interface AuditRecord {
  /** Printed by `formatPosition`. */
  readonly position: string
  /** By the clock of the log. */
  readonly recordedAt: string
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly type: string
  readonly actor: string
  readonly correlationId: string
  readonly causationId: string
  readonly schemaVersion: number
  /** `null` if the event is unreadable, because it can contain anything. */
  readonly data: JsonObject | null
  /** The reason why it is unreadable. */
  readonly unreadable?: string
  /** An operator decided to skip the event. */
  readonly skipped?: true
}

/**
 * Secrets, even if they are sealed, digests against which a secret can be tried, and ids of devices and logins. Auditors do not need them,
 * and exported files are passed on. A test compares this list with the schemas of all events.
 */
export const withheldFields: ReadonlySet<string> = new Set([
  ...['secretKey', 'secretKeys', 'webhookSecret', 'previousWebhookSecret', 'secret', 'email', 'phone'],
  ...['secondFactor', 'sealed'],
  ...['apiKeySha256', 'passwordHash', 'emailMac'],
  ...['challengeId', 'device', 'codeCounter'],
])

export function auditRecord(recorded: RecordedEvent): AuditRecord {
  const { stream, revision, position, recordedAtMs, id, type, data, metadata, isSkipped } = recorded
  const { actor = '', $correlationId = '', $causationId = '' } = metadata as Partial<EventMetadata>
  const unreadable = whyUnreadable(recorded)
  return {
    ...{ position: formatPosition(position), recordedAt: new Date(recordedAtMs).toISOString(), stream, revision, id },
    ...{ type: shownType(type), actor, correlationId: $correlationId, causationId: $causationId },
    schemaVersion: Number(metadata.schemaVersion ?? 0),
    data: unreadable === undefined ? withoutWithheld(data) : null,
    ...(unreadable !== undefined && { unreadable }),
    ...(isSkipped && { skipped: true }),
  }
}

function withoutWithheld(data: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([name]) => !withheldFields.has(name)))
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
