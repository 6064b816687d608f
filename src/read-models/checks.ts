import type { Declaration } from './fields.js'
import type {
  Condition,
  Document,
  Filter,
  FindOptions,
  Index,
  Scalar,
  Sort,
  Update,
  WriteFilter,
  WriteOperation,
} from './read-models.js'

/**
 * Checks of names, filters and writes, before any of them reaches a store. Input that is rejected here can never become an operator or a
 * piece of SQL.
 */

const maxInValues = 4096
const fieldNamePattern = /^[A-Za-z_][A-Za-z0-9_]*$/
const maxFieldNameLength = 120
const collectionNamePattern = /^[A-Za-z][A-Za-z0-9_.@-]{0,63}$/
/** MongoDB's limits, or smaller ones that are sufficient. */
const maxOperations = 10_000
const maxDocumentDepth = 100
const maxIdLength = 1024

type Types = Declaration['fields']

function refusal(reason: string): TypeError {
  return new TypeError(`read models: ${reason}`)
}

export function checkCollectionName(name: string): void {
  if (!collectionNamePattern.test(name)) throw refusal(`${JSON.stringify(name)} is not a collection name`)
}

function checkField(name: string): void {
  if (name.length > maxFieldNameLength || !fieldNamePattern.test(name) || name === '__proto__')
    throw refusal(`${JSON.stringify(name)} is not a field name that can be indexed`)
}

export function checkIndex({ key, having }: Index): void {
  if (Object.keys(key).length === 0) throw refusal('an index needs a field')
  if (having !== undefined && !(having in key)) throw refusal(`"${having}" is not a field of the index`)
  checkDirections('index', key)
}

export function checkFindOptions({ sort = {}, limit = 1 }: FindOptions, types: Types): void {
  checkDirections('sort', sort)
  for (const field in sort) checkOrdered(field, types)
  if (!Number.isSafeInteger(limit) || limit < 1) throw refusal(`limit is a positive integer, not ${limit}`)
}

function checkDirections(what: string, fields: Sort): void {
  for (const [field, direction] of Object.entries(fields)) {
    checkField(field)
    if (direction !== 1 && direction !== -1)
      throw refusal(`${what} direction of "${field}" is 1 or -1, not ${kindOf(direction)}`)
  }
}

/** The numbers of keywords and enumerations are not in the order of their texts. */
function checkOrdered(field: string, types: Types): void {
  const type = types[field]
  if (type === 'keyword' || Array.isArray(type)) throw refusal(`the values of "${field}" have no order`)
}

/** @throws TypeError that names the unsupported part, because a wrong result would be worse */
export function checkFilter(filter: Filter, types: Types): void {
  if (!isPlainObject(filter)) throw refusal(`a filter is an object, not ${kindOf(filter)}`)
  for (const [key, value] of Object.entries(filter)) {
    if (key === '$and' || key === '$or') {
      if (!Array.isArray(value) || value.length === 0) throw refusal(`${key} takes a non-empty array of filters`)
      for (const part of value) checkFilter(part, types)
    } else if (key.startsWith('$')) throw refusal(`operator ${key} is not supported`)
    else checkCondition(key, value, types)
  }
}

function checkCondition(field: string, condition: unknown, types: Types): void {
  checkField(field)
  if (isScalar(condition)) checkScalar(field, condition)
  else if (isPlainObject(condition)) {
    const operators = Object.entries(condition)
    if (operators.length === 0) throw refusal(`condition on "${field}" has no operator`)
    for (const [operator, operand] of operators) checkOperand(field, operator, operand, types)
  } else throw refusal(`condition on "${field}" is a scalar or operators, not ${kindOf(condition)}`)
}

function checkOperand(field: string, operator: string, operand: unknown, types: Types): void {
  if (!operator.startsWith('$')) throw refusal(`condition on "${field}" must be a scalar, not Object`)
  if (operand === undefined) throw refusal(`${operator} on "${field}" has no operand`)
  if (['$gt', '$gte', '$lt', '$lte'].includes(operator)) {
    checkScalar(field, operand)
    checkOrdered(field, types)
  } else if (operator === '$exists') {
    if (typeof operand !== 'boolean') throw refusal(`$exists on "${field}" takes a boolean, not ${kindOf(operand)}`)
  } else if (operator === '$in') {
    if (!Array.isArray(operand)) throw refusal(`$in on "${field}" takes an array, not ${kindOf(operand)}`)
    if (operand.length > maxInValues)
      throw refusal(`$in on "${field}" has ${operand.length} values, more than ${maxInValues}`)
    for (const value of operand) checkScalar(field, value)
  } else throw refusal(`operator ${operator} on "${field}" is not supported`)
}

/** @throws TypeError on anything that is not a JSON scalar */
export function checkScalar(field: string, value: unknown): asserts value is Scalar {
  if (typeof value === 'number' && !Number.isFinite(value)) throw refusal(`field "${field}" holds ${value}`)
  if (!isScalar(value))
    throw refusal(`field "${field}" is compared or indexed and must be a scalar, not ${kindOf(value)}`)
}

export function operatorsOf(condition: Condition): readonly (readonly [string, unknown])[] {
  return isScalar(condition) ? [['$eq', condition]] : Object.entries(condition)
}

/** @throws TypeError that names the invalid part */
export function checkWrites(operations: readonly WriteOperation[], types: Types): void {
  checkCount(operations.length)
  for (const operation of operations) {
    if ('insertOne' in operation) checkDocument(operation.insertOne.document)
    else if ('updateOne' in operation) {
      checkGuard(operation.updateOne.filter, types)
      checkUpdate(operation.updateOne.update)
    } else if ('replaceOne' in operation) {
      const { filter, replacement } = operation.replaceOne
      checkGuard(filter, types)
      if (replacement._id !== filter._id) throw refusal('a replacement keeps its _id')
      checkDocument(replacement)
    } else if ('deleteOne' in operation) checkGuard(operation.deleteOne.filter, types)
    else {
      operation satisfies never
      throw refusal(`unknown write operation ${Object.keys(operation).join(', ')}`)
    }
  }
}

/** @throws TypeError that names the invalid part */
export function checkDocuments(documents: readonly Document[]): void {
  checkCount(documents.length)
  documents.forEach(checkDocument)
}

function checkCount(operations: number): void {
  if (operations > maxOperations) throw refusal(`a bulk of ${operations} operations, more than ${maxOperations}`)
}

function checkDocument(document: Document): void {
  checkId(document._id)
  checkJson(document, '_id', 0)
}

function checkGuard(filter: WriteFilter, types: Types): void {
  checkId(filter._id)
  for (const field in filter) {
    if (field.startsWith('$')) throw refusal(`${field} is not supported in the filter of a write`)
    if (field !== '_id') checkCondition(field, filter[field], types)
  }
}

function checkId(id: unknown): void {
  if (typeof id !== 'string' || id.length === 0 || id.length > maxIdLength)
    throw refusal(`the filter of a write and every document name _id, a string of 1 to ${maxIdLength}`)
}

/** Rejects everything that a store would change silently. @throws TypeError unless the whole value is JSON */
function checkJson(value: unknown, name: string, depth: number): void {
  if (typeof value === 'number' ? Number.isFinite(value) : isScalar(value)) return
  if (depth > maxDocumentDepth) throw refusal(`"${name}" is nested too deeply`)
  if (Array.isArray(value)) for (const element of value) checkJson(element, name, depth + 1)
  else if (isPlainObject(value)) {
    for (const field in value) {
      checkName(field)
      checkJson(value[field], field, depth + 1)
    }
  } else throw refusal(`"${name}" holds ${kindOf(value)}, which is not JSON`)
}

/** @throws TypeError if an operator is unknown, two operators change the same field, or a value is not JSON */
function checkUpdate(update: Update): void {
  const changed = new Set<string>()
  for (const [operator, fields] of Object.entries(update)) {
    if (!['$set', '$unset', '$inc'].includes(operator)) throw refusal(`update operator ${operator} is not supported`)
    for (const [field, value] of Object.entries(fields)) {
      if (changed.has(field)) throw refusal(`two operators of an update change "${field}"`)
      changed.add(field)
      checkName(field)
      if (operator === '$inc' && typeof value !== 'number') throw refusal(`$inc of "${field}" by ${kindOf(value)}`)
      checkJson(value, field, 0)
    }
  }
  if (changed.size === 0) throw refusal('an update changes at least one field')
}

function checkName(field: string): void {
  if (field === '' || field === '__proto__' || field.startsWith('$') || field.includes('.') || field.includes('\0'))
    throw refusal(`${JSON.stringify(field)} is not a field name`)
}

function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value !== 'object') return typeof value === 'string' ? JSON.stringify(value) : String(value)
  return value.constructor?.name ?? 'object'
}
