/**
 * Returns the canonical JSON of RFC 8785: names in the order of their UTF-16 units, no white space, numbers and strings as ECMAScript
 * writes them. Omits undefined values, as JSON.stringify does.
 */
export function canonicalJson(value: unknown): string {
  const sorted = withSortedNames(value)
  return sorted === unsortable ? serialize(value) : JSON.stringify(sorted)
}

const unsortable = Symbol('an object cannot have these names in this order')

/** Returns a copy with sorted names, which a single call serializes in a third of the time. */
function withSortedNames(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const items = value.map(withSortedNames)
    return items.includes(unsortable) ? unsortable : items
  }
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(value).sort()) {
    // An object lists numeric names first, and `__proto__` does not become a member.
    if (startsWithDigit(name) || name === '__proto__') return unsortable
    const member = withSortedNames((value as Record<string, unknown>)[name])
    if (member === unsortable) return unsortable
    copy[name] = member
  }
  return copy
}

function startsWithDigit(name: string): boolean {
  const unit = name.charCodeAt(0)
  return unit >= 48 && unit <= 57
}

function serialize(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(serialize).join(',')}]`
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  const sorted = members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([name, member]) => `${JSON.stringify(name)}:${serialize(member)}`).join(',')}}`
}
