import type Database from 'better-sqlite3'
import { operatorsOf } from '../conditions.js'
import {
  type Condition,
  type Document,
  DuplicateKeyError,
  type WriteFilter,
  type WriteOperation,
  type WriteResult,
} from '../read-models.js'
import type { Table } from './catalogue.js'
import { type ColumnValue, decode, sameColumnValue, valueAt } from './columns.js'
import { storedText, wholeText } from './document-text.js'
import type { Connection } from './sqlite-connection.js'
import { applyUpdate, setPath } from './update.js'
import { meetsCondition } from './update-guard.js'

/** SQLite allows 32,766 parameters per statement; more rows per statement gain nothing. */
const ROWS_MAX = 32

type Replacement = Extract<WriteOperation, { replaceOne: unknown }>['replaceOne']

/** The stored and the new state of a document within a bulk. */
interface Entry {
  readonly id: string
  /** `undefined` if the table does not contain the document. */
  readonly storedColumns: readonly ColumnValue[] | undefined
  exists: boolean
  /** `undefined` until more than the columns of the stored document is needed. */
  document: Document | undefined
  /** The document as text; `undefined` if it is not serialized yet. */
  text: string | undefined
  changed: boolean
}

/**
 * Applies operations in order, inside the caller's transaction. Each document is read and written once, even if several operations change
 * it. As in MongoDB's unordered bulk, a duplicate `_id` stops only its own operation; the error is returned for the caller to throw.
 */
export function bulkWrite(
  connection: Connection,
  table: Table,
  operations: readonly WriteOperation[],
): { readonly result: WriteResult; readonly duplicate: DuplicateKeyError | undefined } {
  const bulk = new Bulk(connection, table)
  let duplicate: DuplicateKeyError | undefined
  for (const operation of operations) {
    try {
      bulk.apply(operation)
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error
      duplicate ??= error
    }
  }
  bulk.flush()
  return { result: bulk.counts, duplicate }
}

/** Writes documents inside the caller's transaction, without reading stored ones. */
export function putDocuments(connection: Connection, table: Table, documents: readonly Document[]): void {
  inRows(documents, (some, rows) => {
    const values: ColumnValue[] = []
    for (const document of some) values.push(document._id, storedText(document), ...table.columnValues(document))
    connection.statement(table.putSql(rows)).run(values)
  })
}

/** Writes in two batch sizes only, because each size requires a prepared statement. */
function inRows<Item>(items: readonly Item[], write: (some: readonly Item[], rows: number) => void): void {
  let at = 0
  for (; at + ROWS_MAX <= items.length; at += ROWS_MAX) write(items.slice(at, at + ROWS_MAX), ROWS_MAX)
  for (; at < items.length; at++) write(items.slice(at, at + 1), 1)
}

class Bulk {
  readonly counts = { insertedCount: 0, matchedCount: 0, modifiedCount: 0, upsertedCount: 0, deletedCount: 0 }
  readonly #connection: Connection
  readonly #table: Table
  readonly #entries = new Map<string, Entry>()
  readonly #load: Database.Statement<unknown[]>
  readonly #insertMissing: Database.Statement<unknown[]>

  constructor(connection: Connection, table: Table) {
    this.#connection = connection
    this.#table = table
    this.#load = connection.statement(table.loadSql)
    this.#insertMissing = connection.statement(table.insertMissingSql)
  }

  apply(operation: WriteOperation): void {
    if ('insertOne' in operation) this.#insertOne(operation.insertOne.document)
    else if ('updateOne' in operation) {
      const { filter, update, upsert } = operation.updateOne
      const entry = this.#entry(filter._id)
      if (entry.exists) this.#matched(entry, filter, () => applyUpdate(this.#document(entry), update))
      else if (upsert === true) this.#upsert(entry, applyUpdate(equalitiesOf(filter), update))
    } else if ('replaceOne' in operation) {
      const { filter, replacement, upsert } = operation.replaceOne
      if (upsert === true && !this.#entries.has(filter._id) && this.#isInserted(operation.replaceOne)) return
      const entry = this.#entry(filter._id)
      if (entry.exists) this.#matched(entry, filter, () => replacement)
      else if (upsert === true) this.#upsert(entry, replacement)
    } else this.#deleteOne(operation.deleteOne.filter)
  }

  flush(): void {
    for (const entry of this.#entries.values()) if (entry.changed) this.#flushEntry(entry)
  }

  /** Tries the insert first, because most upserts are new documents, and a read before the insert would double the cost. */
  #isInserted({ replacement }: Replacement): boolean {
    const row = this.#row(replacement, storedText(replacement))
    if (this.#insertMissing.run(row).changes === 0) return false
    this.counts.upsertedCount++
    return true
  }

  #row(document: Document, text: string): ColumnValue[] {
    return [document._id, text, ...this.#table.columnValues(document)]
  }

  #insertOne(document: Document): void {
    const entry = this.#entry(document._id)
    if (entry.exists) throw new DuplicateKeyError(`"${this.#table.name}" has a document with this _id already`)
    this.#become(entry, document)
    this.counts.insertedCount++
  }

  #deleteOne(filter: WriteFilter): void {
    const entry = this.#entry(filter._id)
    if (!entry.exists || !this.#meets(entry, filter)) return
    entry.exists = false
    entry.document = undefined
    entry.text = undefined
    entry.changed = true
    this.counts.deletedCount++
  }

  #matched(entry: Entry, filter: WriteFilter, next: () => Document): void {
    if (!this.#meets(entry, filter)) return
    this.counts.matchedCount++
    if (this.#become(entry, next())) this.counts.modifiedCount++
  }

  #upsert(entry: Entry, document: Document): void {
    this.#become(entry, document)
    this.counts.upsertedCount++
  }

  /** Returns whether the document changes. An update without effect returns the same object. */
  #become(entry: Entry, document: Document): boolean {
    if (entry.exists && document === entry.document) return false
    const before = entry.exists ? entry.text : undefined
    entry.document = document
    entry.text = undefined
    if (before !== undefined && before === this.#text(entry)) return false
    entry.exists = true
    entry.changed = true
    return true
  }

  #entry(id: string): Entry {
    const known = this.#entries.get(id)
    if (known !== undefined) return known
    const row = this.#load.get(id) as [string, ...ColumnValue[]] | undefined
    const entry: Entry = {
      id,
      storedColumns: row?.slice(1) as ColumnValue[] | undefined,
      exists: row !== undefined,
      text: row?.[0],
      document: undefined,
      changed: false,
    }
    this.#entries.set(id, entry)
    return entry
  }

  #document(entry: Entry): Document {
    entry.document ??= JSON.parse(wholeText(entry.id, entry.text!)) as Document
    return entry.document
  }

  #text(entry: Entry): string {
    entry.text ??= storedText(entry.document!)
    return entry.text
  }

  #meets(entry: Entry, filter: WriteFilter): boolean {
    for (const path in filter) {
      if (path === '_id') continue
      const condition = filter[path] as Condition
      if (!meetsCondition(path, condition, this.#value(entry, path, condition))) return false
    }
    return true
  }

  /** Reads the column if possible, because parsing the stored document costs more than the rest of the guard. */
  #value(entry: Entry, path: string, condition: Condition): unknown {
    if (entry.document === undefined) {
      const n = this.#table.fields.indexOf(path)
      const distinguishesNull = typeof condition === 'object' && condition !== null && '$exists' in condition
      if (n >= 0 && !distinguishesNull) return decode(entry.storedColumns![n]!)
    }
    return valueAt(this.#document(entry), path.split('.'))
  }

  #flushEntry({ id, exists, storedColumns, ...entry }: Entry): void {
    const { sqlName, deleteSql } = this.#table
    if (!exists) {
      if (storedColumns) this.#connection.statement(deleteSql).run(id)
      return
    }
    const text = entry.text ?? storedText(entry.document!)
    if (!storedColumns) {
      this.#connection.statement(this.#table.putSql(1)).run(this.#row(entry.document!, text))
      return
    }
    // Only changed columns, because SQLite rewrites the index entries of every column that an UPDATE names.
    let assignments = 'doc = ?'
    const parameters: unknown[] = [text]
    this.#table.columnValues(entry.document).forEach((value, n) => {
      if (sameColumnValue(value, storedColumns[n]!)) return
      assignments += `, f${n} = ?`
      parameters.push(value)
    })
    parameters.push(id)
    this.#connection.statement(`UPDATE ${sqlName} SET ${assignments} WHERE id = ?`).run(...parameters)
  }
}

/** Returns the document to which MongoDB applies the update of an upsert: `_id` and the fields that the filter requires to equal a value. */
function equalitiesOf(filter: WriteFilter): Document {
  const document: Record<string, unknown> = { _id: filter._id }
  for (const path in filter) {
    if (path === '_id') continue
    for (const [operator, operand] of operatorsOf(path, filter[path] as Condition))
      if (operator === '$eq') setPath(document, path, operand)
  }
  return document as unknown as Document
}
