import { randomUUID } from 'node:crypto'
import { auditTreeEvents } from '../domain/audit-tree.js'
import { bankAccountEvents } from '../domain/bank/bank-account.js'
import { bankEntryEvents } from '../domain/bank/bank-entries.js'
import { callbackEvents, endpointEvents } from '../domain/callback.js'
import { payoutEvents } from '../domain/counted-payouts.js'
import { evidenceEvents } from '../domain/disclosure.js'
import { type DataOf, type EventsOf, olderVersionsOf } from '../domain/event.js'
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
import { type TObject, type TProperties, type TSchema, type TypeCheck, TypeCompiler } from '../kernel/typebox.js'
import { damagedType, type JsonObject, type NewEvent, type RecordedEvent } from './event-store.js'

/** The schemas of all events in their newest version, by the prefix of the streams that hold them. Each has its earlier versions. */
const schemasByStream = {
  [streamPrefix.transfer]: transferEvents,
  [streamPrefix.merchant]: merchantEvents,
  [streamPrefix.payouts]: payoutEvents,
  [streamPrefix.bankEntries]: bankEntryEvents,
  [streamPrefix.bankAccount]: bankAccountEvents,
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
  [streamPrefix.evidence]: evidenceEvents,
} as const satisfies { readonly [prefix in StreamPrefix]: { readonly [type: string]: TObject } }

export const eventSchemas: { readonly [type: string]: TObject } = Object.assign({}, ...Object.values(schemasByStream))

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

/** Returns the schemas of all versions of an event, oldest first. @throws Error if a field was added without a version */
export function schemasOf(type: string, newest: TObject): readonly TObject[] {
  const schemas = [...olderVersionsOf(newest).map(({ schema }) => schema), newest]
  const late = Object.entries(newest.properties).find(([, { since = 1 }]) => since > schemas.length)
  if (late) throw new Error(`${type} has no version ${late[1].since}, in which ${late[0]} was added`)
  return schemas
}

/** Creates the versions of all events from their newest schemas. */
export function eventVersions(newest: { readonly [type: string]: TObject }) {
  const types = new Map(
    Object.entries(newest).map(([type, schema]) => {
      const steps = olderVersionsOf(schema)
      return [type, { steps, amounts: amountsIn(schema), checks: schemasOf(type, schema).map(compiledWhenUsed) }]
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
    /** Returns data in the stored form of the newest version, and its number. @throws EventFormatError */
    encode(type: string, data: JsonObject) {
      const { amounts = [], checks = [] } = types.get(type) ?? {}
      const stored = withAmounts(data, amounts, (value) => (typeof value === 'bigint' ? value.toString() : value))
      check(type, checks.length, stored)
      return { data: stored, schemaVersion: checks.length }
    },
    /** Returns stored data in the newest version, with amounts as bigint. @throws EventFormatError */
    decode(type: string, version: unknown, data: JsonObject): JsonObject {
      const known = types.get(type)
      if (!known || typeof version !== 'number' || !known.checks[version - 1]) {
        const shown = typeof version === 'number' ? version : typeof version
        throw new EventFormatError(`unknown event ${shownType(type)} version ${shown}`)
      }
      check(type, version, data)
      const upcast = known.steps.slice(version - 1).reduce((stored, step) => step.upcast(stored), data)
      // Otherwise states and read models would be built from a mistake of an upcaster.
      if (version !== known.checks.length) check(type, known.checks.length, upcast)
      return withAmounts(upcast, known.amounts, (value) => (typeof value === 'string' ? BigInt(value) : value))
    },
  }
}

/** The fields that are amounts, and the fields with objects, or lists of objects, that contain amounts. */
type Amounts = readonly (readonly [field: string, amounts: Amounts | 'amount'])[]

function amountsIn({ properties }: TObject): Amounts {
  return Object.entries(properties).flatMap(([field, schema]): Amounts => {
    const [value] = (schema.anyOf as TSchema[] | undefined)?.filter(({ type }) => type !== 'null') ?? [schema]
    if (value?.isAmount) return [[field, 'amount']]
    const object = (value?.items as TSchema | undefined) ?? value
    const inner = object?.properties ? amountsIn(object as TObject) : []
    return inner.length === 0 ? [] : [[field, inner]]
  })
}

function withAmounts(data: JsonObject, amounts: Amounts, convert: (amount: unknown) => unknown): JsonObject {
  const converted: Record<string, unknown> = { ...data }
  for (const [field, inner] of amounts) {
    const value = data[field]
    if (value === undefined || value === null) continue
    if (inner === 'amount') converted[field] = convert(value)
    else if (Array.isArray(value)) converted[field] = value.map((each) => withAmounts(each, inner, convert))
    else converted[field] = withAmounts(value as JsonObject, inner, convert)
  }
  return converted
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
  readonly erased: unknown
}

/** The field of a stored event that holds one ciphertext instead of all personal fields with a value. */
export const sealedField = 'sealed'

const none: readonly PersonalField[] = []

const fieldsByType: ReadonlyMap<string, readonly (readonly PersonalField[])[]> = new Map(
  Object.entries(eventSchemas).flatMap(([type, newest]) => {
    const fields = schemasOf(type, newest).map(({ properties }) => personalFieldsIn(properties))
    return fields.some(({ length }) => length > 0) ? [[type, fields] as const] : []
  }),
)

/** The types whose events hold personal data. */
export const personalTypes: ReadonlySet<string> = new Set(fieldsByType.keys())

/** Returns the fields that a schema marks as personal, or none for an unknown version. */
export function personalFieldsOf(type: string, version: unknown): readonly PersonalField[] {
  return fieldsByType.get(type)?.[(version as number) - 1] ?? none
}

function personalFieldsIn(properties: TProperties): readonly PersonalField[] {
  return Object.entries(properties).flatMap(([name, { personal }]) => (personal ? [{ name, ...personal }] : []))
}

/** Returns the data of an event with those of its personal fields that it lacks in their erased form. */
export function withErasedFields({ type, data, metadata }: RecordedEvent): JsonObject {
  const missing = personalFieldsOf(type, metadata.schemaVersion).filter(({ name }) => !(name in data))
  return erasedData(data, missing)
}

/** Returns the data with the fields in their erased form. */
export function erasedData(data: JsonObject, fields: readonly PersonalField[]): JsonObject {
  return { ...data, ...Object.fromEntries(fields.map(({ name, erased }) => [name, erased])) }
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

const versions = eventVersions(eventSchemas)
const prefixOfType = new Map(
  Object.entries(schemasByStream).flatMap(([prefix, types]) => Object.keys(types).map((type) => [type, prefix])),
)

/** Returns the event in its stored form. @throws EventFormatError if it does not fit its schema */
export function encodeEvent(event: DomainEvent, metadata: EventMetadata, id: string = randomUUID()): NewEvent {
  const { data, schemaVersion } = versions.encode(event.type, event.data)
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
    const newest = versions.decode(type, metadata.schemaVersion, data)
    if (recorded.isForged) throw new EventFormatError(forged)
    return { type, data: newest } as DomainEvent
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
