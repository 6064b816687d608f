import { randomUUID } from 'node:crypto'
import type { EndpointEvent } from '../domain/callback/endpoint.js'
import type { CallbackEvent, CallbackSweepAdvanced } from '../domain/callback/events.js'
import type { HashCodeSeen } from '../domain/hash-code.js'
import type { MerchantEvent } from '../domain/merchant/events.js'
import type { WalletCodeRefused } from '../domain/payment/code-cap.js'
import type { PaymentEvent } from '../domain/payment/events.js'
import type { LogInEvent } from '../domain/payment/log-in-lock.js'
import type { EventPassedOver } from '../domain/problem/passed-over.js'
import type { TransferEvent } from '../domain/transfer/events.js'
import type { WalletAccountEvent, WalletEmailReserved } from '../domain/wallet/events.js'
import { eventSchemas } from './event-schemas.js'
import type { JsonObject, NewEvent, RecordedEvent } from './event-store.js'
import { eventUpcasters } from './event-upcasters.js'
import { EventFormatError, eventVersions, shownType } from './event-versions.js'
import { belongs } from './stream-kinds.js'

export { EventFormatError, shownType } from './event-versions.js'

export type DomainEvent =
  | TransferEvent
  | MerchantEvent
  | CallbackEvent
  | CallbackSweepAdvanced
  | EndpointEvent
  | PaymentEvent
  | WalletCodeRefused
  | LogInEvent
  | HashCodeSeen
  | WalletAccountEvent
  | WalletEmailReserved
  | EventPassedOver

/** Who caused an event, and what it belongs to; EventStoreDB's own names for the ids. */
export interface EventMetadata {
  /** `merchant:<id>`, `customer`, `cli:<login>`, `system:<part>`. */
  readonly actor: string
  /** The request or job that everything it caused shares. */
  readonly $correlationId: string
  /** The event or request directly behind this one. */
  readonly $causationId: string
}

const versions = eventVersions(eventSchemas, eventUpcasters)

/** Makes an event ready to append. @throws EventFormatError when it does not fit its own schema. */
export function encodeEvent(event: DomainEvent, metadata: EventMetadata, id: string = randomUUID()): NewEvent {
  const data = minorToText(event.data)
  const schemaVersion = versions.newest(event.type, data)
  const { actor, $correlationId, $causationId } = metadata
  return { id, type: event.type, data, metadata: { actor, $correlationId, $causationId, schemaVersion } }
}

/** A recorded event that cannot be read: of an unknown type or version, damaged, in the wrong stream, or not what its stream was about. */
export class UnreadableEventError extends EventFormatError {
  override readonly name = 'UnreadableEventError'
  readonly stream: string
  readonly revision: number
  readonly type: string

  /** `reason`: a sentence that tells nothing of the event's data. */
  constructor(
    { stream, revision, type }: Pick<RecordedEvent, 'stream' | 'revision' | 'type'>,
    readonly reason: string,
  ) {
    super(`${stream}@${revision}: ${reason}`)
    this.stream = stream
    this.revision = revision
    this.type = shownType(type)
  }
}

/**
 * The event in today's shape, whatever version was stored and whether or not it is passed over: who folds or lists events goes
 * through read-event.ts. @throws UnreadableEventError
 */
export function decodeEvent(recorded: RecordedEvent): DomainEvent {
  const { type, data, metadata, stream } = recorded
  if (!belongs(type, stream)) throw new UnreadableEventError(recorded, `${type} does not belong into this stream`)
  try {
    const newest = versions.upcast(type, metadata.schemaVersion, data)
    return { type, data: textToMinor(newest) } as unknown as DomainEvent
  } catch (error) {
    if (!(error instanceof EventFormatError)) throw error
    throw new UnreadableEventError(recorded, error.message)
  }
}

function minorToText(data: object): JsonObject {
  return mapMinor(data, (value) => (typeof value === 'bigint' ? value.toString() : value))
}

function textToMinor(data: object): JsonObject {
  return mapMinor(data, (value) => (typeof value === 'string' ? BigInt(value) : value))
}

/** Fields named `…Minor`, at any depth of plain objects. */
function mapMinor(data: object, convert: (value: unknown) => unknown): JsonObject {
  const out: Record<string, unknown> = {}
  for (const name in data) {
    const value = (data as Record<string, unknown>)[name]
    if (name.endsWith('Minor')) out[name] = convert(value)
    else
      out[name] =
        value !== null && typeof value === 'object' && !Array.isArray(value) ? mapMinor(value, convert) : value
  }
  return out
}
