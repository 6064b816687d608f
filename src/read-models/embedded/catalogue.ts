import { declarationOf, wordsOf } from '../documents.js'
import type { Index, Sort } from '../read-models.js'
import { wordsField } from '../word-search.js'
import { jsonTypeSql, Keywords } from './columns.js'
import { sortToSql } from './filter-to-sql.js'
import type { Connection } from './sqlite-connection.js'
import { Table } from './table.js'
import { dropWords, WordIndex } from './word-index.js'

/** MongoDB's limit. */
const maxIndexes = 64

/**
 * The collections and their tables. Names map to numbered tables, so that names that differ only in case stay separate in SQLite, and a
 * rename moves no data. Every change increases `user_version`, by which other connections notice it.
 */
export class Catalogue {
  #tables: ReadonlyMap<string, Table> = new Map()
  #version = -1
  #generation = -1

  readonly #keywords: Keywords

  constructor(private readonly connection: Connection) {
    this.#keywords = new Keywords(connection)
  }

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
    // Stored, because a build of another version can have another declaration.
    const declaration = JSON.stringify(declarationOf(name) ?? null)
    this.#run(
      "INSERT INTO collections(name, declaration, fields, indexes) VALUES (?, ?, '[]', '[]')",
      name,
      declaration,
    )
    this.#changed()
    const created = this.find(name)!
    this.#run(created.createSql(inOrder))
    return created
  }

  names(): readonly string[] {
    this.#refresh()
    return [...this.#tables.keys()].sort()
  }

  /** Adds the columns of the indexes, inside a write only. @throws TypeError if a document has a value there that is not a scalar */
  addColumns(name: string, indexes: readonly Index[]): void {
    // Collections that are queried by _id only have small documents: feeds, counters.
    const table = this.findOrCreate(name, indexes.length === 0)
    const fields = [...table.fields]
    for (const path of indexes.flatMap(({ key }) => Object.keys(key))) {
      if (path === wordsField) continue
      if (table.findColumn(path) !== undefined || fields.includes(path)) continue
      this.#addColumn(table, `f${table.columns.length - 1 + fields.length - table.fields.length}`, path)
      fields.push(path)
    }
    if (fields.length === table.fields.length) return
    this.#run('UPDATE collections SET fields = ? WHERE id = ?', JSON.stringify(fields), table.id)
    this.#changed()
  }

  /**
   * Requires an open write. An index of words takes several writes: it returns the row after which the next one continues, and `undefined`
   * after the last one. @throws TypeError if a document has a value there that is not a scalar
   */
  createIndex(name: string, index: Index, after?: number): number | undefined {
    const table = this.findOrCreate(name)
    const { key, having } = index
    if (Object.keys(key).join() === '_id') return undefined
    if (table.indexes.some((existing) => JSON.stringify(existing.key) === JSON.stringify(key))) return undefined
    if (table.indexes.length >= maxIndexes)
      throw new TypeError(`read models: "${name}" has ${maxIndexes} indexes already`)
    this.addColumns(name, [index])
    const words = wordsField in key ? new WordIndex(table, wordsOf(name)!) : undefined
    const next = words?.fill(this.connection, after)
    if (next !== undefined) return next
    const indexes = [...table.indexes, index]
    this.#run('UPDATE collections SET indexes = ? WHERE id = ?', JSON.stringify(indexes), table.id)
    this.#changed()
    if (words) return undefined
    const grown = this.find(name)!
    const columns = sortToSql(withoutOrder(key, grown.order?.field), grown)
    const indexName = `${grown.sqlName}_i${indexes.length}`
    const where = having === undefined ? '' : ` WHERE ${grown.columnOf(having).name} IS NOT NULL`
    this.#run(`CREATE INDEX ${indexName} ON ${grown.sqlName}(${columns})${where}`)
    return undefined
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
    dropWords(this.connection, table.sqlName)
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
      WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE json_extract(doc, '$."${field}"') END`)
  }

  #refresh(): void {
    const { connection } = this
    const [version] = connection.statement('PRAGMA user_version').get() as [number]
    if (version === this.#version && connection.generation === this.#generation) return
    connection.forgetStatements()
    const rows = connection.statement('SELECT id, name, declaration, fields, indexes FROM collections').all()
    this.#tables = new Map(
      (rows as [number, string, string, string, string][]).map(([id, name, declaration, fields, indexes]) => [
        name,
        new Table(
          id,
          name,
          JSON.parse(declaration) ?? undefined,
          JSON.parse(fields),
          JSON.parse(indexes),
          this.#keywords,
        ),
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

/**
 * Returns the key of an index that ends with the order of the rows, which SQLite appends to every index in ascending order. An index whose
 * directions are all reversed serves the same sorts, because SQLite reads it backwards.
 */
function withoutOrder(key: Sort, order: string | undefined): Sort {
  const fields = Object.entries(key)
  if (fields.length === 1 || fields.at(-1)![0] !== order) return key
  const [, last] = fields.pop()!
  return Object.fromEntries(fields.map(([field, direction]) => [field, (direction * last) as 1 | -1]))
}
