/**
 * JSON in the one form of RFC 8785: names in the order of their UTF-16 units, no white space, numbers and texts as ECMAScript writes
 * them. What is undefined is left out, as JSON.stringify does.
 */
export function canonicalJson(value: unknown): string {
  const sorted = inOrder(value)
  return sorted === unordered ? inParts(value) : JSON.stringify(sorted)
}

const unordered = Symbol('an object cannot have these names in this order')

/** A copy whose names are in order, so that one call writes all of it: that takes a third of the time. */
function inOrder(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const items = value.map(inOrder)
    return items.includes(unordered) ? unordered : items
  }
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(value).sort()) {
    // Names that are numbers come first in any object, and this one is no member.
    if (isDigit(name) || name === '__proto__') return unordered
    const member = inOrder((value as Record<string, unknown>)[name])
    if (member === unordered) return unordered
    copy[name] = member
  }
  return copy
}

function isDigit(name: string): boolean {
  const unit = name.charCodeAt(0)
  return unit >= 48 && unit <= 57
}

function inParts(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(inParts).join(',')}]`
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  const inNames = members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${inNames.map(([name, member]) => `${JSON.stringify(name)}:${inParts(member)}`).join(',')}}`
}
