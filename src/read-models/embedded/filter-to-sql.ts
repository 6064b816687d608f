import type { Condition, Filter, Sort } from '../read-models.js'
import {
  type ColumnValue,
  encode,
  jsonPathSql,
  kindOf,
  NULL_SQL,
  SMALLEST_BOOLEAN_SQL,
  SMALLEST_STRING_SQL,
} from './columns.js'

const IN_VALUES_MAX = 4096

/** Names the column of an indexed field, or throws a TypeError that names the field. */
export type ColumnOf = (path: string) => string

/**
 * A filter as a SQL expression; operands are appended to `parameters`, never part of the text.
 * @throws TypeError naming what cannot be compiled: a silently wrong answer is worse than none.
 */
export function filterToSql(filter: Filter, columnOf: ColumnOf, parameters: ColumnValue[]): string {
  if (!isPlainObject(filter)) throw new TypeError(`read models: a filter is an object, not ${kindOf(filter)}`)
  const terms: string[] = []
  for (const [key, value] of Object.entries(filter)) {
    if (key === '$and' || key === '$or') terms.push(alternatives(key, value, columnOf, parameters))
    else if (key.startsWith('$')) throw new TypeError(`read models: operator ${key} is not supported`)
    else terms.push(conditionToSql(key, value as Condition, columnOf(key), parameters))
  }
  return terms.length === 0 ? '1' : terms.join(' AND ')
}

export function sortToSql(sort: Sort | undefined, columnOf: ColumnOf): string {
  const terms = Object.entries(sort ?? {}).map(([path, direction]) => {
    if (direction !== 1 && direction !== -1)
      throw new TypeError(`read models: sort direction of "${path}" is 1 or -1, not ${kindOf(direction)}`)
    return direction === 1 ? columnOf(path) : `${columnOf(path)} DESC`
  })
  return terms.length === 0 ? '' : ` ORDER BY ${terms.join(', ')}`
}

/** The operators of a condition, a bare scalar being `$eq`. @throws TypeError at anything else. */
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

/** @throws TypeError when the operand of `$in` is no array, or a longer one than a statement should carry. */
export function inValues(path: string, operand: unknown): readonly unknown[] {
  if (!Array.isArray(operand))
    throw new TypeError(`read models: $in on "${path}" takes an array, not ${kindOf(operand)}`)
  if (operand.length > IN_VALUES_MAX)
    throw new TypeError(`read models: $in on "${path}" has ${operand.length} values, more than ${IN_VALUES_MAX}`)
  return operand
}

/** @throws TypeError when the operand of `$exists` is not a boolean. */
export function existsOperand(path: string, operand: unknown): boolean {
  if (typeof operand === 'boolean') return operand
  throw new TypeError(`read models: $exists on "${path}" takes a boolean, not ${kindOf(operand)}`)
}

function alternatives(key: '$and' | '$or', value: unknown, columnOf: ColumnOf, parameters: ColumnValue[]): string {
  if (!Array.isArray(value) || value.length === 0)
    throw new TypeError(`read models: ${key} takes a non-empty array of filters`)
  const terms = value.map((filter) => `(${filterToSql(filter, columnOf, parameters)})`)
  return `(${terms.join(key === '$and' ? ' AND ' : ' OR ')})`
}

function conditionToSql(path: string, condition: Condition, column: string, parameters: ColumnValue[]): string {
  const terms = operatorsOf(path, condition).map(([operator, operand]) => {
    switch (operator) {
      case '$eq':
        parameters.push(encode(operand, path))
        return `${column} = ?`
      case '$ne':
        parameters.push(encode(operand, path))
        return `${column} <> ?`
      case '$gt':
        return rangeToSql(path, column, '>', operand, parameters)
      case '$gte':
        return rangeToSql(path, column, '>=', operand, parameters)
      case '$lt':
        return rangeToSql(path, column, '<', operand, parameters)
      case '$lte':
        return rangeToSql(path, column, '<=', operand, parameters)
      case '$in':
        return inToSql(path, column, inValues(path, operand), parameters)
      case '$exists':
        return existsToSql(path, column, existsOperand(path, operand))
      default:
        throw unsupportedOperator(operator, path)
    }
  })
  return terms.join(' AND ')
}

/** A range matches values of the operand's type only, so the open end is closed by the neighbouring type. */
function rangeToSql(
  path: string,
  column: string,
  operator: '>' | '>=' | '<' | '<=',
  operand: unknown,
  parameters: ColumnValue[],
): string {
  const upwards = operator.startsWith('>')
  if (operand === null) return operator.length === 2 ? `${column} = ${NULL_SQL}` : '0'
  parameters.push(encode(operand, path))
  const bounded = `${column} ${operator} ?`
  switch (typeof operand) {
    case 'number':
      return `${bounded} AND ${upwards ? `${column} < ${SMALLEST_STRING_SQL}` : `${column} > ${NULL_SQL}`}`
    case 'string':
      return `${bounded} AND ${upwards ? `${column} < ${SMALLEST_BOOLEAN_SQL}` : `${column} >= ${SMALLEST_STRING_SQL}`}`
    default:
      return upwards ? bounded : `${bounded} AND ${column} >= ${SMALLEST_BOOLEAN_SQL}`
  }
}

/** Padded to a power of two by repeating the last value: one statement per size would flood the statement cache. */
function inToSql(path: string, column: string, values: readonly unknown[], parameters: ColumnValue[]): string {
  if (values.length === 0) return '0'
  const encoded = values.map((value) => {
    if (value === undefined) throw new TypeError(`read models: $in on "${path}" holds undefined`)
    return encode(value, path)
  })
  while ((encoded.length & (encoded.length - 1)) !== 0) encoded.push(encoded[encoded.length - 1]!)
  parameters.push(...encoded)
  return `${column} IN (${'?,'.repeat(encoded.length).slice(0, -1)})`
}

/** The column does not tell null from missing; the document does. */
function existsToSql(path: string, column: string, wanted: boolean): string {
  if (path === '_id') return wanted ? '1' : '0'
  const type = `json_type(doc, ${jsonPathSql(path)})`
  return wanted ? `(${column} <> ${NULL_SQL} OR ${type} IS NOT NULL)` : `(${column} = ${NULL_SQL} AND ${type} IS NULL)`
}

function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
