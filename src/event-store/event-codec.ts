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

/** The cause of an event. The ids have EventStoreDB's names. */
export type EventMetadata = {
  /** `merchant:<id>`, `user:<id>`, `customer`, `cli:<login>`, `system:<part>`. */
  readonly actor: string
  /** The id of the request or job, which all its events share. */
  readonly $correlationId: string
  /** The id of the event or request that directly caused the event. */
  readonly $causationId: string
}

const versions = eventVersions(eventSchemas, olderVersions)
const prefixOfType = new Map(
  Object.entries(schemasByStream).flatMap(([prefix, types]) => Object.keys(types).map((type) => [type, prefix])),
)

/** Returns the event in its stored form. @throws EventFormatError if it does not fit its schema */
export function encodeEvent(event: DomainEvent, metadata: EventMetadata, id: string = randomUUID()): NewEvent {
  const data = minorToText(event.data)
  const schemaVersion = versions.checkNewest(event.type, data)
  const { actor, $correlationId, $causationId } = metadata
  return { id, type: event.type, data, metadata: { actor, $correlationId, $causationId, schemaVersion } }
}

/** Why an event is unreadable if its personal data cannot be decrypted. */
export const noKey = 'the key of its personal data is missing or another'

/** A recorded event is unreadable: it has an unknown type or version, is damaged, is in the wrong stream, or does not fit the state. */
export class UnreadableEventError extends EventFormatError {
  override readonly name = 'UnreadableEventError'
  readonly stream: string
  readonly revision: number
  readonly type: string

  /** `reason`: a sentence without any of the event's data. */
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
 * Returns an event in its newest version, even if it is skipped. Readers that build states or lists use read-event.ts instead.
 * @throws UnreadableEventError
 */
export function decodeEvent(recorded: RecordedEvent): DomainEvent {
  const { type, data, metadata, stream } = recorded
  if (!belongs(type, stream)) throw new UnreadableEventError(recorded, `${type} does not belong in this stream`)
  // The store decrypts the fields if it has the key (privacy/sealing-store.ts).
  if (personalTypes.has(type) && sealedField in data) throw new UnreadableEventError(recorded, noKey)
  try {
    const newest = versions.upcast(type, metadata.schemaVersion, data)
    return { type, data: textToMinor(newest) } as DomainEvent
  } catch (error) {
    if (!(error instanceof EventFormatError)) throw error
    throw new UnreadableEventError(recorded, error.message)
  }
}

/** Returns whether an event of this type belongs to this stream. Streams of other programs can hold any event. */
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

/** Converts the fields named `…Minor`, at any depth of plain objects. */
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
