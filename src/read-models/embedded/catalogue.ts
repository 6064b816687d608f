import { checkCollectionName } from '../conditions.js'
import type { Index } from '../read-models.js'
import { type ColumnValue, encode, jsonPathSql, NULL_SQL, valueAt } from './columns.js'
import type { Connection } from './connection.js'

/** MongoDB's own limit. */
const INDEXES_MAX = 64

interface StoredIndex {
  readonly key: readonly (readonly [string, 1 | -1])[]
}

/** One collection: its table `c<id>` with the columns `id`, `doc` and `f<n>` for the n-th indexed field. */
export class Table {
  readonly sqlName: string
  readonly columns: readonly { readonly path: string; readonly name: string }[]
  readonly insertSql: string
  readonly loadSql: string
  readonly deleteSql: string
  readonly #segments: readonly (readonly string[])[]
  readonly #columnOfPath: ReadonlyMap<string, string>

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
    this.insertSql = `INSERT INTO ${this.sqlName}(${['id', 'doc', ...names]}) VALUES (?,?${',?'.repeat(names.length)})`
    this.loadSql = `SELECT ${['rowid', 'doc', ...names]} FROM ${this.sqlName} WHERE id = ?`
    this.deleteSql = `DELETE FROM ${this.sqlName} WHERE rowid = ?`
  }

  /** @throws TypeError when no index covers the field */
  columnOf(path: string): string {
    const column = this.#columnOfPath.get(path)
    if (column === undefined) throw new TypeError(`read models: field "${path}" of "${this.name}" is not indexed`)
    return column
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

  /** Inside a write only. */
  findOrCreate(name: string): Table {
    const found = this.find(name)
    if (found !== undefined) return found
    this.#run("INSERT INTO collections(name, fields, indexes) VALUES (?, '[]', '[]')", name)
    this.#changed()
    const created = this.find(name)!
    // No declared types: a column affinity would turn 5 into '5' where the two must stay different.
    this.#run(`CREATE TABLE ${created.sqlName}(id NOT NULL PRIMARY KEY, doc TEXT NOT NULL)`)
    return created
  }

  names(): readonly string[] {
    this.#refresh()
    return [...this.#tables.keys()].sort()
  }

  /** Inside a write only. @throws TypeError when a document holds no scalar there */
  createIndex(name: string, index: Index): void {
    const table = this.findOrCreate(name)
    const key = Object.entries(index.key)
    if (key.length === 1 && key[0]![0] === '_id') return
    if (table.indexes.some((existing) => json(existing.key) === json(key))) return
    if (table.indexes.length >= INDEXES_MAX)
      throw new TypeError(`read models: "${name}" has ${INDEXES_MAX} indexes already`)
    const fields = [...table.fields]
    for (const [path] of key) {
      if (path === '_id' || fields.includes(path)) continue
      this.#addColumn(table, `f${fields.length}`, path)
      fields.push(path)
    }
    const indexes = [...table.indexes, { key }]
    this.#run('UPDATE collections SET fields = ?, indexes = ? WHERE id = ?', json(fields), json(indexes), table.id)
    this.#changed()
    const grown = this.find(name)!
    const columns = key.map(([path, direction]) => `${grown.columnOf(path)}${direction === -1 ? ' DESC' : ''}`)
    const indexName = `${grown.sqlName}_i${indexes.length}`
    this.#run(`CREATE INDEX ${indexName} ON ${grown.sqlName}(${columns})`)
  }

  /** Inside a write only. @throws TypeError when there is no `from` */
  rename(from: string, to: string): void {
    checkCollectionName(to)
    const source = this.find(from)
    if (source === undefined || from === to) throw new TypeError(`read models: cannot rename "${from}" to "${to}"`)
    this.drop(to)
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
