import { kindOf } from './conditions.js'
import type { Document, Update, WriteFilter, WriteOperation } from './read-models.js'

type Fields = Record<string, unknown>

/** Checks of writes, before any of them reaches a store. */

/** MongoDB's limits, or smaller ones that are sufficient. */
const OPERATIONS_MAX = 10_000
const DOCUMENT_DEPTH_MAX = 100
const ID_LENGTH_MAX = 1024

/** @throws TypeError that names the invalid part */
export function checkWrites(operations: readonly WriteOperation[]): void {
  checkCount(operations.length)
  for (const operation of operations) {
    if ('insertOne' in operation) checkDocument(operation.insertOne.document)
    else if ('updateOne' in operation) {
      checkGuard(operation.updateOne.filter)
      checkUpdate(operation.updateOne.update)
    } else if ('replaceOne' in operation) {
      const { filter, replacement } = operation.replaceOne
      checkGuard(filter)
      if (replacement._id !== filter._id) throw new TypeError('read models: a replacement keeps its _id')
      checkDocument(replacement)
    } else if ('deleteOne' in operation) checkGuard(operation.deleteOne.filter)
    else {
      operation satisfies never
      throw new TypeError(`read models: unknown write operation ${Object.keys(operation).join(', ')}`)
    }
  }
}

/** @throws TypeError that names the invalid part */
export function checkDocuments(documents: readonly Document[]): void {
  checkCount(documents.length)
  documents.forEach(checkDocument)
}

function checkCount(operations: number): void {
  if (operations > OPERATIONS_MAX)
    throw new TypeError(`read models: a bulk of ${operations} operations, more than ${OPERATIONS_MAX}`)
}

function checkDocument(document: Document): void {
  checkId(document._id)
  checkJson(document, '_id', 0)
}

function checkGuard(filter: WriteFilter): void {
  checkId(filter._id)
  for (const path in filter)
    if (path.startsWith('$')) throw new TypeError(`read models: ${path} is not supported in the filter of a write`)
}

function checkId(id: unknown): void {
  if (typeof id !== 'string' || id.length === 0 || id.length > ID_LENGTH_MAX)
    throw new TypeError(
      `read models: the filter of a write and every document name _id, a string of 1 to ${ID_LENGTH_MAX}`,
    )
}

/** Rejects everything that a store would change silently. @throws TypeError unless the whole value is JSON */
function checkJson(value: unknown, path: string, depth: number): void {
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

/** @throws TypeError if an operator is unknown, two operators change the same path, or a value is not JSON */
function checkUpdate(update: Update): void {
  const paths: string[] = []
  for (const [operator, fields] of Object.entries(update)) {
    if (!['$set', '$unset', '$inc'].includes(operator))
      throw new TypeError(`read models: update operator ${operator} is not supported`)
    for (const [path, value] of Object.entries(fields as Fields)) {
      paths.push(path)
      for (const segment of path.split('.')) checkFieldName(segment, path)
      if (operator === '$inc' && typeof value !== 'number')
        throw new TypeError(`read models: $inc of "${path}" by ${kindOf(value)}`)
      checkJson(value, path, 0)
    }
  }
  if (Object.keys(update).length === 0) throw new TypeError('read models: an update needs an operator')
  const dotted = paths.some((path) => path.includes('.'))
  if (new Set(paths).size !== paths.length || (dotted && paths.some((a) => paths.some((b) => b.startsWith(`${a}.`)))))
    throw new TypeError(`read models: paths of an update conflict: ${paths.join(', ')}`)
}

function checkFieldName(segment: string, path: string): void {
  if (
    segment === '' ||
    segment === '__proto__' ||
    segment.startsWith('$') ||
    segment.includes('.') ||
    segment.includes('\0')
  )
    throw new TypeError(`read models: ${JSON.stringify(segment)} in "${path}" is not a field name`)
}
