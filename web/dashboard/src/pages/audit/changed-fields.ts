import { hasValue, isOpenRecord } from '../../../../../src/domain/event-summary'

/** A field that an event changed. `undefined` if it had no value. */
export interface ChangedField {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

type Fields = { readonly [name: string]: unknown }

/** The fields that change with every event. */
const uninteresting: readonly string[] = ['revision', 'updatedAt']

/** Returns the fields of a state that differ from those of the state before. Fields of objects are compared individually, but not the keys of open records. */
export function changedFields(before: Fields | undefined, after: Fields): readonly ChangedField[] {
  const [old, next] = [flat(before ?? {}), flat(after)]
  return Object.keys({ ...old, ...next })
    .filter((name) => JSON.stringify(old[name]) !== JSON.stringify(next[name]) && !uninteresting.includes(name))
    .map((name) => ({ name, before: old[name], after: next[name] }))
}

function flat(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
      if (!hasValue(name, value)) return []
      if (typeof value !== 'object' || value === null || isOpenRecord(name, value)) return [[name, value]]
      if (Array.isArray(value)) return value.length === 0 ? [] : [[name, value]]
      return Object.entries(flat(value as Fields))
    }),
  )
}
