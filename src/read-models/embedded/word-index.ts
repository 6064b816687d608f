import type { Document, WordSearch, WordSearchPage } from '../read-models.js'
import { isFound, type Words } from '../word-search.js'
import { type Column, type ColumnValue, encode, type NumberOf } from './columns.js'
import type { Connection } from './sqlite-connection.js'

/** FTS5 keeps a list for each prefix of up to this many characters. Every length costs every document. */
const maxPrefix = 8
/** A longer prefix is searched by all of its words, if they are in no more documents, or by its first characters. */
const maxMerged = 20_000
/** Every visible character of a word belongs to it. Characters beyond ASCII always do. */
const marks = `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`
/** The numbers of rows that one statement compares. */
const windowRows = 2 ** 20
const maxWindows = 16
const maxRead = 1_000
const minRead = 50
const fillRows = 2_500

interface Table {
  readonly sqlName: string
  readonly columns: readonly Column[]
  readonly order: Column | undefined
  readonly selectSql: string
  readonly numberOf: NumberOf
  columnOf(field: string): Column
  documentOf(row: readonly ColumnValue[], columns?: readonly Column[]): Document
}

/**
 * The words of a collection's documents: the FTS5 table `c<id>_words`, which keeps a list of row numbers for each word and each prefix and
 * nothing else. A search reads the lists of its words from the newest row on.
 *
 * Comparing several lists takes the longer the less they have in common. So each row also has the number of its window as a word, and a
 * search compares the lists within one window after another.
 */
export class WordIndex {
  readonly #name: string
  readonly #row: string
  readonly #compared: readonly string[]

  constructor(
    private readonly table: Table,
    readonly words: Words,
  ) {
    this.#name = `${table.sqlName}_words`
    this.#row = table.order!.name
    this.#compared = [table.order!.field, ...words.from, ...words.equal]
  }

  #create(connection: Connection): void {
    const name = this.#name
    // An earlier attempt may have been interrupted.
    dropWords(connection, this.table.sqlName)
    const tokenchars = marks.replaceAll("'", "''").replaceAll('"', '""')
    connection.database.exec(`CREATE VIRTUAL TABLE ${name} USING fts5(words, content='', columnsize=0, detail=none,
      prefix='${Array.from({ length: maxPrefix }, (_, n) => n + 1).join(' ')}', tokenize="ascii tokenchars '${tokenchars}'")`)
    connection.database.exec(`CREATE VIRTUAL TABLE ${name}_terms USING fts5vocab(${name}, instance)`)
    // Otherwise FTS5 hides deleted words, and removes them when it merges their lists later.
    connection.database.exec(`INSERT INTO ${name}(${name}, rank) VALUES ('secure-delete', 1)`)
    // Merging eight lists at a time instead of four writes less, and a search reads a few more.
    connection.database.exec(`INSERT INTO ${name}(${name}, rank) VALUES ('automerge', 8)`)
  }

  /** Adds the documents after a row, or creates the table and adds the first. Returns the last one, or `undefined` at the end. Inside a write only. */
  fill(connection: Connection, after?: number): number | undefined {
    if (after === undefined) this.#create(connection)
    const { table } = this
    // Only the columns that have the words: decoding all of them took as long as adding the words.
    const columns = this.#compared.map((field) => table.columnOf(field))
    const selected = `SELECT ${columns.map(({ name }) => name)} FROM ${table.sqlName}`
    const sql = `${selected} WHERE ${this.#row} > ? ORDER BY ${this.#row} LIMIT ${fillRows}`
    const rows = connection.statement(sql).all(after ?? -1) as ColumnValue[][]
    for (const row of rows) this.insert(connection, table.documentOf(row, columns))
    return rows.length < fillRows ? undefined : (rows.at(-1)![0] as number)
  }

  insert(connection: Connection, document: Document): void {
    const sql = `INSERT INTO ${this.#name}(rowid, words) VALUES (?, ?)`
    connection.statement(sql).run(this.#rowOf(document), this.#textOf(document))
  }

  delete(connection: Connection, document: Document): void {
    // With the words, because the table does not store which words a row has.
    const sql = `INSERT INTO ${this.#name}(${this.#name}, rowid, words) VALUES ('delete', ?, ?)`
    connection.statement(sql).run(this.#rowOf(document), this.#textOf(document))
  }

  replace(connection: Connection, before: Document, after: Document): void {
    if (this.#compared.every((field) => (before[field] ?? null) === (after[field] ?? null))) return
    this.delete(connection, before)
    this.insert(connection, after)
  }

  search(connection: Connection, search: WordSearch): WordSearchPage {
    const { words, wholeWord, equal = {}, direction, limit } = search
    if (Object.values(equal).some((values) => values.length === 0)) return { documents: [], next: null }
    const lists = [
      ...words.map((word) => `${quoted(this.#prefixOf(connection, word))}*`),
      ...(wholeWord === undefined ? [] : [quoted(wholeWord)]),
      ...Object.entries(equal).map(([field, values]) => this.#listOf(field, values)),
    ]
    const documents: Document[] = []
    let after = search.after ?? (direction === -1 ? Number.MAX_SAFE_INTEGER : -1)
    for (let [windows, read] = [0, 0]; windows < maxWindows && read < maxRead; ) {
      let [match, endOfWindow] = [lists[0]!, after]
      if (lists.length > 1) {
        // Windows in which one of the lists is empty are skipped.
        const heads = lists.map(
          (list) => this.#select(connection, list, direction, after, 1)[0]?.[0] as number | undefined,
        )
        if (heads.includes(undefined)) return { documents, next: null }
        const window = Math.floor((direction === -1 ? Math.min : Math.max)(...(heads as number[])) / windowRows)
        match = [quoted(mark(this.words.equal.length, window)), ...lists].join(' AND ')
        endOfWindow = direction === -1 ? window * windowRows : (window + 1) * windowRows - 1
      }
      const size = Math.max(limit, minRead)
      const rows = this.#select(connection, match, direction, after, size)
      for (const [row, ...values] of rows) {
        after = row as number
        const document = this.table.documentOf(values)
        if (isFound(this.words, document, search)) documents.push(document)
        if (documents.length === limit) return { documents, next: after }
      }
      read += rows.length
      if (rows.length === size) continue
      if (lists.length === 1) return { documents, next: null }
      after = endOfWindow
      windows++
    }
    return { documents, next: after }
  }

  /** Returns the next rows of a list, each with its number first. */
  #select(connection: Connection, match: string, direction: 1 | -1, after: number, limit: number): ColumnValue[][] {
    const { columns, sqlName } = this.table
    const selected = `${this.#name}.rowid,${columns.map(({ name }) => name)},doc`
    const [beyond, order] = direction === -1 ? ['<', 'DESC'] : ['>', 'ASC']
    // FTS5 starts at a row only if its number is an integer, and the driver passes numbers as reals. CROSS keeps the order of the tables.
    const joined = `${this.#name} CROSS JOIN ${sqlName} ON ${sqlName}.${this.#row} = ${this.#name}.rowid`
    const where = `${this.#name} MATCH ? AND ${this.#name}.rowid ${beyond} CAST(? AS INTEGER)`
    const sql = `SELECT ${selected} FROM ${joined} WHERE ${where} ORDER BY ${this.#name}.rowid ${order} LIMIT +?`
    return connection.statement(sql).all(match, after, limit) as ColumnValue[][]
  }

  /** FTS5 merges the lists of all words with a longer prefix before it returns the first row. The documents of a shorter one are checked. */
  #prefixOf(connection: Connection, word: string): string {
    const characters = Array.from(word)
    if (characters.length <= maxPrefix) return word
    const sql = `SELECT 1 FROM ${this.#name}_terms WHERE term >= ? AND term < ? LIMIT 1 OFFSET ${maxMerged}`
    const isCommon = connection.statement(sql).get(word, `${word}\u{10ffff}`) !== undefined
    return isCommon ? characters.slice(0, maxPrefix).join('') : word
  }

  #rowOf(document: Document): ColumnValue {
    const { table } = this
    return encode(document[table.order!.field], table.order!, table.numberOf)
  }

  #textOf(document: Document): string {
    const { equal } = this.words
    const marked = equal.map((field, n) => mark(n, this.#numberOf(field, document[field])))
    const window = mark(equal.length, Math.floor(Number(this.#rowOf(document)) / windowRows))
    return [...this.words.of(document), ...marked, window].join(' ')
  }

  #listOf(field: string, values: readonly unknown[]): string {
    const n = this.words.equal.indexOf(field)
    const numbers = values.map((value) => this.#numberOf(field, value))
    return `(${numbers.map((number) => quoted(mark(n, number))).join(' OR ')})`
  }

  /** Values that are not natural numbers share a list, because a search checks the documents that it finds. */
  #numberOf(field: string, value: unknown): number {
    const number = Number(encode(value, this.table.columnOf(field), this.table.numberOf) ?? -1)
    return Number.isSafeInteger(number) && number >= 0 ? number : -1
  }
}

/** Drops the index of words of a collection's table if it exists. Inside a write only. */
export function dropWords({ database }: Connection, sqlName: string): void {
  database.exec(`DROP TABLE IF EXISTS ${sqlName}_words_terms; DROP TABLE IF EXISTS ${sqlName}_words`)
}

function quoted(word: string): string {
  return `"${word.replaceAll('"', '""')}"`
}

const fieldSize = 0x4000
const firstMark = 0xf0000

/** Returns a word for the number of a field: a private character, which no text contains. Larger numbers have several. */
function mark(field: number, number: number): string {
  let [word, rest] = ['', number + 1]
  do {
    word += String.fromCodePoint(firstMark + field * fieldSize + (rest % fieldSize))
    rest = Math.floor(rest / fieldSize)
  } while (rest > 0)
  return word
}
