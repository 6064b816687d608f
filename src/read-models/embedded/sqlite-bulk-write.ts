import { kindOf, operatorsOf } from '../checks.js'
import {
  type Condition,
  type Document,
  DuplicateKeyError,
  type Update,
  type WriteFilter,
  type WriteOperation,
} from '../read-models.js'
import { type ColumnValue, compareStored, encode } from './columns.js'
import { meets } from './filter-to-sql.js'
import type { Connection } from './sqlite-connection.js'
import type { Table } from './table.js'

/** SQLite allows 32,766 parameters per statement; more rows per statement gain nothing. */
const maxRows = 32

/**
 * Applies operations in order, inside the caller's transaction. As in MongoDB's unordered bulk, a duplicate `_id` stops only its own
 * operation; the error is returned for the caller to throw.
 */
export function bulkWrite(connection: Connection, table: Table, operations: readonly WriteOperation[]) {
  const result = { matchedCount: 0, upsertedCount: 0, deletedCount: 0 }
  let duplicate: DuplicateKeyError | undefined
  // Tries the insert first, because most upserts are new documents, and a read before the insert would double the cost.
  const insertMissing = connection.statement(table.insertMissingSql)
  const isInserted = (document: Document) => {
    const { changes } = insertMissing.run(table.rowOf(document))
    if (changes > 0) table.wordIndex?.insert(connection, document)
    return changes > 0
  }
  for (const operation of operations) {
    if ('insertOne' in operation) {
      if (!isInserted(operation.insertOne.document))
        duplicate ??= new DuplicateKeyError(`"${table.name}" has a document with this _id already`)
      continue
    }
    if ('deleteOne' in operation) {
      const { filter } = operation.deleteOne
      const found = find(connection, table, filter)
      if (!found) continue
      table.wordIndex?.delete(connection, found.document())
      connection.statement(table.deleteSql).run(idOf(table, filter._id))
      result.deletedCount++
      continue
    }
    const change = 'updateOne' in operation ? operation.updateOne : operation.replaceOne
    if ('previous' in change && change.previous && isReplaced(connection, table, change, change.previous)) {
      result.matchedCount++
      continue
    }
    const next = (before: () => Document) =>
      'update' in change ? updated(before(), change.update) : change.replacement
    if (change.upsert === true && isInserted(next(() => equalitiesOf(change.filter)))) {
      result.upsertedCount++
      continue
    }
    const found = find(connection, table, change.filter)
    if (!found) continue
    result.matchedCount++
    replace(connection, table, found, next(found.document))
  }
  return { result, duplicate }
}

export function putDocuments(connection: Connection, table: Table, documents: readonly Document[]): void {
  if (table.wordIndex) {
    const operations = documents.map((replacement) => ({
      replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true },
    }))
    bulkWrite(connection, table, operations)
    return
  }
  // In two sizes only, because each size requires a prepared statement.
  for (let at = 0; at < documents.length; ) {
    const rows = at + maxRows <= documents.length ? maxRows : 1
    const values = documents.slice(at, at + rows).flatMap((document) => table.rowOf(document))
    connection.statement(table.putSql(rows)).run(values)
    at += rows
  }
}

function idOf(table: Table, id: string): ColumnValue {
  return encode(id, table.columns[0]!, table.numberOf)
}

interface Found {
  readonly row: readonly ColumnValue[]
  document(): Document
}

/** Returns the stored document that the filter names, unless it does not meet the guard. */
function find(connection: Connection, table: Table, filter: WriteFilter): Found | undefined {
  const row = connection.statement(table.loadSql).get(idOf(table, filter._id)) as ColumnValue[] | undefined
  if (!row) return undefined
  let parsed: Document | undefined
  const document = () => {
    parsed ??= table.documentOf(row)
    return parsed
  }
  for (const field in filter) {
    if (field === '_id') continue
    const condition = filter[field]!
    const column = table.findColumn(field)
    const stored = column ? row[table.columns.indexOf(column)]! : null
    // The column if possible, because parsing the stored document costs more than the rest of the guard.
    const value = stored ?? (column && !requiresExistence(condition) ? null : document()[field])
    const encoded = (operand: unknown) => encode(operand, column ?? { field, type: undefined }, table.numberOf)
    if (Array.isArray(value)) throw new TypeError(`read models: guard on "${field}" meets an array`)
    if (!meets(condition, stored ?? value, encoded)) return undefined
  }
  return { row, document }
}

function requiresExistence(condition: Condition): boolean {
  return typeof condition === 'object' && condition !== null && '$exists' in condition
}

/** Writes only changed columns, because SQLite rewrites the index entries of every column that an UPDATE names. */
function replace(connection: Connection, table: Table, found: Found, document: Document): void {
  const { row: before } = found
  const row = table.rowOf(document)
  table.wordIndex?.replace(connection, found.document(), document)
  const assignments: string[] = []
  const parameters: ColumnValue[] = []
  row.forEach((value, n) => {
    if (compareStored(value, before[n]!) === 0) return
    assignments.push(`${table.columns[n]?.name ?? 'doc'} = ?`)
    parameters.push(value)
  })
  if (assignments.length === 0) return
  parameters.push(before[0]!)
  connection.statement(`UPDATE ${table.sqlName} SET ${assignments} WHERE id = ?`).run(parameters)
}

type Replacement = Extract<WriteOperation, { readonly replaceOne: unknown }>['replaceOne']

/**
 * Writes the fields in which a document differs from the one that is probably stored, and returns false if another one is. This saves the
 * read of the whole row, and the conversion of its unchanged columns.
 */
function isReplaced(connection: Connection, table: Table, change: Replacement, previous: Document): boolean {
  const { filter, replacement } = change
  const conditions: string[] = []
  const guards: ColumnValue[] = []
  for (const field in filter) {
    const column = table.findColumn(field)
    const value = column && encode(previous[field], column, table.numberOf)
    if (column === undefined || value === undefined || value === null) return false
    const encoded = (operand: unknown) => encode(operand, column, table.numberOf)
    if (!meets(filter[field]!, value, encoded)) return false
    conditions.push(`${column.name} = ?`)
    guards.push(value)
  }
  const assignments: string[] = []
  const values: ColumnValue[] = []
  let isRestChanged = false
  const removed = Object.keys(previous).filter((field) => !(field in replacement))
  for (const field of [...Object.keys(replacement), ...removed]) {
    const before = previous[field]
    const after = replacement[field]
    if (before === after) continue
    const column = table.findColumn(field)
    if (column === table.order) return false
    if (column?.type === undefined || before === null || after === null) isRestChanged = true
    if (column === undefined) continue
    assignments.push(`${column.name} = ?`)
    values.push(encode(after, column, table.keywords.findOrAdd))
  }
  if (isRestChanged) {
    assignments.push('doc = ?')
    values.push(table.restOf(replacement))
  }
  if (assignments.length === 0) return false
  const sql = `UPDATE ${table.sqlName} SET ${assignments} WHERE ${conditions.join(' AND ')}`
  if (connection.statement(sql).run([...values, ...guards]).changes === 0) return false
  table.wordIndex?.replace(connection, previous, replacement)
  return true
}

/** Returns the document after an update, which modifies neither. @throws TypeError if MongoDB would reject the update */
export function updated(document: Document, { $set, $unset, $inc = {} }: Update): Document {
  const next: { [field: string]: unknown } & Document = { ...document, ...$set }
  if (next._id !== document._id) throw new TypeError('read models: an update cannot change _id')
  for (const field in $unset) delete next[field]
  for (const field in $inc) {
    const held = next[field] ?? (Object.hasOwn(next, field) ? null : 0)
    if (typeof held !== 'number')
      throw new TypeError(`read models: $inc of "${field}", which is ${kindOf(held)} and not a number`)
    next[field] = held + $inc[field]!
  }
  return next
}

/** Returns the document to which MongoDB applies the update of an upsert: `_id` and the fields that the filter requires to equal a value. */
export function equalitiesOf(filter: WriteFilter): Document {
  const equal = Object.entries(filter).filter(([, condition]) => operatorsOf(condition)[0]![0] === '$eq')
  return Object.fromEntries(equal) as Document
}
