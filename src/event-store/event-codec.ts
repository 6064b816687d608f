import { randomUUID } from 'node:crypto'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { CallbackEvent } from '../domain/callback/events.js'
import type { HashCodeSeen } from '../domain/hash-code.js'
import type { MerchantEvent } from '../domain/merchant/events.js'
import type { TransferEvent } from '../domain/transfer/events.js'
import { type EventType, eventSchemas } from './event-schemas.js'
import type { JsonObject, NewEvent, RecordedEvent } from './event-store.js'

export type DomainEvent = TransferEvent | MerchantEvent | CallbackEvent | HashCodeSeen

/** Who caused an event, and what it belongs to; EventStoreDB's own names for the ids. */
export interface EventMetadata {
  /** `merchant:<id>`, `cli:<login>`, `system:<part>`. */
  readonly actor: string
  /** The request or job that everything it caused shares. */
  readonly $correlationId: string
  /** The event or request directly behind this one. */
  readonly $causationId: string
}

/** An event that does not have the stored format: damage, or a version newer than this program. */
export class EventFormatError extends Error {
  override readonly name = 'EventFormatError'
}

type Upcaster = (data: JsonObject) => JsonObject

/** `upcasters[type][n]` turns version n + 1 into n + 2. Every event is at version 1 today. */
const upcasters: { readonly [type in EventType]?: readonly Upcaster[] } = {}

const checks = new Map(
  Object.entries(eventSchemas).map(([type, versions]) => [
    type,
    versions.map((schema) => TypeCompiler.Compile(schema)),
  ]),
)

/** Makes an event ready to append. @throws EventFormatError when it does not fit its own schema. */
export function encodeEvent(event: DomainEvent, metadata: EventMetadata, id: string = randomUUID()): NewEvent {
  const data = minorToText(event.data)
  const version = eventSchemas[event.type].length
  check(event.type, version, data)
  return { id, type: event.type, data, metadata: { ...metadata, schemaVersion: version } }
}

/** The event in today's shape, whatever version was stored. @throws EventFormatError */
export function decodeEvent(recorded: RecordedEvent): DomainEvent {
  const stored = recorded.metadata.schemaVersion
  const versions = checks.get(recorded.type)
  if (!versions || typeof stored !== 'number' || !versions[stored - 1]) {
    throw new EventFormatError(
      `${recorded.stream}@${recorded.revision}: unknown event ${recorded.type} version ${stored}`,
    )
  }
  check(recorded.type, stored, recorded.data, recorded)
  let data = recorded.data
  for (const upcast of upcasters[recorded.type as EventType]?.slice(stored - 1) ?? []) data = upcast(data)
  return { type: recorded.type, data: textToMinor(data) } as unknown as DomainEvent
}

function check(type: string, version: number, data: unknown, recorded?: RecordedEvent): void {
  const schema = checks.get(type)?.[version - 1]
  if (schema?.Check(data)) return
  const problem = schema?.Errors(data).First()
  const where = recorded ? `${recorded.stream}@${recorded.revision}: ` : ''
  // The path only: a value could be a customer's.
  throw new EventFormatError(`${where}${type} version ${version} does not fit its schema at ${problem?.path ?? '/'}`)
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
