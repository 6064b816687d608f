import { existsOperand, inValues, operatorsOf, unsupportedOperator } from '../conditions.js'
import type { Condition } from '../read-models.js'
import { encode } from './columns.js'

/**
 * Returns whether a value meets a guard's condition, by the same rules as the compiled filters. Guards are not evaluated in SQL, because
 * `_id` has already found the document, so that its other fields need no index.
 * @throws TypeError that names the unsupported part
 */
export function meetsCondition(path: string, condition: Condition, value: unknown): boolean {
  if (Array.isArray(value)) throw new TypeError(`read models: guard on "${path}" meets an array`)
  return operatorsOf(path, condition).every(([operator, operand]) => {
    switch (operator) {
      case '$eq':
        return equals(path, value, operand)
      case '$ne':
        return !equals(path, value, operand)
      case '$gt':
        return inRange(path, value, operand, (order) => order > 0)
      case '$gte':
        return inRange(path, value, operand, (order) => order >= 0)
      case '$lt':
        return inRange(path, value, operand, (order) => order < 0)
      case '$lte':
        return inRange(path, value, operand, (order) => order <= 0)
      case '$in':
        return inValues(path, operand).some((candidate) => equals(path, value, candidate))
      case '$exists':
        return (value !== undefined) === existsOperand(path, operand)
      default:
        throw unsupportedOperator(operator, path)
    }
  })
}

function equals(path: string, value: unknown, operand: unknown): boolean {
  encode(operand, path)
  return (value ?? null) === operand
}

function inRange(path: string, value: unknown, operand: unknown, accept: (order: number) => boolean): boolean {
  encode(operand, path)
  const held = value ?? null
  if (operand === null) return held === null && accept(0)
  if (typeof held !== typeof operand) return false
  return accept(order(held as string, operand as string))
}

/** Compares strings by their UTF-8 bytes as filters do; JavaScript's order differs above U+FFFF. */
function order(a: string | number | boolean, b: string | number | boolean): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  return Number(a) - Number(b)
}
