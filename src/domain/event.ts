import { type Static, type TObject, type TProperties, type TSchema, Type } from '../kernel/typebox.js'
import { Index, StreamName } from './fields.js'

/** The vocabulary of event schemas, from which the types derive. Event types and their fields only ever grow (docs/reference/events.md). */

export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
export const OneOf = <Name extends string>(...names: readonly Name[]) =>
  Type.Union(names.map((name) => Type.Literal(name)))

/** Marks a field about who or where a customer is. It is stored as ciphertext under the customer's key (src/event-store/event-codec.ts). */
export const Personal = <Schema extends TSchema>(schema: Schema): Schema => ({ ...schema, personal: true })
export const Data = <Properties extends TProperties>(properties: Properties): TObject<Properties> =>
  Type.Object(properties, { additionalProperties: false })

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
