import { kindOf } from './conditions.js'
import type { Update, WriteOperation } from './read-models.js'

/** What every implementation of the port accepts as a document and as an update. */

type Fields = Record<string, unknown>

/** MongoDB's own limits, smaller where nobody needs as much. */
const OPERATIONS_MAX = 10_000
const DOCUMENT_DEPTH_MAX = 100
const ID_LENGTH_MAX = 1024

export function checkBulkSize(operations: readonly WriteOperation[]): void {
  if (operations.length > OPERATIONS_MAX)
    throw new TypeError(`read models: a bulk of ${operations.length} operations, more than ${OPERATIONS_MAX}`)
}

export function checkId(id: unknown): void {
  if (typeof id !== 'string' || id.length === 0 || id.length > ID_LENGTH_MAX)
    throw new TypeError(
      `read models: the filter of a write and every document name _id, a string of 1 to ${ID_LENGTH_MAX}`,
    )
}

/** @throws TypeError unless the value is JSON through and through: what a store would change silently is refused. */
export function checkJson(value: unknown, path: string, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return
    case 'number':
      if (Number.isFinite(value)) return
      break
    case 'object':
      if (value === null) return
      if (depth > DOCUMENT_DEPTH_MAX) throw new TypeError(`read models: "${path}" is nested too deeply`)
      if (Array.isArray(value)) {
        for (const element of value) checkJson(element, path, depth + 1)
        return
      }
      if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null) {
        for (const name in value) {
          checkFieldName(name, path)
          checkJson((value as Fields)[name], name, depth + 1)
        }
        return
      }
      break
    default:
  }
  throw new TypeError(`read models: "${path}" holds ${kindOf(value)}, which is not JSON`)
}

/** @throws TypeError unless the operators are known and no two of them touch the same path. */
export function checkOperators(update: Update): void {
  const paths: string[] = []
  let operators = 0
  for (const operator in update) {
    switch (operator) {
      case '$set':
      case '$setOnInsert':
      case '$unset':
      case '$inc':
        operators++
        for (const path in update[operator]) paths.push(path)
        break
      default:
        throw new TypeError(`read models: update operator ${operator} is not supported`)
    }
  }
  if (operators === 0) throw new TypeError('read models: an update needs an operator')
  const dotted = paths.some((path) => path.includes('.'))
  if (new Set(paths).size !== paths.length || (dotted && paths.some((a) => paths.some((b) => b.startsWith(`${a}.`)))))
    throw new TypeError(`read models: paths of an update conflict: ${paths.join(', ')}`)
}

export function checkFieldName(segment: string, path: string): void {
  if (
    segment === '' ||
    segment === '__proto__' ||
    segment.startsWith('$') ||
    segment.includes('.') ||
    segment.includes('\0')
  )
    throw new TypeError(`read models: ${JSON.stringify(segment)} in "${path}" is not a field name`)
}
