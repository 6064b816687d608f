import { endpointStream, streamKind, streamPrefix, transferStream } from '../../domain/streams.js'
import { type EventMetadata, shownType } from '../../event-store/event-codec.js'
import { type EventStore, formatPosition, type JsonObject, type RecordedEvent } from '../../event-store/event-store.js'
import { whyUnreadable } from '../../event-store/read-event.js'

/** An event as auditors are given it: as it is stored, but for what opens something. */
export interface AuditRecord {
  /** As `formatPosition` prints it. */
  readonly position: string
  /** By the log's clock. */
  readonly recordedAt: string
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly type: string
  readonly actor: string
  readonly correlationId: string
  readonly causationId: string
  readonly schemaVersion: number
  /** Null where the event cannot be read: it might hold anything. */
  readonly data: JsonObject | null
  /** Why it cannot be read. */
  readonly unreadable?: string
  /** A person decided that it counts as if it were not there. */
  readonly skipped?: true
}

/**
 * Secrets, though sealed, digests that a secret can be tried against, and what names a device or a log-in: an auditor has no use for them, and a
 * file goes from hand to hand. A test compares this with the schemas of all events.
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

/** The transfer that an event is about; null when it is about none. */
export function trackingIdOf({ stream, data }: Pick<RecordedEvent, 'stream' | 'data'>): string | null {
  if (typeof data.trackingId === 'string') return data.trackingId
  const kind = streamKind(stream)
  const isOfTransfer = kind === streamPrefix.transfer || kind === streamPrefix.payment || kind === streamPrefix.callback
  return isOfTransfer ? stream.slice(kind.length) : null
}

/** The merchant that an event is about; null when it is about none. A wallet's account does not say whose transfer it pays. */
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
