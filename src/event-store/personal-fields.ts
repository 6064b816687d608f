import { erasedAccountNumber, erasedText } from '../domain/personal-data.js'
import { eventSchemas, olderVersions } from './event-schemas.js'

export interface PersonalField {
  readonly name: string
  /** What it is read as once the customer was erased. */
  readonly erased: string | number
}

/** In the data of a stored event: one ciphertext instead of all personal fields that say something. */
export const sealedField = 'sealed'

const none: readonly PersonalField[] = []

const fieldsByType: ReadonlyMap<string, readonly (readonly PersonalField[])[]> = new Map(
  Object.entries(eventSchemas).flatMap(([type, newest]) => {
    const versions = [...(olderVersions[type] ?? []).map(({ schema }) => schema), newest]
    const fields = versions.map(({ properties }) => personalFieldsIn(properties))
    return fields.some(({ length }) => length > 0) ? [[type, fields] as const] : []
  }),
)

/** Types of which every event says something of a customer. */
export const personalTypes: ReadonlySet<string> = new Set(fieldsByType.keys())

/** Those that event-schemas.ts marks. None for a version that is not known. */
export function personalFieldsOf(type: string, version: unknown): readonly PersonalField[] {
  return fieldsByType.get(type)?.[(version as number) - 1] ?? none
}

function personalFieldsIn(properties: object): readonly PersonalField[] {
  return Object.entries(properties)
    .filter(([, schema]) => schema.personal === true)
    .map(([name, schema]) => ({ name, erased: schema.type === 'integer' ? erasedAccountNumber : erasedText }))
}
