import { type AnyBulkWriteOperation, type Filter as DriverFilter, Long, type UpdateFilter, UUID } from 'mongodb'
import { operatorsOf } from '../checks.js'
import { type Declaration, ordinalOf, ordinalText, refuseType, timeMs, uuidBytes } from '../fields.js'
import type { Condition, Document, FieldType, Filter, Scalar, WriteOperation } from '../read-models.js'
import type { Stored } from './mongodb-connection.js'

type Fields = Declaration['fields']

/** Returns a document with BSON's own types in its declared fields. @throws TypeError if a field has another type */
function storedDocument(document: Document, fields: Fields): Stored {
  const stored = storedFields(document, fields)
  return { ...stored, _id: stored._id as Stored['_id'] }
}

export function documentOf(stored: Stored, fields: Fields): Document {
  const entries = Object.entries(stored).map(([field, value]) => [field, fromBson(value, fields[field])])
  return Object.fromEntries(entries) as Document
}

export function storedFilter(filter: Filter, fields: Fields): DriverFilter<Stored> {
  const entries = Object.entries(filter).map(([key, value]) => {
    if (key === '$and' || key === '$or') return [key, (value as Filter[]).map((part) => storedFilter(part, fields))]
    return [key, storedCondition(value as Condition, key, fields[key])]
  })
  return Object.fromEntries(entries) as DriverFilter<Stored>
}

export function storedOperation(operation: WriteOperation, fields: Fields): AnyBulkWriteOperation<Stored> {
  if ('insertOne' in operation) return { insertOne: { document: storedDocument(operation.insertOne.document, fields) } }
  if ('deleteOne' in operation) return { deleteOne: { filter: storedFilter(operation.deleteOne.filter, fields) } }
  if ('replaceOne' in operation) {
    const { filter, replacement, previous: _previous, ...upsert } = operation.replaceOne
    const { _id, ...stored } = storedDocument(replacement, fields)
    return { replaceOne: { filter: storedFilter(filter, fields), replacement: { _id, ...stored }, ...upsert } }
  }
  const { filter, update, ...upsert } = operation.updateOne
  const stored = { ...update, ...(update.$set && { $set: storedFields(update.$set, fields) }) }
  return { updateOne: { filter: storedFilter(filter, fields), update: stored as UpdateFilter<Stored>, ...upsert } }
}

function storedFields(values: { readonly [field: string]: unknown }, fields: Fields): { [field: string]: unknown } {
  const entries = Object.entries(values).map(([field, value]) => [field, toBson(value, field, fields[field])])
  return Object.fromEntries(entries)
}

function storedCondition(condition: Condition, field: string, type: FieldType | undefined): unknown {
  if (type === undefined) return condition
  if (typeof condition !== 'object' || condition === null) return toBson(condition, field, type)
  const operators = operatorsOf(condition).map(([operator, operand]) => {
    if (operator === '$exists') return [operator, operand]
    if (operator !== '$in') return [operator, toBson(operand, field, type)]
    return [operator, (operand as readonly Scalar[]).map((one) => toBson(one, field, type))]
  })
  return Object.fromEntries(operators)
}

function toBson(value: unknown, field: string, type: FieldType | undefined): unknown {
  if (type === undefined || value === null || value === undefined) return value
  if (type === 'number') {
    if (typeof value !== 'number') return refuseType(field, type, value)
    return Number.isSafeInteger(value) ? Long.fromNumber(value) : value
  }
  if (type === 'boolean') return typeof value === 'boolean' ? value : refuseType(field, type, value)
  if (typeof value !== 'string') return refuseType(field, type, value)
  if (type === 'keyword' || type === 'text') return value
  if (type === 'uuid') {
    const bytes = uuidBytes(value)
    return bytes ? new UUID(bytes) : value
  }
  const number =
    type === 'time'
      ? timeMs(value)
      : type === 'ordinal'
        ? (ordinalOf(value) ?? refuseType(field, type, value))
        : type.indexOf(value) + 1 || undefined
  if (number === undefined) return value
  return type === 'time' ? new Date(number) : type === 'ordinal' ? Long.fromNumber(number) : number
}

function fromBson(value: unknown, type: FieldType | undefined): unknown {
  if (value instanceof Date) return value.toISOString()
  if (value instanceof UUID) return value.toHexString()
  if (typeof value !== 'number' || type === undefined || type === 'number') return value
  return type === 'ordinal' ? ordinalText(value) : Array.isArray(type) ? type[value - 1] : value
}
