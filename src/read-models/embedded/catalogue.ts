import { checkCollectionName } from '../conditions.js'
import type { Index } from '../read-models.js'
import { type ColumnValue, encode, jsonPathSql, NULL_SQL, valueAt } from './columns.js'
import type { Connection } from './sqlite-connection.js'

/** MongoDB's own limit. */
const INDEXES_MAX = 64

interface StoredIndex {
  readonly key: readonly (readonly [string, 1 | -1])[]
  readonly having?: string
}

/** One collection: its table `c<id>` with the columns `id`, `doc` and `f<n>` for the n-th indexed field. */
export class Table {
  readonly sqlName: string
  readonly columns: readonly { readonly path: string; readonly name: string }[]
  /** Leaves alone what is there. */
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

  /** Many rows with one statement: a call of SQLite for each costs as much as the row. */
  putSql(rows: number): string {
    const set = ['doc', ...this.columns.map(({ name }) => name)].map((column) => `${column} = excluded.${column}`)
    return `INSERT INTO ${this.#rowsSql(rows)} ON CONFLICT(id) DO UPDATE SET ${set}`
  }

  /** What a query must say of a field beside its condition, so that SQLite sees that an index of those that have the field holds all there is. */
  havingSql(path: string): string | undefined {
    return this.#sparse.has(path) ? `${this.columnOf(path)} > ${NULL_SQL}` : undefined
  }

  /** @throws TypeError when no index covers the field */
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

  /** The indexed fields' values, in the order of the columns. @throws TypeError at an array or object. */
  columnValues(document: unknown): ColumnValue[] {
    return this.#segments.map((segments, n) => encode(valueAt(document, segments), this.fields[n]!))
  }
}

/**
 * Which collections there are. Names map to numbered tables, so that SQLite's blindness to case does not merge two of them and
 * a rename moves no data. Every change raises `user_version`, by which other connections notice it.
 */
export class Catalogue {
  readonly #connection: Connection
  #tables: ReadonlyMap<string, Table> = new Map()
  #version = -1
  #generation = -1

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Undefined when nobody has created it yet. To be called inside the read or write that uses the answer. */
  find(name: string): Table | undefined {
    checkCollectionName(name)
    this.#refresh()
    return this.#tables.get(name)
  }

  /**
   * Inside a write only. `inOrder`: rows stand in the order of `_id` themselves, which saves an index of it. Not where rows are large and ids
   * in no order: then each new row would dirty a page of its own.
   */
  findOrCreate(name: string, inOrder = false): Table {
    const found = this.find(name)
    if (found !== undefined) return found
    this.#run("INSERT INTO collections(name, fields, indexes) VALUES (?, '[]', '[]')", name)
    this.#changed()
    const created = this.find(name)!
    // No declared types: a column affinity would turn 5 into '5' where the two must stay different.
    const order = inOrder ? ' WITHOUT ROWID' : ''
    this.#run(`CREATE TABLE ${created.sqlName}(id NOT NULL PRIMARY KEY, doc TEXT NOT NULL)${order}`)
    return created
  }

  names(): readonly string[] {
    this.#refresh()
    return [...this.#tables.keys()].sort()
  }

  /** Inside a write only: the columns that the indexes need. @throws TypeError when a document holds no scalar there */
  addColumns(name: string, indexes: readonly Index[]): void {
    // What nobody asks for by anything but _id is small: places, terms, counters.
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

  /** Inside a write only. @throws TypeError when a document holds no scalar there */
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

  /** After a statement that met a table no longer there. */
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
        throw new TypeError(`read models: field "${path}" of document "${id}" is no scalar and cannot be indexed`)
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
