import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { Database } from '@transferd/event-log/sqlite'
import { checkCollectionName } from '../checks.js'
import {
  type Document,
  type Filter,
  type FindOptions,
  type Index,
  type ReadModels,
  ReadModelsUnavailableError,
  type Sort,
  type WordSearch,
  type WordSearchPage,
  type WriteOperation,
  type WriteResult,
} from '../read-models.js'
import { ReadModelsAdapter } from '../read-models-adapter.js'
import type { Words } from '../word-search.js'
import { Catalogue } from './catalogue.js'
import type { ColumnValue } from './columns.js'
import { filterToSql, sortToSql } from './filter-to-sql.js'
import { bulkWrite, putDocuments } from './sqlite-bulk-write.js'
import { Connection } from './sqlite-connection.js'
import type { Table } from './table.js'

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
    return this.#read(name, (table) => {
      const rows = this.#select(table, table.selectSql, filter, sort, limit)
      return rows.map((row) => table.documentOf(row))
    })
  }

  protected async count(name: string, filter: Filter, limit: number | undefined): Promise<number> {
    const select = ({ sqlName }: Table) => `SELECT ${limit === undefined ? 'count(*)' : '1'} FROM ${sqlName}`
    const rows = await this.#read(name, (table) => this.#select(table, select(table), filter, {}, limit))
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

  protected async search(name: string, _words: Words, search: WordSearch): Promise<WordSearchPage> {
    const pages = await this.#read(name, ({ wordIndex }) => {
      if (!wordIndex) throw new TypeError(`read models: "${name}" has no index of words`)
      return [wordIndex.search(this.connection, search)]
    })
    return pages[0] ?? { documents: [], next: null }
  }

  protected async addIndexes(name: string, indexes: readonly Index[]): Promise<void> {
    // One at a time, because each holds the write lock for a second per million documents, and an index of words in steps.
    for (const index of indexes) {
      let after: number | undefined
      do {
        const from = after
        after = await this.connection.write(() => this.#catalogue.createIndex(name, index, from))
        await setImmediate()
      } while (after !== undefined)
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

  #select(table: Table, select: string, filter: Filter, sort: Sort, limit: number | undefined): ColumnValue[][] {
    const parameters: ColumnValue[] = []
    const order = sortToSql(sort, table)
    let sql = `${select} WHERE ${filterToSql(filter, table, parameters)}`
    if (order !== '') sql += ` ORDER BY ${order}`
    if (limit !== undefined) {
      sql += ' LIMIT +?'
      parameters.push(limit)
    }
    return this.connection.statement(sql).all(parameters) as ColumnValue[][]
  }

  /** Returns nothing if the collection does not exist. */
  #read<Found>(name: string, read: (table: Table) => readonly Found[]): Promise<readonly Found[]> {
    const found = () => {
      const table = this.#catalogue.find(name)
      return table === undefined ? [] : read(table)
    }
    return this.connection.read(() => {
      try {
        return found()
      } catch (error) {
        // Another connection dropped the table after the catalogue was read.
        if (!(error instanceof Database.SqliteError) || !error.message.startsWith('no such table')) throw error
        this.#catalogue.forget()
        return found()
      }
    })
  }
}
