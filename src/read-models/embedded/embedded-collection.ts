import Database from 'better-sqlite3'
import { checkFindOptions } from '../conditions.js'
import type {
  Collection,
  Document,
  DocumentText,
  Filter,
  FindOptions,
  WriteOperation,
  WriteResult,
} from '../read-models.js'
import { checkDocuments, checkWrites } from '../writes.js'
import type { Catalogue, Table } from './catalogue.js'
import type { ColumnValue } from './columns.js'
import { wholeText } from './document-text.js'
import { filterToSql, sortToSql } from './filter-to-sql.js'
import { bulkWrite, putDocuments } from './sqlite-bulk-write.js'
import type { Connection } from './sqlite-connection.js'

/** A collection over one table. It holds no state, because the table can be created, renamed or dropped at any time. */
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
      let sql = `SELECT id, doc FROM ${table} WHERE ${where}${sortToSql(sort, columnOf)}`
      if (limit !== undefined) {
        sql += ' LIMIT ?'
        parameters.push(limit)
      }
      return sql
    })
    return rows.map(([id, text]) => JSON.parse(wholeText(id as string, text as string)) as Document)
  }

  async countDocuments(filter: Filter, options: Pick<FindOptions, 'limit'> = {}): Promise<number> {
    const { limit } = options
    checkFindOptions(options)
    const rows = await this.#select(filter, (table, where, parameters) => {
      if (limit === undefined) return `SELECT count(*) FROM ${table} WHERE ${where}`
      parameters.push(limit)
      return `SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${where} LIMIT ?)`
    })
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

  async put(documents: readonly Document[]): Promise<void> {
    checkDocuments(documents)
    await this.#connection.write(() =>
      putDocuments(this.#connection, this.#catalogue.findOrCreate(this.#name), documents),
    )
  }

  async texts(after: string | undefined, limit: number): Promise<readonly DocumentText[]> {
    const rows = await this.#select(after === undefined ? {} : { _id: { $gt: after } }, (table, where, parameters) => {
      parameters.push(limit)
      return `SELECT id, doc FROM ${table} WHERE ${where} ORDER BY id LIMIT ?`
    })
    return rows.map(([_id, text]) => ({ _id: _id as string, text: wholeText(_id as string, text as string) }))
  }

  /** Returns the rows of one SELECT. The filter is checked even if the collection does not exist, which has no rows. */
  #select(
    filter: Filter,
    sqlOf: (table: string, where: string, parameters: unknown[], columnOf: (path: string) => string) => string,
  ): Promise<readonly unknown[][]> {
    const select = (table: Table | undefined): readonly unknown[][] => {
      const columnOf = (path: string): string => (table === undefined ? 'id' : table.columnOf(path))
      const havingOf = (path: string) => table?.havingSql(path)
      const parameters: ColumnValue[] = []
      const where = filterToSql(filter, { columnOf, havingOf }, parameters)
      const sql = sqlOf(table?.sqlName ?? '', where, parameters, columnOf)
      return table === undefined ? [] : (this.#connection.statement(sql).all(...parameters) as unknown[][])
    }
    return this.#connection.read(() => {
      try {
        return select(this.#catalogue.find(this.#name))
      } catch (error) {
        // Another connection dropped the table after the catalogue was read.
        if (!(error instanceof Database.SqliteError) || !error.message.startsWith('no such table')) throw error
        this.#catalogue.forget()
        return select(this.#catalogue.find(this.#name))
      }
    })
  }
}
