import { wordsOf } from '../documents.js'
import type { Declaration } from '../fields.js'
import type { Document, Index } from '../read-models.js'
import { wordsField } from '../word-search.js'
import type { Keywords } from './columns.js'
import { affinityOf, type Column, type ColumnValue, decode, encode, type NumberOf } from './columns.js'
import { WordIndex } from './word-index.js'

/** MongoDB's limit. */
const maxDocumentCharacters = 16 * 1024 * 1024

/**
 * One collection: its table `c<id>` with the column `id`, a column `f<n>` for each declared field and then for each indexed one, and `doc` with
 * the JSON of the fields that are not declared. A declared field that is null is in the JSON too, because its column only holds NULL.
 */
export class Table {
  readonly sqlName: string
  /** The columns without `doc`. */
  readonly columns: readonly Column[]
  /** The column by whose number the rows are stored. */
  readonly order: Column | undefined
  readonly selectSql: string
  /** Ignores existing rows. */
  readonly insertMissingSql: string
  readonly loadSql: string
  readonly deleteSql: string
  readonly wordIndex: WordIndex | undefined
  readonly #byField: ReadonlyMap<string, Column>

  constructor(
    readonly id: number,
    readonly name: string,
    readonly declaration: Declaration | undefined,
    /** The indexed fields that are not declared. */
    readonly fields: readonly string[],
    readonly indexes: readonly Index[],
    readonly keywords: Keywords,
  ) {
    this.sqlName = `c${id}`
    const { _id, ...declared } = declaration?.fields ?? {}
    this.columns = [
      { field: '_id', name: 'id', type: _id },
      ...[...Object.entries(declared), ...fields.map((field) => [field, undefined] as const)].map(
        ([field, type], n): Column => ({ field, type, name: `f${n}` }),
      ),
    ]
    this.#byField = new Map(this.columns.map((column) => [column.field, column]))
    this.order = this.#byField.get(declaration?.order ?? '')
    const names = this.columns.map(({ name }) => name)
    this.selectSql = `SELECT ${names},doc FROM ${this.sqlName}`
    this.insertMissingSql = `INSERT INTO ${this.#rowsSql(1)} ON CONFLICT(id) DO NOTHING`
    this.loadSql = `${this.selectSql} WHERE id = ?`
    this.deleteSql = `DELETE FROM ${this.sqlName} WHERE id = ?`
    if (indexes.some(({ key }) => wordsField in key)) this.wordIndex = new WordIndex(this, wordsOf(name)!)
  }

  /** With `inOrder`, an undeclared table is stored in the order of `_id`. */
  createSql(inOrder: boolean): string {
    const { order } = this
    const columns = this.columns.map((column) => {
      const { name, type } = column
      const key =
        column === order ? ' PRIMARY KEY' : name !== 'id' ? '' : order ? ' NOT NULL UNIQUE' : ' NOT NULL PRIMARY KEY'
      return name + affinityOf(type) + key
    })
    // Without a declared type, because a column affinity would turn the text '5' into 5.
    return `CREATE TABLE ${this.sqlName}(${columns}, doc TEXT)${inOrder && !order ? ' WITHOUT ROWID' : ''}`
  }

  /** One statement writes many rows, because a call of SQLite costs as much as a row. */
  putSql(rows: number): string {
    const set = [...this.columns.slice(1).map(({ name }) => name), 'doc'].map((name) => `${name}=excluded.${name}`)
    return `INSERT INTO ${this.#rowsSql(rows)} ON CONFLICT(id) DO UPDATE SET ${set}`
  }

  /** @throws TypeError if the field has no column */
  columnOf(field: string): Column {
    const column = this.#byField.get(field)
    if (column === undefined) throw new TypeError(`read models: field "${field}" of "${this.name}" is not indexed`)
    return column
  }

  findColumn(field: string): Column | undefined {
    return this.#byField.get(field)
  }

  /** Returns the values of a row: the columns, and the JSON. @throws TypeError if a column cannot hold its field */
  rowOf(document: Document): ColumnValue[] {
    const { columns, order } = this
    const row = new Array<ColumnValue>(columns.length + 1)
    for (let n = 0; n < columns.length; n++) {
      const column = columns[n]!
      const value = encode(document[column.field], column, this.keywords.findOrAdd)
      if (column === order && !Number.isSafeInteger(value))
        throw new TypeError(`read models: "${column.field}" orders "${this.name}" and must be a whole number`)
      row[n] = value
    }
    row[columns.length] = this.restOf(document)
    return row
  }

  /** Returns the document of a row, or the part of it that is in some columns. */
  documentOf(row: readonly ColumnValue[], columns: readonly Column[] = this.columns): Document {
    const document: { _id: string; [field: string]: unknown } = { _id: '' }
    for (let n = 0; n < columns.length; n++) {
      const { field, type } = columns[n]!
      const value = row[n]!
      // The JSON has an undeclared field in its own place.
      if (value !== null && (type !== undefined || field === '_id'))
        document[field] = decode(value, type, this.keywords.textOf)
    }
    const rest = row[columns.length] as string | null | undefined
    return typeof rest !== 'string' ? document : Object.assign(document, JSON.parse(rest))
  }

  /** Returns the JSON of the fields that no column returns, or null if columns return all. */
  restOf(document: Document): string | null {
    let rest: { [field: string]: unknown } | undefined
    for (const field in document) {
      const value = document[field]
      if (field === '_id' || (value !== null && this.#byField.get(field)?.type !== undefined)) continue
      rest ??= {}
      rest[field] = value
    }
    if (rest === undefined) return null
    const text = JSON.stringify(rest)
    if (text.length > maxDocumentCharacters)
      throw new TypeError(`read models: document "${document._id}" has ${text.length} characters, too many`)
    return text
  }

  #rowsSql(rows: number): string {
    const row = `(?${',?'.repeat(this.columns.length)})`
    return `${this.sqlName}(${this.columns.map(({ name }) => name)},doc) VALUES ${`${row},`.repeat(rows).slice(0, -1)}`
  }

  /** The number of an existing keyword, for a condition. */
  get numberOf(): NumberOf {
    return this.keywords.find
  }
}
