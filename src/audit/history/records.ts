import { endpointStream, streamKind, streamPrefix, transferStream } from '../../domain/streams.js'
import { type EventMetadata, shownType } from '../../event-store/event-codec.js'
import { type EventStore, formatPosition, type JsonObject, type RecordedEvent } from '../../event-store/event-store.js'
import { whyUnreadable } from '../../event-store/read-event.js'

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
