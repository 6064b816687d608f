import Database from 'better-sqlite3'
import type { Collection, Document, Filter, FindOptions, WriteOperation, WriteResult } from '../read-models.js'
import { bulkWrite } from './bulk-write.js'
import type { Catalogue, Table } from './catalogue.js'
import { type ColumnValue, decode, jsonPathSql } from './columns.js'
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
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
      throw new TypeError(`read models: limit is a positive integer, not ${limit}`)
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

  async group(options: {
    readonly match: Filter
    readonly by: string
    readonly sum?: readonly string[]
  }): Promise<readonly { readonly [field: string]: unknown }[]> {
    const fields = options.sum ?? []
    const rows = await this.#select(options.match, (table, where, _parameters, columnOf) => {
      const by = columnOf(options.by)
      // total() and not sum(): sum() fails where the whole numbers exceed 64 bits. Like $sum it passes over what is no number.
      const totals = fields.map((path) => {
        const at = jsonPathSql(path)
        return `, total(CASE WHEN json_type(doc, ${at}) IN ('integer', 'real') THEN json_extract(doc, ${at}) END)`
      })
      return `SELECT ${by}, count(*)${totals.join('')} FROM ${table} WHERE ${where} GROUP BY ${by}`
    })
    return rows.map(([value, count, ...totals]) => ({
      _id: decode(value as ColumnValue),
      count,
      ...Object.fromEntries(fields.map((path, n) => [path, totals[n]])),
    }))
  }

  async bulkWrite(operations: readonly WriteOperation[]): Promise<WriteResult> {
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
