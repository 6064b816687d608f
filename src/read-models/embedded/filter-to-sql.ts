import { operatorsOf } from '../checks.js'
import type { Condition, Filter, Scalar, Sort } from '../read-models.js'
import {
  type ColumnValue,
  encode,
  jsonTypeSql,
  NULL_SQL,
  SMALLEST_BOOLEAN_SQL,
  SMALLEST_STRING_SQL,
} from './columns.js'

interface Columns {
  columnOf(field: string): string
  /** Returns the condition to add if the field is compared with a value. */
  havingOf(field: string): string | undefined
}

type Operators = ReturnType<typeof operatorsOf>

/** Compiles a checked filter to a SQL expression. Operands are appended to `parameters` and are never part of the text. */
export function filterToSql(filter: Filter, columns: Columns, parameters: ColumnValue[]): string {
  const terms = Object.entries(filter).map(([key, value]) => {
    if (key !== '$and' && key !== '$or') return conditionToSql(key, value as Condition, columns, parameters)
    const parts = (value as Filter[]).map((part) => `(${filterToSql(part, columns, parameters)})`)
    return `(${parts.join(key === '$and' ? ' AND ' : ' OR ')})`
  })
  return terms.length === 0 ? '1' : terms.join(' AND ')
}

export function sortToSql(sort: Sort, columns: Pick<Columns, 'columnOf'>): string {
  return Object.entries(sort)
    .map(([field, direction]) => `${columns.columnOf(field)}${direction === 1 ? '' : ' DESC'}`)
    .join(', ')
}

const comparison: { readonly [operator: string]: string } = { $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' }

function conditionToSql(field: string, condition: Condition, columns: Columns, parameters: ColumnValue[]): string {
  const column = columns.columnOf(field)
  const operators = operatorsOf(condition)
  const terms = operators.map(([operator, operand]) => {
    if (operator === '$in') return inToSql(field, column, operand as readonly Scalar[], parameters)
    if (operator === '$exists') return existsToSql(field, column, operand === true)
    if (operator !== '$eq' && operand === null) return operator.endsWith('e') ? `${column} = ${NULL_SQL}` : '0'
    parameters.push(encode(operand, field))
    return operator === '$eq' ? `${column} = ?` : rangeToSql(column, operator, operand, operators)
  })
  // Only documents that have the field can match.
  const isValue = ([operator, operand]: Operators[number]) => operand !== null && !['$in', '$exists'].includes(operator)
  const having = operators.some(isValue) ? columns.havingOf(field) : undefined
  return [...terms, ...(having === undefined ? [] : [having])].join(' AND ')
}

/**
 * A range matches only values of the operand's type, so the neighbouring type closes an open end. Another bound of the same type closes it
 * as well: SQLite uses one lower and one upper bound for its search, and could use the wider of two and read every row in between.
 */
function rangeToSql(column: string, operator: string, operand: unknown, operators: Operators): string {
  const upwards = operator.startsWith('$g')
  const bounded = `${column} ${comparison[operator]} ?`
  const opposite = upwards ? '$l' : '$g'
  if (operators.some(([other, bound]) => other.startsWith(opposite) && typeof bound === typeof operand)) return bounded
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
function inToSql(field: string, column: string, values: readonly Scalar[], parameters: ColumnValue[]): string {
  if (values.length === 0) return '0'
  const encoded = values.map((value) => encode(value, field))
  while ((encoded.length & (encoded.length - 1)) !== 0) encoded.push(encoded.at(-1)!)
  parameters.push(...encoded)
  return `${column} IN (${'?,'.repeat(encoded.length).slice(0, -1)})`
}

/** Only the document distinguishes null from missing; the column does not. */
function existsToSql(field: string, column: string, wanted: boolean): string {
  if (field === '_id') return wanted ? '1' : '0'
  const type = jsonTypeSql(field)
  return wanted ? `(${column} <> ${NULL_SQL} OR ${type} IS NOT NULL)` : `(${column} = ${NULL_SQL} AND ${type} IS NULL)`
}

/**
 * Returns whether a value meets a guard's condition, by the same rules as the compiled filters. Guards are not evaluated in SQL, because
 * `_id` has already found the document, so that its other fields need no index.
 */
export function meets(field: string, condition: Condition, value: unknown): boolean {
  if (Array.isArray(value)) throw new TypeError(`read models: guard on "${field}" meets an array`)
  const held = (value ?? null) as Scalar
  return operatorsOf(condition).every(([operator, operand]) => {
    if (operator === '$exists') return (value !== undefined) === operand
    if (operator === '$in') return (operand as readonly Scalar[]).includes(held)
    if (held === operand) return ['$eq', '$gte', '$lte'].includes(operator)
    if (operator === '$eq' || held === null || typeof held !== typeof operand) return false
    // Strings by their UTF-8 bytes, as in filters; JavaScript's order differs above U+FFFF.
    const isText = typeof held === 'string'
    const order = isText ? Buffer.compare(Buffer.from(held), Buffer.from(String(operand))) : +held - Number(operand)
    return operator.startsWith('$g') ? order > 0 : order < 0
  })
}
