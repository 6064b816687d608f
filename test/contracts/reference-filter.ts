import type { Condition, Document, Filter, Scalar, Sort } from '../../src/read-models/read-models.js'

/** Evaluates a filter of MongoDB in memory. Every implementation is compared with this simple reference. */
export function selects(filter: Filter, document: Document): boolean {
  return Object.entries(filter).every(([key, value]) => {
    if (key === '$and') return (value as Filter[]).every((part) => selects(part, document))
    if (key === '$or') return (value as Filter[]).some((part) => selects(part, document))
    return matches(value as Condition, document[key])
  })
}

/** Orders null and missing values first, then numbers, strings by their UTF-8 bytes, and booleans. */
function compareValues(a: unknown, b: unknown): number {
  const rank = (value: unknown): number =>
    value === undefined || value === null ? 0 : typeof value === 'number' ? 1 : typeof value === 'string' ? 2 : 3
  if (rank(a) !== rank(b)) return rank(a) - rank(b)
  if (typeof a === 'number') return a - (b as number)
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  return Number(a ?? 0) - Number(b ?? 0)
}

export function compareDocuments(sort: Sort): (a: Document, b: Document) => number {
  return (a, b) => {
    for (const [field, direction] of Object.entries(sort)) {
      const order = compareValues(a[field], b[field])
      if (order !== 0) return order * direction
    }
    return 0
  }
}

function matches(condition: Condition, value: unknown): boolean {
  if (typeof condition !== 'object' || condition === null) return equal(value, condition)
  return Object.entries(condition).every(([operator, operand]) => {
    const comparable = sameType(value, operand)
    const order = comparable ? compareValues(value, operand) : Number.NaN
    switch (operator) {
      case '$gt':
        return order > 0
      case '$gte':
        return order >= 0
      case '$lt':
        return order < 0
      case '$lte':
        return order <= 0
      case '$in':
        return (operand as Scalar[]).some((candidate) => equal(value, candidate))
      case '$exists':
        return (value !== undefined) === operand
      default:
        throw new Error(`the reference does not implement ${operator}`)
    }
  })
}

function equal(value: unknown, operand: Scalar): boolean {
  return sameType(value, operand) && compareValues(value, operand) === 0
}

function sameType(a: unknown, b: unknown): boolean {
  return (
    typeof (a ?? null) === typeof (b ?? null) && (a === undefined || a === null) === (b === undefined || b === null)
  )
}
