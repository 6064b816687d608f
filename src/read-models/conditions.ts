import type { Condition, FindOptions, Index, Sort } from './read-models.js'

/**
 * Checks of names, paths and conditions, before any of them reaches a store. Input that is rejected here can never become an operator or a
 * piece of SQL.
 */

const IN_VALUES_MAX = 4096
const FIELD_PATH = /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$/
const FIELD_PATH_LENGTH_MAX = 120
const COLLECTION_NAME = /^[A-Za-z][A-Za-z0-9_.@-]{0,63}$/

export function checkCollectionName(name: string): void {
  if (!COLLECTION_NAME.test(name)) throw new TypeError(`read models: ${JSON.stringify(name)} is not a collection name`)
}

/** Every field name in a query passes this check. */
export function checkFieldPath(path: string): void {
  if (path.length > FIELD_PATH_LENGTH_MAX || !FIELD_PATH.test(path) || path.includes('__proto__'))
    throw new TypeError(`read models: ${JSON.stringify(path)} is not a field name that can be indexed`)
}

export function checkIndex({ key, having }: Index): void {
  if (Object.keys(key).length === 0) throw new TypeError('read models: an index needs a field')
  if (having !== undefined && !(having in key))
    throw new TypeError(`read models: "${having}" is not a field of the index`)
  checkDirections('index', key)
}

export function checkFindOptions({ sort = {}, limit = 1 }: FindOptions): void {
  checkDirections('sort', sort)
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new TypeError(`read models: limit is a positive integer, not ${limit}`)
}

function checkDirections(what: string, fields: Sort): void {
  for (const [path, direction] of Object.entries(fields)) {
    checkFieldPath(path)
    if (direction !== 1 && direction !== -1)
      throw new TypeError(`read models: ${what} direction of "${path}" is 1 or -1, not ${kindOf(direction)}`)
  }
}

/** Returns the operators of a condition; a scalar means `$eq`. @throws TypeError on anything else */
export function operatorsOf(path: string, condition: Condition): readonly (readonly [string, unknown])[] {
  if (condition === null || ['string', 'number', 'boolean'].includes(typeof condition)) return [['$eq', condition]]
  if (!isPlainObject(condition))
    throw new TypeError(`read models: condition on "${path}" is a scalar or operators, not ${kindOf(condition)}`)
  const operators = Object.entries(condition)
  if (operators.length === 0) throw new TypeError(`read models: condition on "${path}" has no operator`)
  for (const [operator, operand] of operators) {
    if (!operator.startsWith('$'))
      throw new TypeError(`read models: condition on "${path}" must be a scalar, not Object`)
    if (operand === undefined) throw new TypeError(`read models: ${operator} on "${path}" has no operand`)
  }
  return operators
}

export function unsupportedOperator(operator: string, path: string): TypeError {
  return new TypeError(`read models: operator ${operator} on "${path}" is not supported`)
}

/** @throws TypeError if the operand of `$in` is not an array or is too long for one statement */
export function inValues(path: string, operand: unknown): readonly unknown[] {
  if (!Array.isArray(operand))
    throw new TypeError(`read models: $in on "${path}" takes an array, not ${kindOf(operand)}`)
  if (operand.length > IN_VALUES_MAX)
    throw new TypeError(`read models: $in on "${path}" has ${operand.length} values, more than ${IN_VALUES_MAX}`)
  return operand
}

/** @throws TypeError if the operand of `$exists` is not a boolean */
export function existsOperand(path: string, operand: unknown): boolean {
  if (typeof operand === 'boolean') return operand
  throw new TypeError(`read models: $exists on "${path}" takes a boolean, not ${kindOf(operand)}`)
}

export function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value !== 'object') return typeof value === 'string' ? JSON.stringify(value) : String(value)
  return value.constructor?.name ?? 'object'
}
