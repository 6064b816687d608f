import { randomUUID } from 'node:crypto'
import type { Static, TObject } from '@sinclair/typebox'
import { streamKind } from '../domain/streams.js'
import { type EventSchemas, type EventType, eventSchemas, schemasByStream } from './event-schemas.js'
import type { JsonObject, NewEvent, RecordedEvent } from './event-store.js'
import { EventFormatError, eventVersions, shownType } from './event-versions.js'
import { personalTypes, sealedField } from './personal-fields.js'

export { EventFormatError, shownType } from './event-versions.js'

/** Every event in the newest version of its schema. That the domain's own types say the same is checked by the compiler. */
export type DomainEvent = {
  readonly [type in EventType]: { readonly type: type; readonly data: Read<Newest<EventSchemas[type]>> }
}[EventType]

export type EventData<Type extends EventType> = Extract<DomainEvent, { readonly type: Type }>['data']

type Newest<Versions> = Versions extends readonly [...unknown[], infer Schema extends TObject] ? Static<Schema> : never

/** As the program has what is stored: amounts are bigint. */
type Read<Stored> = Stored extends readonly (infer Item)[]
  ? readonly Read<Item>[]
  : Stored extends object
    ? { readonly [name in keyof Stored]: name extends `${string}Minor` ? ReadMinor<Stored[name]> : Read<Stored[name]> }
    : Stored
type ReadMinor<Stored> = Stored extends string ? bigint : Stored

/** Who caused an event, and what it belongs to; EventStoreDB's own names for the ids. */
export type EventMetadata = {
  /** `merchant:<id>`, `user:<id>`, `customer`, `cli:<login>`, `system:<part>`. */
  readonly actor: string
  /** The request or job that everything it caused shares. */
  readonly $correlationId: string
  /** The event or request directly behind this one. */
  readonly $causationId: string
}

/** By type, oldest first: each leads from a version to the next. No event has a second version yet. */
const upcasters = {}
const versions = eventVersions(eventSchemas, upcasters)
const prefixOfType = new Map(
  Object.entries(schemasByStream).flatMap(([prefix, types]) => Object.keys(types).map((type) => [type, prefix])),
)

/** Makes an event ready to append. @throws EventFormatError when it does not fit its own schema. */
export function encodeEvent(event: DomainEvent, metadata: EventMetadata, id: string = randomUUID()): NewEvent {
  const data = minorToText(event.data)
  const schemaVersion = versions.newest(event.type, data)
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
