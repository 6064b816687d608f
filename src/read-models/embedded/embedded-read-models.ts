import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { checkCollectionName } from '../checks.js'
import {
  type Document,
  type DocumentText,
  type Filter,
  type FindOptions,
  type Index,
  type ReadModels,
  ReadModelsUnavailableError,
  type WriteOperation,
  type WriteResult,
} from '../read-models.js'
import { ReadModelsAdapter } from '../read-models-adapter.js'
import { Catalogue, type Table } from './catalogue.js'
import { type ColumnValue, wholeText } from './columns.js'
import { filterToSql, sortToSql } from './filter-to-sql.js'
import { bulkWrite, putDocuments } from './sqlite-bulk-write.js'
import { Connection } from './sqlite-connection.js'

/**
 * Opens `read-models.db` in `directory` and creates both if they are missing. Several threads and processes can open the same directory.
 * @throws ReadModelsUnavailableError
 */
export async function openEmbeddedReadModels({ directory }: { readonly directory: string }): Promise<ReadModels> {
  await mkdir(directory, { recursive: true }).catch((cause) => {
    throw new ReadModelsUnavailableError(`the directory of the read models is unavailable: ${directory}`, { cause })
  })
  const readModels = new EmbeddedReadModels(new Connection(join(directory, 'read-models.db')))
  await readModels.listCollections()
  return readModels
}

/** The read-model port over SQLite. Only waiting for another writer is asynchronous. */
export class EmbeddedReadModels extends ReadModelsAdapter {
  readonly #catalogue: Catalogue

  constructor(private readonly connection: Connection) {
    super()
    this.#catalogue = new Catalogue(connection)
  }

  protected async find(name: string, filter: Filter, { sort = {}, limit }: FindOptions): Promise<readonly Document[]> {
    const rows = await this.#select(name, filter, 'id, doc', sort, limit)
    return rows.map(([id, text]) => JSON.parse(wholeText(id as string, text as string)) as Document)
  }

  protected async count(name: string, filter: Filter, limit: number | undefined): Promise<number> {
    const rows = await this.#select(name, filter, limit === undefined ? 'count(*)' : '1', {}, limit)
    return limit === undefined ? Number(rows[0]?.[0] ?? 0) : rows.length
  }

  protected async bulkWrite(name: string, operations: readonly WriteOperation[]): Promise<WriteResult> {
    const { result, duplicate } = await this.connection.write(() =>
      bulkWrite(this.connection, this.#catalogue.findOrCreate(name), operations),
    )
    if (duplicate !== undefined) throw duplicate
    return result
  }

  protected async put(name: string, documents: readonly Document[]): Promise<void> {
    await this.connection.write(() => putDocuments(this.connection, this.#catalogue.findOrCreate(name), documents))
  }

  protected async texts(name: string, after: string | undefined, limit: number): Promise<readonly DocumentText[]> {
    const filter: Filter = after === undefined ? {} : { _id: { $gt: after } }
    const rows = (await this.#select(name, filter, 'id, doc', { _id: 1 }, limit)) as [string, string][]
    return rows.map(([_id, text]) => ({ _id, text: wholeText(_id, text) }))
  }

  protected async addIndexes(name: string, indexes: readonly Index[]): Promise<void> {
    // One at a time, because each holds the write lock for a second per million documents.
    for (const index of indexes) {
      await this.connection.write(() => this.#catalogue.createIndex(name, index))
      await setImmediate()
    }
  }

  protected async create(name: string, indexes: readonly Index[]): Promise<void> {
    await this.connection.write(() => this.#catalogue.addColumns(name, indexes))
  }

  async rename(from: string, to: string): Promise<void> {
    checkCollectionName(to)
    await this.connection.write(() => this.#catalogue.rename(from, to))
  }

  async drop(name: string): Promise<void> {
    await this.connection.write(() => this.#catalogue.drop(name))
  }

  async listCollections(): Promise<readonly string[]> {
    return this.connection.read(() => this.#catalogue.names())
  }

  async close(): Promise<void> {
    this.connection.close()
  }

  #select(name: string, filter: Filter, columns: string, sort: FindOptions['sort'] & {}, limit: number | undefined) {
    const select = (table: Table | undefined): readonly unknown[][] => {
      if (table === undefined) return []
      const parameters: ColumnValue[] = []
      const where = filterToSql(filter, table, parameters)
      const order = sortToSql(sort, table)
      let sql = `SELECT ${columns} FROM ${table.sqlName} WHERE ${where}`
      if (order !== '') sql += ` ORDER BY ${order}`
      if (limit !== undefined) {
        sql += ' LIMIT +?'
        parameters.push(limit)
      }
      return this.connection.statement(sql).all(...parameters) as unknown[][]
    }
    return this.connection.read(() => {
      try {
        return select(this.#catalogue.find(name))
      } catch (error) {
        // Another connection dropped the table after the catalogue was read.
        if (!(error instanceof Database.SqliteError) || !error.message.startsWith('no such table')) throw error
        this.#catalogue.forget()
        return select(this.#catalogue.find(name))
      }
    })
  }
}
