import Database from 'better-sqlite3'
import { checkFindOptions } from '../conditions.js'
import type { Collection, Document, Filter, FindOptions, WriteOperation, WriteResult } from '../read-models.js'
import { checkWrites } from '../writes.js'
import { bulkWrite } from './bulk-write.js'
import type { Catalogue, Table } from './catalogue.js'
import type { ColumnValue } from './columns.js'
import type { Connection } from './connection.js'
import { filterToSql, sortToSql } from './filter-to-sql.js'

/** A collection of the port over one table. It holds no state: the table may be created, renamed or dropped at any time. */
export class EmbeddedCollection implements Collection {
  readonly #connection: Connection
  readonly #catalogue: Catalogue
  readonly #name: string

  constructor(connection: Connection, catalogue: Catalogue, name: string) {
    this.#connection = connection
    this.#catalogue = catalogue
    this.#name = name
  }

  async findOne(filter: Filter, options: FindOptions = {}): Promise<Document | null> {
    return (await this.find(filter, { ...options, limit: 1 }))[0] ?? null
  }

  async find(filter: Filter, options: FindOptions = {}): Promise<readonly Document[]> {
    const { sort, limit } = options
    checkFindOptions(options)
    const rows = await this.#select(filter, (table, where, parameters, columnOf) => {
      let sql = `SELECT doc FROM ${table} WHERE ${where}${sortToSql(sort, columnOf)}`
      if (limit !== undefined) {
        sql += ' LIMIT ?'
        parameters.push(limit)
      }
      return sql
    })
    return rows.map(([text]) => JSON.parse(text as string) as Document)
  }

  async countDocuments(filter: Filter): Promise<number> {
    const rows = await this.#select(filter, (table, where) => `SELECT count(*) FROM ${table} WHERE ${where}`)
    return Number(rows[0]?.[0] ?? 0)
  }

  async bulkWrite(operations: readonly WriteOperation[]): Promise<WriteResult> {
    checkWrites(operations)
    const { result, duplicate } = await this.#connection.write(() =>
      bulkWrite(this.#connection, this.#catalogue.findOrCreate(this.#name), operations),
    )
    if (duplicate !== undefined) throw duplicate
    return result
  }

  /** Rows of one SELECT; none when the collection does not exist, though its filter is checked all the same. */
  #select(
    filter: Filter,
    sqlOf: (table: string, where: string, parameters: unknown[], columnOf: (path: string) => string) => string,
  ): Promise<readonly unknown[][]> {
    const select = (table: Table | undefined): readonly unknown[][] => {
      const columnOf = (path: string): string => (table === undefined ? 'id' : table.columnOf(path))
      const parameters: ColumnValue[] = []
      const where = filterToSql(filter, columnOf, parameters)
      const sql = sqlOf(table?.sqlName ?? '', where, parameters, columnOf)
      return table === undefined ? [] : (this.#connection.statement(sql).all(...parameters) as unknown[][])
    }
    return this.#connection.read(() => {
      try {
        return select(this.#catalogue.find(this.#name))
      } catch (error) {
        // Another connection dropped or replaced the table between the look into the catalogue and the SELECT.
        if (!(error instanceof Database.SqliteError) || !error.message.startsWith('no such table')) throw error
        this.#catalogue.forget()
        return select(this.#catalogue.find(this.#name))
      }
    })
  }
}
