import type { JsonObject, NewEvent } from '../event-store/event-store.js'
import { type PersonalField, personalFieldsOf, sealedField } from '../event-store/personal-fields.js'
import { type CustomerKey, type Place, sealFields } from './sealed-data.js'

/** Returns the fields of an event that contain personal data, or `undefined` if none does. */
export function personalIn({ type, data, metadata }: NewEvent): readonly PersonalField[] | undefined {
  const fields = personalFieldsOf(type, metadata.schemaVersion)
  const withContent = fields.filter(({ name, erased }) => data[name] !== null && data[name] !== erased)
  return withContent.length === 0 ? undefined : withContent
}

/** Returns the data with one ciphertext in place of the fields. */
export function sealedData(
  key: CustomerKey,
  { data, ...place }: Place & Pick<NewEvent, 'data'>,
  fields: readonly PersonalField[],
): JsonObject {
  const personal: Record<string, unknown> = {}
  for (const { name } of fields) personal[name] = data[name]
  const sealed: Record<string, unknown> = {}
  for (const name in data) if (!Object.hasOwn(personal, name)) sealed[name] = data[name]
  sealed[sealedField] = sealFields(key, place, personal)
  return sealed
}

/** Returns the data with the fields in their erased form. */
export function erasedData(data: JsonObject, fields: readonly PersonalField[]): JsonObject {
  return { ...data, ...Object.fromEntries(fields.map(({ name, erased }) => [name, erased])) }
}
