import { type Static, type TObject, type TProperties, type TSchema, Type } from '../kernel/typebox.js'
import { erasedText } from './erased-data.js'
import { Index, StreamName } from './fields.js'

/** The vocabulary of event schemas, from which the types derive. Event types and their fields only ever grow (docs/reference/events.md). */

export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
export const OneOf = <Name extends string>(...names: readonly Name[]) =>
  Type.Union(names.map((name) => Type.Literal(name)))

/**
 * Marks a field about who or where a customer is. It is stored as ciphertext under the customer's key (src/privacy/sealing-store.ts).
 * `erased`: the value that replaces any value except null after the customer was erased.
 */
export const Personal = <Schema extends TSchema>(schema: Schema, erased: unknown = erasedText): Schema => ({
  ...schema,
  personal: { erased },
})
/** States that a field does not identify a customer, where the declaration must decide it. */
export const NotPersonal = <Schema extends TSchema>(schema: Schema): Schema => ({ ...schema, personal: false })
export const Data = <Properties extends TProperties>(properties: Properties): TObject<Properties> =>
  Type.Object(properties, { additionalProperties: false })

/**
 * A field that a later version of an event added. It is absent from events of earlier versions, which did not record it, and null if it has
 * no value.
 */
export const Since = <Schema extends TSchema>(version: number, schema: Schema) =>
  Type.Optional({ ...Nullable(schema), since: version })

type StoredData = { readonly [field: string]: unknown }

/** A version of an event that is no longer written. */
export interface OlderVersion {
  readonly schema: TObject
  /** Turns the data of this version into the next one's. It is pure, because it runs on every read. */
  readonly upcast: (data: StoredData) => StoredData
}

/** An event that has changed: its earlier versions, oldest first, and its newest one. Versions are numbered from 1. */
export const Versions = <Newest extends TObject>(older: readonly OlderVersion[], newest: Newest): Newest => ({
  ...newest,
  older,
})

/** Returns the version of an event before a version that only added fields ({@link Since}). */
export function versionBefore(version: number, properties: TProperties): OlderVersion {
  const earlier = Object.entries(properties).filter(([, { since = 1 }]) => since < version)
  return { schema: Data(Object.fromEntries(earlier)), upcast: (data) => data }
}

/** Returns the earlier versions of an event, oldest first. */
export function olderVersionsOf(newest: TObject): readonly OlderVersion[] {
  return newest.older ?? []
}

/** An event's location, which survives a move of the log to another engine. */
export const Location = Data({ stream: StreamName, revision: Index })

/** The value that a schema describes, deeply read-only. */
export type ValueOf<Schema extends TSchema> = Immutable<Static<Schema>>
type Immutable<Value> = Value extends object ? { readonly [Name in keyof Value]: Immutable<Value[Name]> } : Value
export type EventsOf<Schemas> = Schemas extends { readonly [type: string]: TSchema }
  ? { [Type in keyof Schemas & string]: { readonly type: Type; readonly data: ValueOf<Schemas[Type]> } }[keyof Schemas &
      string]
  : never

export type DataOf<Event extends { readonly type: string }, Type extends Event['type']> = Extract<
  Event,
  { readonly type: Type; readonly data: unknown }
>['data']
