import { erasedAccountNumber, erasedText } from '../domain/event.js'
import { eventSchemas, olderVersions } from './event-schemas.js'

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
