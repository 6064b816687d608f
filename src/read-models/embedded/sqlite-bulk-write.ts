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

/** SQLite takes 32,766 parameters a statement; more rows at once gain nothing. */
const ROWS_MAX = 32

type Replacement = Extract<WriteOperation, { replaceOne: unknown }>['replaceOne']

/** A document as the bulk sees it: what is stored, and what it is to become. */
interface Entry {
  readonly id: string
  /** Undefined when the table has no such document. */
  readonly storedColumns: readonly ColumnValue[] | undefined
  exists: boolean
  /** Undefined until somebody needs more of the stored document than its columns. */
  document: Document | undefined
  /** The document as text; undefined when it must be made. */
  text: string | undefined
  changed: boolean
}

/**
 * Applies operations in order, inside the caller's transaction. A document is read once and written once however often the bulk
 * touches it. Like MongoDB's unordered bulk, a duplicate `_id` stops only its own operation; it is returned for the caller to throw.
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

/** Inside the caller's transaction; looks at nothing that is stored. */
export function putDocuments(connection: Connection, table: Table, documents: readonly Document[]): void {
  inRows(documents, (some, rows) => {
    const values: ColumnValue[] = []
    for (const document of some) values.push(document._id, storedText(document), ...table.columnValues(document))
    connection.statement(table.putSql(rows)).run(values)
  })
}

/** As many at once as there are statements for: each size is one more to prepare. */
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

  /** Most likely it is not there yet, which the insert finds out by itself: without a look before it costs half as much. */
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

  /** Whether this changes what the document was. An update that changed nothing hands back the very same object. */
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

  /** From the column where there is one: parsing a stored document costs more than the rest of the guard together. */
  #value(entry: Entry, path: string, condition: Condition): unknown {
    if (entry.document === undefined) {
      const n = this.#table.fields.indexOf(path)
      const tellsNullFromMissing = typeof condition === 'object' && condition !== null && '$exists' in condition
      if (n >= 0 && !tellsNullFromMissing) return decode(entry.storedColumns![n]!)
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
    // Only columns that differ: SQLite rewrites the index entries of every column an UPDATE names, changed or not.
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

/** What MongoDB inserts for an upsert before it applies the update: `_id` and the fields the filter pins to one value. */
function equalitiesOf(filter: WriteFilter): Document {
  const document: Record<string, unknown> = { _id: filter._id }
  for (const path in filter) {
    if (path === '_id') continue
    for (const [operator, operand] of operatorsOf(path, filter[path] as Condition))
      if (operator === '$eq') setPath(document, path, operand)
  }
  return document as unknown as Document
}
