import type { Document, Index } from '../read-models.js'
import { type ColumnValue, encode, jsonTypeSql, NULL_SQL } from './columns.js'
import { sortToSql } from './filter-to-sql.js'
import type { Connection } from './sqlite-connection.js'

/** MongoDB's limit. */
const INDEXES_MAX = 64

/** One collection: its table `c<id>` with the columns `id`, `doc` and `f<n>` for the n-th indexed field. */
export class Table {
  readonly sqlName: string
  /** Ignores existing rows. */
  readonly insertMissingSql: string
  readonly loadSql: string
  readonly deleteSql: string
  readonly #columns: readonly string[]

  constructor(
    readonly id: number,
    readonly name: string,
    readonly fields: readonly string[],
    readonly indexes: readonly Index[],
  ) {
    this.sqlName = `c${id}`
    this.#columns = ['doc', ...fields.map((_, n) => `f${n}`)]
    this.insertMissingSql = `INSERT OR IGNORE INTO ${this.#rowsSql(1)}`
    this.loadSql = `SELECT ${this.#columns} FROM ${this.sqlName} WHERE id = ?`
    this.deleteSql = `DELETE FROM ${this.sqlName} WHERE id = ?`
  }

  /** One statement writes many rows, because a call of SQLite costs as much as a row. */
  putSql(rows: number): string {
    const set = this.#columns.map((column) => `${column} = excluded.${column}`)
    return `INSERT INTO ${this.#rowsSql(rows)} ON CONFLICT(id) DO UPDATE SET ${set}`
  }

  /** Returns the additional condition on a field with which SQLite recognizes that its partial index is sufficient. */
  havingOf(field: string): string | undefined {
    const isSparse = this.indexes.some(({ having }) => having === field)
    return isSparse ? `${this.columnOf(field)} > ${NULL_SQL}` : undefined
  }

  /** @throws TypeError if no index contains the field */
  columnOf(field: string): string {
    if (field === '_id') return 'id'
    const n = this.fields.indexOf(field)
    if (n < 0) throw new TypeError(`read models: field "${field}" of "${this.name}" is not indexed`)
    return `f${n}`
  }

  /** Returns the values of the indexed fields in the order of the columns. @throws TypeError on an array or object */
  columnValues(document: Document): ColumnValue[] {
    return this.fields.map((field) => encode(document[field], field))
  }

  #rowsSql(rows: number): string {
    const row = `(?${',?'.repeat(this.#columns.length)})`
    return `${this.sqlName}(id,${this.#columns}) VALUES ${`${row},`.repeat(rows).slice(0, -1)}`
  }
}

/**
 * The collections and their tables. Names map to numbered tables, so that names that differ only in case stay separate in SQLite, and a
 * rename moves no data. Every change increases `user_version`, by which other connections notice it.
 */
export class Catalogue {
  #tables: ReadonlyMap<string, Table> = new Map()
  #version = -1
  #generation = -1

  constructor(private readonly connection: Connection) {}

  /** Returns `undefined` if the collection does not exist. To be called inside the read or write that uses the result. */
  find(name: string): Table | undefined {
    this.#refresh()
    return this.#tables.get(name)
  }

  /**
   * Inside a write only. With `inOrder`, the rows are stored in the order of `_id`, which saves an index. Large rows with unordered ids are
   * not, because each new row would change a separate page.
   */
  findOrCreate(name: string, inOrder = false): Table {
    const found = this.find(name)
    if (found !== undefined) return found
    this.#run("INSERT INTO collections(name, fields, indexes) VALUES (?, '[]', '[]')", name)
    this.#changed()
    const created = this.find(name)!
    // Without declared types, because a column affinity would turn 5 into '5'.
    const order = inOrder ? ' WITHOUT ROWID' : ''
    this.#run(`CREATE TABLE ${created.sqlName}(id NOT NULL PRIMARY KEY, doc TEXT NOT NULL)${order}`)
    return created
  }

  names(): readonly string[] {
    this.#refresh()
    return [...this.#tables.keys()].sort()
  }

  /** Adds the columns of the indexes, inside a write only. @throws TypeError if a document has a value there that is not a scalar */
  addColumns(name: string, indexes: readonly Index[]): void {
    // Collections that are queried by _id only have small documents: feeds, terms, counters.
    const table = this.findOrCreate(name, indexes.length === 0)
    const fields = [...table.fields]
    for (const path of indexes.flatMap(({ key }) => Object.keys(key))) {
      if (path === '_id' || fields.includes(path)) continue
      this.#addColumn(table, `f${fields.length}`, path)
      fields.push(path)
    }
    if (fields.length === table.fields.length) return
    this.#run('UPDATE collections SET fields = ? WHERE id = ?', JSON.stringify(fields), table.id)
    this.#changed()
  }

  /** Requires an open write. @throws TypeError if a document has a value there that is not a scalar */
  createIndex(name: string, index: Index): void {
    const table = this.findOrCreate(name)
    const { key, having } = index
    if (Object.keys(key).join() === '_id') return
    if (table.indexes.some((existing) => JSON.stringify(existing.key) === JSON.stringify(key))) return
    if (table.indexes.length >= INDEXES_MAX)
      throw new TypeError(`read models: "${name}" has ${INDEXES_MAX} indexes already`)
    this.addColumns(name, [index])
    const indexes = [...table.indexes, index]
    this.#run('UPDATE collections SET indexes = ? WHERE id = ?', JSON.stringify(indexes), table.id)
    this.#changed()
    const grown = this.find(name)!
    const columns = sortToSql(key, grown)
    const indexName = `${grown.sqlName}_i${indexes.length}`
    const where = having === undefined ? '' : ` WHERE ${grown.columnOf(having)} > ${NULL_SQL}`
    this.#run(`CREATE INDEX ${indexName} ON ${grown.sqlName}(${columns})${where}`)
  }

  /** Requires an open write. @throws TypeError if `from` is missing or `to` exists */
  rename(from: string, to: string): void {
    const source = this.find(from)
    if (source === undefined || this.find(to) !== undefined)
      throw new TypeError(`read models: cannot rename "${from}" to "${to}"`)
    this.#run('UPDATE collections SET name = ? WHERE id = ?', to, source.id)
    this.#changed()
  }

  /** Inside a write only. */
  drop(name: string): void {
    const table = this.find(name)
    if (table === undefined) return
    this.#run('DELETE FROM collections WHERE id = ?', table.id)
    this.#run(`DROP TABLE ${table.sqlName}`)
    this.#changed()
  }

  /** To be called after a statement failed on a missing table. */
  forget(): void {
    this.#version = -1
  }

  #addColumn(table: Table, column: string, field: string): void {
    const type = jsonTypeSql(field)
    const refused = `SELECT id FROM ${table.sqlName} WHERE ${type} IN ('array', 'object') LIMIT 1`
    const found = this.connection.statement(refused).get() as [string] | undefined
    if (found)
      throw new TypeError(
        `read models: field "${field}" of document "${found[0]}" is not a scalar and cannot be indexed`,
      )
    this.#run(`ALTER TABLE ${table.sqlName} ADD COLUMN ${column}`)
    this.#run(`UPDATE ${table.sqlName} SET ${column} = CASE ${type}
      WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE ifnull(json_extract(doc, '$."${field}"'), ${NULL_SQL}) END`)
  }

  #refresh(): void {
    const { connection } = this
    const [version] = connection.statement('PRAGMA user_version').get() as [number]
    if (version === this.#version && connection.generation === this.#generation) return
    connection.forgetStatements()
    const rows = connection.statement('SELECT id, name, fields, indexes FROM collections').all()
    this.#tables = new Map(
      (rows as [number, string, string, string][]).map(([id, name, fields, indexes]) => [
        name,
        new Table(id, name, JSON.parse(fields), JSON.parse(indexes)),
      ]),
    )
    this.#version = version
    this.#generation = connection.generation
  }

  #changed(): void {
    const [version] = this.connection.statement('PRAGMA user_version').get() as [number]
    this.connection.database.pragma(`user_version = ${(version + 1) % 0x7fffffff}`)
    this.forget()
  }

  #run(sql: string, ...parameters: readonly unknown[]): void {
    this.connection.database.prepare(sql).run(...parameters)
  }
}
