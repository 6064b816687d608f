import type { JsonObject, NewEvent } from '../event-store/event-store.js'
import { type PersonalField, personalFieldsOf, sealedField } from '../event-store/personal-fields.js'
import { type CustomerKey, type Place, sealFields } from './sealed-data.js'

/** The personal fields of an event that say something; undefined when none does. */
export function personalIn({ type, data, metadata }: NewEvent): readonly PersonalField[] | undefined {
  const fields = personalFieldsOf(type, metadata.schemaVersion)
  const saying = fields.filter(({ name, erased }) => data[name] !== null && data[name] !== erased)
  return saying.length === 0 ? undefined : saying
}

/** With one ciphertext in the place of the fields. */
export function sealedData(
  key: CustomerKey,
  { data, ...place }: Place & Pick<NewEvent, 'data'>,
  fields: readonly PersonalField[],
): JsonObject {
  const personal: Record<string, unknown> = {}
  for (const { name } of fields) personal[name] = data[name]
  const left: Record<string, unknown> = {}
  for (const name in data) if (!Object.hasOwn(personal, name)) left[name] = data[name]
  left[sealedField] = sealFields(key, place, personal)
  return left
}

export function erasedData(data: JsonObject, fields: readonly PersonalField[]): JsonObject {
  return { ...data, ...Object.fromEntries(fields.map(({ name, erased }) => [name, erased])) }
}
