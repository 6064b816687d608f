import { type Static, type TObject, type TProperties, type TSchema, Type } from '../kernel/typebox.js'

/**
 * The vocabulary of event schemas. Each event's data is declared once, as a schema: the type of the data derives from it, and the codec
 * checks stored data against it. Event types and their fields only ever grow (docs/reference/events.md).
 */

/**
 * An amount in minor units, which is a bigint in the domain. JSON has no 64-bit integers, so it is stored as decimal digits: the codec
 * converts every field whose name ends in `Minor`.
 */
export const Minor = Type.Unsafe<bigint>(Type.String({ pattern: '^(0|[1-9]\\d{0,14})$' }))
/** An amount above 0: the last guard against a transfer of nothing. */
export const PositiveMinor = Type.Unsafe<bigint>(Type.String({ pattern: '^[1-9]\\d{0,14}$' }))
export const Id = Type.String({ minLength: 1, maxLength: 64 })
export const Text = Type.String({ maxLength: 2048 })
/** The actor of the metadata, such as `user:<id>`. */
export const Actor = Type.String({ minLength: 1, maxLength: 256 })
/** A time in exactly the form of `Date.toISOString`, because expiry and rotation compare times as text. */
export const Time = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' })
/** An integer from 1. */
export const Count = Type.Integer({ minimum: 1 })
/** An integer from 0. */
export const Index = Type.Integer({ minimum: 0 })
/** A secret in an AES-256-GCM envelope: `v1.<key id>.<iv>.<ciphertext>.<tag>`, base64url. */
export const Sealed = Type.String({ pattern: '^v1\\.' })
export const StreamName = Type.String({ minLength: 1, maxLength: 2048 })
/** The number of a wallet account. */
export const AccountNumber = Type.Integer({ minimum: 1, maximum: 999_999_999_999 })
/** argon2id over a keyed digest, which is worthless without the key. The key is not in the log. */
export const PasswordHash = Type.String({ pattern: '^\\$argon2id\\$' })

export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
export const OneOf = <Name extends string>(...names: readonly Name[]) =>
  Type.Union(names.map((name) => Type.Literal(name)))

/**
 * Marks a field that tells who a customer is or where the customer is paid. It is stored as ciphertext under the customer's own key
 * (src/event-store/event-codec.ts).
 */
export const Personal = <Schema extends TSchema>(schema: Schema): Schema => ({ ...schema, personal: true })

/** An object without any other fields. */
export const Data = <Properties extends TProperties>(properties: Properties): TObject<Properties> =>
  Type.Object(properties, { additionalProperties: false })

/** An event's location, which survives a move of the log to another engine. */
export const Location = Data({ stream: StreamName, revision: Index })

/** The value that a schema describes, deeply read-only. */
export type ValueOf<Schema extends TSchema> = Immutable<Static<Schema>>

type Immutable<Value> = Value extends object ? { readonly [Name in keyof Value]: Immutable<Value[Name]> } : Value

/** The union of the events whose schemas a map declares by type. */
export type EventsOf<Schemas> = Schemas extends { readonly [type: string]: TSchema }
  ? { [Type in keyof Schemas & string]: { readonly type: Type; readonly data: ValueOf<Schemas[Type]> } }[keyof Schemas &
      string]
  : never

/** The data of one type of event. */
export type DataOf<Event extends { readonly type: string }, Type extends Event['type']> = Extract<
  Event,
  { readonly type: Type; readonly data: unknown }
>['data']

/** The text that replaces personal data after the customer was erased. */
export const erasedText = '[erased]'
/** The account number that replaces a real one. No wallet assigns it to an account. */
export const erasedAccountNumber = 999_999_999_999
