import { existsOperand, inValues, isPlainObject, kindOf, operatorsOf, unsupportedOperator } from '../conditions.js'
import type { Condition, Filter, Sort } from '../read-models.js'
import {
  type ColumnValue,
  encode,
  jsonPathSql,
  NULL_SQL,
  SMALLEST_BOOLEAN_SQL,
  SMALLEST_STRING_SQL,
} from './columns.js'

interface Columns {
  /** Returns the column of an indexed field. @throws TypeError that names the field */
  columnOf(path: string): string
  /** Returns the condition to add if the field is compared with a value. */
  havingOf(path: string): string | undefined
}

/**
 * Compiles a filter to a SQL expression. Operands are appended to `parameters` and are never part of the text.
 * @throws TypeError that names the unsupported part, because a wrong result would be worse
 */
export function filterToSql(filter: Filter, columns: Columns, parameters: ColumnValue[]): string {
  if (!isPlainObject(filter)) throw new TypeError(`read models: a filter is an object, not ${kindOf(filter)}`)
  const terms: string[] = []
  for (const [key, value] of Object.entries(filter)) {
    if (key === '$and' || key === '$or') terms.push(alternatives(key, value, columns, parameters))
    else if (key.startsWith('$')) throw new TypeError(`read models: operator ${key} is not supported`)
    else terms.push(conditionToSql(key, value as Condition, columns, parameters))
  }
  return terms.length === 0 ? '1' : terms.join(' AND ')
}

export function sortToSql(sort: Sort | undefined, columnOf: Columns['columnOf']): string {
  const terms = Object.entries(sort ?? {}).map(([path, direction]) => {
    return direction === 1 ? columnOf(path) : `${columnOf(path)} DESC`
  })
  return terms.length === 0 ? '' : ` ORDER BY ${terms.join(', ')}`
}

function alternatives(key: '$and' | '$or', value: unknown, columns: Columns, parameters: ColumnValue[]): string {
  if (!Array.isArray(value) || value.length === 0)
    throw new TypeError(`read models: ${key} takes a non-empty array of filters`)
  const terms = value.map((filter) => `(${filterToSql(filter, columns, parameters)})`)
  return `(${terms.join(key === '$and' ? ' AND ' : ' OR ')})`
}

const comparison = { $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' } as const

function conditionToSql(path: string, condition: Condition, columns: Columns, parameters: ColumnValue[]): string {
  const column = columns.columnOf(path)
  const operators = operatorsOf(path, condition)
  const terms = operators.map(([operator, operand]) => {
    switch (operator) {
      case '$eq':
        parameters.push(encode(operand, path))
        return `${column} = ?`
      case '$ne':
        parameters.push(encode(operand, path))
        return `${column} <> ?`
      case '$gt':
      case '$gte':
      case '$lt':
      case '$lte':
        return rangeToSql(
          path,
          column,
          comparison[operator],
          operand,
          isClosed(operators, operator, operand),
          parameters,
        )
      case '$in':
        return inToSql(path, column, inValues(path, operand), parameters)
      case '$exists':
        return existsToSql(path, column, existsOperand(path, operand))
      default:
        throw unsupportedOperator(operator, path)
    }
  })
  const having = operators.some(asksForValue) ? columns.havingOf(path) : undefined
  return [...terms, ...(having === undefined ? [] : [having])].join(' AND ')
}

/** Returns whether only documents that have the field can match. */
function asksForValue([operator, operand]: readonly [string, unknown]): boolean {
  return ['$eq', '$gt', '$gte', '$lt', '$lte'].includes(operator) && operand !== null
}

/**
 * Returns whether another bound of the same type closes the other end of the range. SQLite uses one lower and one upper bound for its
 * search, and could use the wider of two and read every row in between.
 */
function isClosed(operators: readonly (readonly [string, unknown])[], operator: string, operand: unknown): boolean {
  const opposite = operator.startsWith('$g') ? '$l' : '$g'
  return operators.some(([other, bound]) => other.startsWith(opposite) && typeof bound === typeof operand)
}

/** A range matches only values of the operand's type, so the neighbouring type closes an open end. */
function rangeToSql(
  path: string,
  column: string,
  operator: (typeof comparison)[keyof typeof comparison],
  operand: unknown,
  closed: boolean,
  parameters: ColumnValue[],
): string {
  const upwards = operator.startsWith('>')
  if (operand === null) return operator.length === 2 ? `${column} = ${NULL_SQL}` : '0'
  parameters.push(encode(operand, path))
  const bounded = `${column} ${operator} ?`
  if (closed) return bounded
  switch (typeof operand) {
    case 'number':
      return `${bounded} AND ${upwards ? `${column} < ${SMALLEST_STRING_SQL}` : `${column} > ${NULL_SQL}`}`
    case 'string':
      return `${bounded} AND ${upwards ? `${column} < ${SMALLEST_BOOLEAN_SQL}` : `${column} >= ${SMALLEST_STRING_SQL}`}`
    default:
      return upwards ? bounded : `${bounded} AND ${column} >= ${SMALLEST_BOOLEAN_SQL}`
  }
}

/** Repeats the last value up to a power of two, because one statement per size would flood the statement cache. */
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

/** Only the document distinguishes null from missing; the column does not. */
function existsToSql(path: string, column: string, wanted: boolean): string {
  if (path === '_id') return wanted ? '1' : '0'
  const type = `json_type(doc, ${jsonPathSql(path)})`
  return wanted ? `(${column} <> ${NULL_SQL} OR ${type} IS NOT NULL)` : `(${column} = ${NULL_SQL} AND ${type} IS NULL)`
}
