/** Returns the named fields as JSON: amounts (bigint, of at most 15 digits) become numbers. */
export function shownFields(data: object, fields: readonly string[]): { readonly [field: string]: unknown } {
  return Object.fromEntries(
    fields.filter((field) => Object.hasOwn(data, field)).map((field) => [field, shown(Reflect.get(data, field))]),
  )
}

function shown(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(shown)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shown(each)]))
}
