import type { Connection } from './sqlite-connection.js'

/**
 * The numbers of keywords, such as merchants' ids, which take a byte or two in a row and in each of its indexes instead of 37. They are kept
 * in memory, because there are few, and a number never changes its text.
 */
export class Keywords {
  readonly #numbers = new Map<string, number>()
  readonly #texts = new Map<number, string>()
  #generation = -1

  constructor(private readonly connection: Connection) {}

  /** Returns -1 for a text without a number. */
  readonly find = (text: string): number => this.#known().get(text) ?? this.#load('text = ?', text)?.[0] ?? -1

  /** Inside a write only. */
  readonly findOrAdd = (text: string): number => {
    const found = this.find(text)
    if (found >= 0) return found
    this.connection.statement('INSERT INTO keywords(text) VALUES (?)').run(text)
    return this.find(text)
  }

  readonly textOf = (number: number): string => {
    this.#known()
    return this.#texts.get(number) ?? this.#load('id = ?', number)![1]
  }

  /** Forgets everything after a rollback, which has undone new numbers. */
  #known(): ReadonlyMap<string, number> {
    if (this.#generation === this.connection.generation) return this.#numbers
    this.#numbers.clear()
    this.#texts.clear()
    this.#generation = this.connection.generation
    return this.#numbers
  }

  #load(condition: string, value: string | number): [number, string] | undefined {
    const row = this.connection.statement(`SELECT id, text FROM keywords WHERE ${condition}`).get(value)
    if (row === undefined) return undefined
    const [number, text] = row as [number, string]
    this.#numbers.set(text, number)
    this.#texts.set(number, text)
    return [number, text]
  }
}
