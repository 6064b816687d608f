import { randomUUID } from 'node:crypto'
import { auditTreeEvents } from '../domain/audit-tree.js'
import { callbackEvents, endpointEvents } from '../domain/callback.js'
import { erasedAccountNumber, erasedText } from '../domain/erased-data.js'
import type { DataOf, EventsOf } from '../domain/event.js'
import { integrityEvents } from '../domain/integrity.js'
import { merchantEvents } from '../domain/merchant/merchant-events.js'
import { codeCapEvents, paymentEvents, walletLoginEvents } from '../domain/payment.js'
import {
  currencyEvents,
  directoryEvents,
  hashEvents,
  masterKeyEvents,
  privacyEvents,
  problemEvents,
  sweepEvents,
} from '../domain/service-events.js'
import { type StreamPrefix, streamKind, streamPrefix } from '../domain/streams.js'
import { transferEvents } from '../domain/transfer/transfer-events.js'
import { signInEvents, userEmailEvents, userEvents } from '../domain/user/user.js'
import { walletAccountEvents, walletEmailEvents } from '../domain/wallet-account.js'
import { type TObject, type TypeCheck, TypeCompiler } from '../kernel/typebox.js'
import { damagedType, type JsonObject, type NewEvent, type RecordedEvent } from './event-store.js'

/** The schemas of all events in their newest version, by the prefix of the streams that hold them. */
const schemasByStream = {
  [streamPrefix.transfer]: transferEvents,
  [streamPrefix.merchant]: merchantEvents,
  [streamPrefix.callback]: callbackEvents,
  [streamPrefix.callbacks]: { ...sweepEvents, ...endpointEvents },
  [streamPrefix.payment]: paymentEvents,
  [streamPrefix.walletCodes]: codeCapEvents,
  [streamPrefix.walletLogIns]: walletLoginEvents,
  [streamPrefix.hash]: hashEvents,
  [streamPrefix.wallet]: walletAccountEvents,
  [streamPrefix.walletEmail]: walletEmailEvents,
  [streamPrefix.user]: userEvents,
  [streamPrefix.userEmail]: userEmailEvents,
  [streamPrefix.userSignIns]: signInEvents,
  [streamPrefix.privacy]: privacyEvents,
  [streamPrefix.problems]: problemEvents,
  [streamPrefix.masterKeys]: masterKeyEvents,
  [streamPrefix.integrity]: integrityEvents,
  [streamPrefix.directory]: directoryEvents,
  [streamPrefix.installation]: currencyEvents,
  [streamPrefix.audit]: auditTreeEvents,
} as const satisfies { readonly [prefix in StreamPrefix]: { readonly [type: string]: TObject } }

export const eventSchemas: { readonly [type: string]: TObject } = Object.assign({}, ...Object.values(schemasByStream))

/** A version of an event that is no longer written. */
export interface OlderVersion {
  readonly schema: TObject
  /** Turns the data of this version into the next one's. It is pure, because it runs on every read. */
  readonly upcast: (data: JsonObject) => JsonObject
}

/**
 * The earlier versions of each event type, oldest first. To change a released event, move its schema here with an upcaster to the next
 * version, and add the golden JSON of the new version to test/fixtures/events.
 */
export const olderVersions: { readonly [type: string]: readonly OlderVersion[] } = {}

/** Every event in its newest version. */
export type DomainEvent = EventsOf<(typeof schemasByStream)[StreamPrefix]>

/** The stored data of an event does not have the expected format: it is damaged, or a newer program wrote it. */
export class EventFormatError extends Error {
  override readonly name: string = 'EventFormatError'
}

const plainPath = /^(\/[A-Za-z0-9]{1,64}){1,8}$/
const maxShownType = 64

/** Returns the event type for a message. Its writer chose it, so it must neither fill a page nor move the cursor of a terminal. */
export function shownType(type: string): string {
  return type.slice(0, maxShownType).replaceAll(/[^\w$.-]/g, '?')
}

/** Creates the versions of all events from their newest schemas and their older versions, oldest first. Version numbers start at 1. */
export function eventVersions(
  newest: { readonly [type: string]: TObject },
  older: { readonly [type: string]: readonly OlderVersion[] },
) {
  const types = new Map(
    Object.entries(newest).map(([type, schema]) => {
      const steps = older[type] ?? []
      return [type, { steps, checks: [...steps.map((each) => each.schema), schema].map(compiledWhenUsed) }]
    }),
  )

  function check(type: string, version: number, data: unknown): void {
    const schema = types.get(type)?.checks[version - 1]?.()
    if (schema?.Check(data)) return
    // Only the path: a value may be a customer's, and so may the name of an unknown field.
    const path = schema?.Errors(data).First()?.path || '/'
    const shown = plainPath.test(path) ? path : '/'
    throw new EventFormatError(`${shownType(type)} version ${version} does not fit its schema at ${shown}`)
  }

  return {
    /** Checks data that is about to be stored against the newest version, and returns its number. @throws EventFormatError */
    checkNewest(type: string, data: unknown): number {
      const version = types.get(type)?.checks.length ?? 0
      check(type, version, data)
      return version
    },
    /** Returns stored data in the newest version. @throws EventFormatError */
    upcast(type: string, version: unknown, data: JsonObject): JsonObject {
      const known = types.get(type)
      if (!known || typeof version !== 'number' || !known.checks[version - 1]) {
        const shown = typeof version === 'number' ? version : typeof version
        throw new EventFormatError(`unknown event ${shownType(type)} version ${shown}`)
      }
      check(type, version, data)
      if (version === known.checks.length) return data
      const upcast = known.steps.slice(version - 1).reduce((stored, step) => step.upcast(stored), data)
      // Otherwise states and read models would be built from a mistake of an upcaster.
      check(type, known.checks.length, upcast)
      return upcast
    },
  }
}

/** Compiles a schema when it is first used: a command of the CLI reads a few types only, and compiling all of them takes long. */
function compiledWhenUsed(schema: TObject): () => TypeCheck<TObject> {
  let compiled: TypeCheck<TObject> | undefined
  return () => {
    compiled ??= TypeCompiler.Compile(schema)
    return compiled
  }
}

export interface PersonalField {
  readonly name: string
  /** The value that replaces the field after the customer was erased. */
  readonly erased: string | number
}

/** The field of a stored event that holds one ciphertext instead of all personal fields with a value. */
export const sealedField = 'sealed'

const none: readonly PersonalField[] = []

const fieldsByType: ReadonlyMap<string, readonly (readonly PersonalField[])[]> = new Map(
  Object.entries(eventSchemas).flatMap(([type, newest]) => {
    const versions = [...(olderVersions[type] ?? []).map(({ schema }) => schema), newest]
    const fields = versions.map(({ properties }) => personalFieldsIn(properties))
    return fields.some(({ length }) => length > 0) ? [[type, fields] as const] : []
  }),
)

/** The types whose events hold personal data. */
export const personalTypes: ReadonlySet<string> = new Set(fieldsByType.keys())

/** Returns the fields that a schema marks as personal, or none for an unknown version. */
export function personalFieldsOf(type: string, version: unknown): readonly PersonalField[] {
  return fieldsByType.get(type)?.[(version as number) - 1] ?? none
}

function personalFieldsIn(properties: object): readonly PersonalField[] {
  return Object.entries(properties)
    .filter(([, schema]) => schema.personal === true)
    .map(([name, schema]) => ({ name, erased: schema.type === 'integer' ? erasedAccountNumber : erasedText }))
}

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
  const data = mapMinor(event.data, (value) => (typeof value === 'bigint' ? value.toString() : value))
  const schemaVersion = versions.checkNewest(event.type, data)
  const { actor, $correlationId, $causationId } = metadata
  return { id, type: event.type, data, metadata: { actor, $correlationId, $causationId, schemaVersion } }
}

/** Why an event is unreadable if its personal data cannot be decrypted. */
export const noKey = 'the key of its personal data is missing or wrong'

/** Why an event is unreadable if the store found no event in its place. */
const damaged = 'its stored bytes are damaged'

/** Why an event is unreadable if its code is missing or wrong. */
export const forged = 'it has no valid authentication code, so the service did not write it in this place'

/** A recorded event is unreadable: it has an unknown type or version, is damaged or forged, is in the wrong stream, or does not fit the state. */
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

/** Returns an event in its newest version, even if it is skipped. States and lists use read-event.ts instead. @throws UnreadableEventError */
export function decodeEvent(recorded: RecordedEvent): DomainEvent {
  const { type, data, metadata, stream } = recorded
  if (type === damagedType) throw new UnreadableEventError(recorded, damaged)
  if (!belongs(type, stream)) throw new UnreadableEventError(recorded, `${type} does not belong in this stream`)
  // The store decrypts the fields if it has the key (privacy/sealing-store.ts).
  if (personalTypes.has(type) && sealedField in data) throw new UnreadableEventError(recorded, noKey)
  try {
    const newest = versions.upcast(type, metadata.schemaVersion, data)
    const minorAsNumbers = mapMinor(newest, (value) => (typeof value === 'string' ? BigInt(value) : value))
    if (recorded.isForged) throw new EventFormatError(forged)
    return { type, data: minorAsNumbers } as DomainEvent
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

/** Converts the fields named `…Minor`, at any depth of plain objects. */
function mapMinor(data: object, convert: (value: unknown) => unknown): JsonObject {
  const out: Record<string, unknown> = {}
  for (const name in data) {
    const value = (data as Record<string, unknown>)[name]
    const isPlain = value !== null && typeof value === 'object' && !Array.isArray(value)
    if (name.endsWith('Minor')) out[name] = convert(value)
    else out[name] = isPlain ? mapMinor(value, convert) : value
  }
  return out
}
