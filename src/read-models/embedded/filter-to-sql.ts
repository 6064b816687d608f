import { operatorsOf } from '../checks.js'
import type { Condition, Filter, Scalar, Sort } from '../read-models.js'
import {
  type Column,
  type ColumnValue,
  compareStored,
  encode,
  jsonTypeSql,
  smallestBlobSql,
  smallestStringSql,
} from './columns.js'
import type { Table } from './table.js'

/** Compiles a checked filter to a SQL expression. Operands are appended to `parameters` and are never part of the text. */
export function filterToSql(filter: Filter, table: Table, parameters: ColumnValue[]): string {
  const terms = Object.entries(filter).map(([key, value]) => {
    if (key !== '$and' && key !== '$or')
      return conditionToSql(value as Condition, table.columnOf(key), table, parameters)
    const parts = (value as Filter[]).map((part) => `(${filterToSql(part, table, parameters)})`)
    return `(${parts.join(key === '$and' ? ' AND ' : ' OR ')})`
  })
  return terms.length === 0 ? '1' : terms.join(' AND ')
}

export function sortToSql(sort: Sort, table: Table): string {
  return Object.entries(sort)
    .map(([field, direction]) => `${table.columnOf(field).name}${direction === 1 ? '' : ' DESC'}`)
    .join(', ')
}

const comparison: { readonly [operator: string]: string } = { $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' }

function conditionToSql(condition: Condition, column: Column, table: Table, parameters: ColumnValue[]): string {
  const { name } = column
  const operators = operatorsOf(condition).map(([operator, operand]) => {
    if (operator === '$in') return { operator, values: (operand as readonly Scalar[]).map(encoded) }
    return { operator, operand, value: operator === '$exists' ? null : encoded(operand) }
  })
  function encoded(operand: unknown): ColumnValue {
    return encode(operand, column, table.numberOf)
  }
  return operators
    .map(({ operator, operand, values, value }) => {
      if (values !== undefined) return inToSql(name, values, parameters)
      if (operator === '$exists') return existsToSql(column, operand === true)
      if (value === null) return operator === '$eq' || operator.endsWith('e') ? `${name} IS NULL` : '0'
      parameters.push(value)
      if (operator === '$eq') return `${name} = ?`
      const opposite = operator.startsWith('$g') ? '$l' : '$g'
      const isClosed = operators.some((other) => {
        return other.operator.startsWith(opposite) && typeof other.value === typeof value && other.value !== null
      })
      return rangeToSql(name, operator, value, isClosed)
    })
    .join(' AND ')
}

/**
 * A range matches only values of the operand's type, so the neighbouring type closes an open end. Another bound of the same type closes it
 * as well: SQLite uses one lower and one upper bound for its search, and could use the wider of two and read every row in between.
 */
function rangeToSql(column: string, operator: string, operand: ColumnValue, isClosed: boolean): string {
  const bounded = `${column} ${comparison[operator]} ?`
  if (isClosed) return bounded
  if (operator.startsWith('$g')) {
    if (typeof operand === 'number') return `${bounded} AND ${column} < ${smallestStringSql}`
    return typeof operand === 'string' ? `${bounded} AND ${column} < ${smallestBlobSql}` : bounded
  }
  if (typeof operand === 'number') return bounded
  return `${bounded} AND ${column} >= ${typeof operand === 'string' ? smallestStringSql : smallestBlobSql}`
}

/** Repeats the last value up to a power of two, because one statement per size would flood the statement cache. */
function inToSql(column: string, values: readonly ColumnValue[], parameters: ColumnValue[]): string {
  const isNull = values.includes(null) ? [`${column} IS NULL`] : []
  const others = values.filter((value) => value !== null)
  if (others.length === 0) return isNull[0] ?? '0'
  while ((others.length & (others.length - 1)) !== 0) others.push(others.at(-1)!)
  parameters.push(...others)
  return `(${[`${column} IN (${'?,'.repeat(others.length).slice(0, -1)})`, ...isNull].join(' OR ')})`
}

/** Only the JSON distinguishes null from missing; the column does not. */
function existsToSql({ field, name }: Column, wanted: boolean): string {
  const type = jsonTypeSql(field)
  return wanted ? `(${name} IS NOT NULL OR ${type} IS NOT NULL)` : `(${name} IS NULL AND ${type} IS NULL)`
}

/**
 * Returns whether a value, in the form of its column, meets a guard's condition, by the same rules as the compiled filters. Guards are not
 * evaluated in SQL, because `_id` has already found the document, so that its other fields need no index.
 */
export function meets(condition: Condition, held: unknown, encoded: (operand: unknown) => ColumnValue): boolean {
  return operatorsOf(condition).every(([operator, operand]) => {
    if (operator === '$exists') return (held !== undefined) === operand
    if (operator === '$in') return (operand as readonly Scalar[]).some((one) => compare(one) === 0)
    const order = compare(operand)
    if (order === 0) return ['$eq', '$gte', '$lte'].includes(operator)
    return operator !== '$eq' && (operator.startsWith('$g') ? order > 0 : order < 0)
  })
  function compare(operand: unknown): number {
    return compareStored(typeof held === 'boolean' ? encoded(held) : (held ?? null), encoded(operand))
  }
}
