import { checkCollectionName } from '../conditions.js'
import type { Index } from '../read-models.js'
import { type ColumnValue, encode, jsonPathSql, NULL_SQL, valueAt } from './columns.js'
import type { Connection } from './sqlite-connection.js'

/** MongoDB's limit. */
const INDEXES_MAX = 64

interface StoredIndex {
  readonly key: readonly (readonly [string, 1 | -1])[]
  readonly having?: string
}

/** One collection: its table `c<id>` with the columns `id`, `doc` and `f<n>` for the n-th indexed field. */
export class Table {
  readonly sqlName: string
  readonly columns: readonly { readonly path: string; readonly name: string }[]
  /** Ignores existing rows. */
  readonly insertMissingSql: string
  readonly loadSql: string
  readonly deleteSql: string
  readonly #segments: readonly (readonly string[])[]
  readonly #columnOfPath: ReadonlyMap<string, string>
  readonly #sparse: ReadonlySet<string>

  constructor(
    readonly id: number,
    readonly name: string,
    readonly fields: readonly string[],
    readonly indexes: readonly StoredIndex[],
  ) {
    this.sqlName = `c${id}`
    this.columns = fields.map((path, n) => ({ path, name: `f${n}` }))
    this.#segments = fields.map((path) => path.split('.'))
    this.#columnOfPath = new Map([['_id', 'id'], ...this.columns.map(({ path, name }) => [path, name] as const)])
    const names = this.columns.map((column) => column.name)
    this.insertMissingSql = `INSERT OR IGNORE INTO ${this.#rowsSql(1)}`
    this.loadSql = `SELECT ${['doc', ...names]} FROM ${this.sqlName} WHERE id = ?`
    this.deleteSql = `DELETE FROM ${this.sqlName} WHERE id = ?`
    this.#sparse = new Set(indexes.flatMap(({ having }) => (having === undefined ? [] : [having])))
  }

  /** One statement writes many rows, because a call of SQLite costs as much as a row. */
  putSql(rows: number): string {
    const set = ['doc', ...this.columns.map(({ name }) => name)].map((column) => `${column} = excluded.${column}`)
    return `INSERT INTO ${this.#rowsSql(rows)} ON CONFLICT(id) DO UPDATE SET ${set}`
  }

  /** Returns the additional condition on a field with which SQLite recognizes that its partial index is sufficient. */
  havingSql(path: string): string | undefined {
    return this.#sparse.has(path) ? `${this.columnOf(path)} > ${NULL_SQL}` : undefined
  }

  /** @throws TypeError if no index contains the field */
  columnOf(path: string): string {
    const column = this.#columnOfPath.get(path)
    if (column === undefined) throw new TypeError(`read models: field "${path}" of "${this.name}" is not indexed`)
    return column
  }

  #rowsSql(rows: number): string {
    const names = this.columns.map(({ name }) => name)
    const row = `(?,?${',?'.repeat(names.length)})`
    const values = `${row},`.repeat(rows).slice(0, -1)
    return `${this.sqlName}(${['id', 'doc', ...names]}) VALUES ${values}`
  }

  /** Returns the values of the indexed fields in the order of the columns. @throws TypeError on an array or object */
  columnValues(document: unknown): ColumnValue[] {
    return this.#segments.map((segments, n) => encode(valueAt(document, segments), this.fields[n]!))
  }
}

/**
 * The collections and their tables. Names map to numbered tables, so that names that differ only in case stay separate in SQLite, and a
 * rename moves no data. Every change increases `user_version`, by which other connections notice it.
 */
export class Catalogue {
  readonly #connection: Connection
  #tables: ReadonlyMap<string, Table> = new Map()
  #version = -1
  #generation = -1

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Returns `undefined` if the collection does not exist. To be called inside the read or write that uses the result. */
  find(name: string): Table | undefined {
    checkCollectionName(name)
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
    this.#run('UPDATE collections SET fields = ? WHERE id = ?', json(fields), table.id)
    this.#changed()
  }

  /** Inside a write only. @throws TypeError if a document has a value there that is not a scalar */
  createIndex(name: string, index: Index): void {
    const table = this.findOrCreate(name)
    const key = Object.entries(index.key)
    if (key.length === 1 && key[0]![0] === '_id') return
    if (table.indexes.some((existing) => json(existing.key) === json(key))) return
    if (table.indexes.length >= INDEXES_MAX)
      throw new TypeError(`read models: "${name}" has ${INDEXES_MAX} indexes already`)
    this.addColumns(name, [index])
    const { having } = index
    const indexes = [...table.indexes, { key, ...(having !== undefined && { having }) }]
    this.#run('UPDATE collections SET indexes = ? WHERE id = ?', json(indexes), table.id)
    this.#changed()
    const grown = this.find(name)!
    const columns = key.map(([path, direction]) => `${grown.columnOf(path)}${direction === -1 ? ' DESC' : ''}`)
    const indexName = `${grown.sqlName}_i${indexes.length}`
    const where = having === undefined ? '' : ` WHERE ${grown.columnOf(having)} > ${NULL_SQL}`
    this.#run(`CREATE INDEX ${indexName} ON ${grown.sqlName}(${columns})${where}`)
  }

  /** Inside a write only. @throws TypeError if `from` is missing or `to` exists */
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

  #addColumn(table: Table, column: string, path: string): void {
    const segments = path.split('.')
    for (let depth = 1; depth <= segments.length; depth++) {
      const type = `json_type(doc, ${jsonPathSql(segments.slice(0, depth).join('.'))})`
      const refused = depth === segments.length ? `${type} IN ('array', 'object')` : `${type} = 'array'`
      const [id] = (this.#connection.statement(`SELECT id FROM ${table.sqlName} WHERE ${refused} LIMIT 1`).get() ??
        []) as [string?]
      if (id !== undefined)
        throw new TypeError(`read models: field "${path}" of document "${id}" is not a scalar and cannot be indexed`)
    }
    const at = jsonPathSql(path)
    this.#run(`ALTER TABLE ${table.sqlName} ADD COLUMN ${column}`)
    this.#run(`UPDATE ${table.sqlName} SET ${column} = CASE json_type(doc, ${at})
      WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE ifnull(json_extract(doc, ${at}), ${NULL_SQL}) END`)
  }

  #refresh(): void {
    const connection = this.#connection
    const [version] = connection.statement('PRAGMA user_version').get() as [number]
    if (version === this.#version && connection.generation === this.#generation) return
    connection.forgetStatements()
    const rows = connection.statement('SELECT id, name, fields, indexes FROM collections').all() as [
      number,
      string,
      string,
      string,
    ][]
    this.#tables = new Map(
      rows.map(([id, name, fields, indexes]) => [name, new Table(id, name, JSON.parse(fields), JSON.parse(indexes))]),
    )
    this.#version = version
    this.#generation = connection.generation
  }

  #changed(): void {
    const [version] = this.#connection.statement('PRAGMA user_version').get() as [number]
    this.#connection.database.pragma(`user_version = ${(version + 1) % 0x7fffffff}`)
    this.forget()
  }

  #run(sql: string, ...parameters: readonly unknown[]): void {
    this.#connection.database.prepare(sql).run(...parameters)
  }
}

function json(value: unknown): string {
  return JSON.stringify(value)
}
