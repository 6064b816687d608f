import { randomUUID } from 'node:crypto'
import type { DataOf } from '../domain/event.js'
import { streamKind } from '../domain/streams.js'
import { type DomainEvent, eventSchemas, olderVersions, schemasByStream } from './event-schemas.js'
import type { JsonObject, NewEvent, RecordedEvent } from './event-store.js'
import { EventFormatError, eventVersions, shownType } from './event-versions.js'
import { personalTypes, sealedField } from './personal-fields.js'

export type { DomainEvent } from './event-schemas.js'
export { EventFormatError, shownType } from './event-versions.js'

export type EventData<Type extends DomainEvent['type']> = DataOf<DomainEvent, Type>

/** Who caused an event, and what it belongs to; EventStoreDB's own names for the ids. */
export type EventMetadata = {
  /** `merchant:<id>`, `user:<id>`, `customer`, `cli:<login>`, `system:<part>`. */
  readonly actor: string
  /** The request or job that everything it caused shares. */
  readonly $correlationId: string
  /** The event or request directly behind this one. */
  readonly $causationId: string
}

const versions = eventVersions(eventSchemas, olderVersions)
const prefixOfType = new Map(
  Object.entries(schemasByStream).flatMap(([prefix, types]) => Object.keys(types).map((type) => [type, prefix])),
)

/** Makes an event ready to append. @throws EventFormatError when it does not fit its own schema. */
export function encodeEvent(event: DomainEvent, metadata: EventMetadata, id: string = randomUUID()): NewEvent {
  const data = minorToText(event.data)
  const schemaVersion = versions.checkNewest(event.type, data)
  const { actor, $correlationId, $causationId } = metadata
  return { id, type: event.type, data, metadata: { actor, $correlationId, $causationId, schemaVersion } }
}

/** Why an event cannot be read whose personal data nothing opens. */
export const noKey = 'the key of its personal data is missing or another'

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
 * The event in today's shape, whatever version was stored and whether or not it is skipped: who folds or lists events goes
 * through read-event.ts. @throws UnreadableEventError
 */
export function decodeEvent(recorded: RecordedEvent): DomainEvent {
  const { type, data, metadata, stream } = recorded
  if (!belongs(type, stream)) throw new UnreadableEventError(recorded, `${type} does not belong into this stream`)
  // Whoever could open it did (privacy/sealing-store.ts).
  if (personalTypes.has(type) && sealedField in data) throw new UnreadableEventError(recorded, noKey)
  try {
    const newest = versions.upcast(type, metadata.schemaVersion, data)
    return { type, data: textToMinor(newest) } as DomainEvent
  } catch (error) {
    if (!(error instanceof EventFormatError)) throw error
    throw new UnreadableEventError(recorded, error.message)
  }
}

/** Whether an event of this type may stand in this stream. Anything may in one that is none of the service's. */
export function belongs(type: string, stream: string): boolean {
  const [kind, prefix] = [streamKind(stream), prefixOfType.get(type)]
  return kind === undefined || prefix === undefined || prefix === kind
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
