import { type TObject, type TProperties, Type } from '../../kernel/typebox.js'
import { NotPersonal, Nullable, Personal, Since, type ValueOf } from '../event.js'
import { Text } from '../fields.js'

/** The limits of the texts that a merchant keeps with a transfer. Lengths are in characters. */
export const metadataLimits = { keys: 20, keyLength: 40, valueLength: 200 } as const

/** The request has the exact limits. This schema counts UTF-16 units, of which a character has at most two. */
const Metadata = Type.Record(
  Type.String({ pattern: `^[^]{1,${2 * metadataLimits.keyLength}}$` }),
  Type.String({ maxLength: 2 * metadataLimits.valueLength }),
  { maxProperties: metadataLimits.keys, additionalProperties: false },
)

/**
 * The fields that a merchant states about every transfer, each declared once. They are in the event of the creation, in the state, in the
 * document of lists and in the views of `/v1`, and a repeat of the request must have the same values. Each is `Personal` or `NotPersonal`.
 * CONTRIBUTING.md describes how to add a field.
 */
export const requestedFields = {
  userId: Personal(Text),
  name: Personal(Text),
  username: Personal(Text),
  paymentMethod: NotPersonal(Type.Integer()),
  /** Any text of the merchant's, which may name people. An empty object was erased. */
  metadata: Personal(Since(2, Metadata), {}),
}

/** The same for withdrawals only. */
export const payeeFields = {
  accountNumber: Personal(Text),
  identityNumber: Personal(Nullable(Text)),
}

export type Requested = FieldsOf<typeof requestedFields>
export type Payee = FieldsOf<typeof payeeFields>
type FieldsOf<Fields extends TProperties> = ValueOf<TObject<Fields>>

type Values = { readonly [name: string]: unknown }

/** Returns the declared fields of an object. A field that its event did not record is undefined. */
export function pickFields<Fields extends TProperties>(fields: Fields, from: FieldsOf<Fields>): FieldsOf<Fields> {
  const picked: { [name: string]: unknown } = {}
  for (const name in fields) picked[name] = (from as Values)[name]
  return picked as FieldsOf<Fields>
}

/** Returns the declared fields of an object. A field without a value is null. */
export function statedFields<Fields extends TProperties>(
  fields: Fields,
  from: FieldsOf<Fields>,
): Stated<FieldsOf<Fields>> {
  const stated: { [name: string]: unknown } = {}
  for (const name in fields) stated[name] = (from as Values)[name] ?? null
  return stated as Stated<FieldsOf<Fields>>
}
type Stated<Fields> = { readonly [Name in keyof Fields]-?: Exclude<Fields[Name], undefined> }

/** Returns the personal fields that have a value, in their erased form. */
export function erasedFields<Fields extends TProperties>(fields: Fields, from: FieldsOf<Fields>): Values {
  const erased: { [name: string]: unknown } = {}
  for (const [name, { personal }] of Object.entries(fields))
    if (personal && ((from as Values)[name] ?? null) !== null) erased[name] = personal.erased
  return erased
}

/**
 * Returns whether a repeated request states the same as the first one. Fields that the first event did not record are not compared, and
 * neither are personal fields after an erasure.
 */
export function isSameRequest<Fields extends TProperties>(
  fields: Fields,
  repeated: FieldsOf<Fields>,
  first: FieldsOf<Fields>,
  { isErased }: { readonly isErased: boolean },
): boolean {
  return Object.entries(fields).every(([name, { personal }]) => {
    const known = (first as Values)[name]
    return known === undefined || (isErased && personal) || isSameValue((repeated as Values)[name], known)
  })
}

/** Objects are the same regardless of the order of their keys. */
function isSameValue(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  const keys = Object.keys(a)
  const isSame = (key: string) => Object.hasOwn(b, key) && Reflect.get(a, key) === Reflect.get(b, key)
  return keys.length === Object.keys(b).length && keys.every(isSame)
}
