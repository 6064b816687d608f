import { isStoredUuid } from '../../../src/kernel/uuid.js'
import { checkCollectionName, checkScalar, operatorsOf } from '../../../src/read-models/checks.js'
import { declarationOf } from '../../../src/read-models/documents.js'
import { equalitiesOf, updated } from '../../../src/read-models/embedded/sqlite-bulk-write.js'
import { ordinalOf, refuseType, timeMs } from '../../../src/read-models/fields.js'
import {
  type Condition,
  type Document,
  DuplicateKeyError,
  type FieldType,
  type Filter,
  type FindOptions,
  type Index,
  type ReadModels,
  type Scalar,
  type Sort,
  type WordSearch,
  type WordSearchPage,
  type WriteOperation,
  type WriteResult,
  writtenId,
} from '../../../src/read-models/read-models.js'
import { ReadModelsAdapter } from '../../../src/read-models/read-models-adapter.js'
import { isFound, type Words, wordsField } from '../../../src/read-models/word-search.js'

type Types = { readonly [field: string]: FieldType }
type Test = (document: Document) => boolean

/** A database in memory, which survives its connections. Its documents are frozen, so that none is copied when it is read. */
export class MemoryDocuments {
  #collections = new Map<string, StoredCollection>()

  open(): ReadModels {
    return new MemoryReadModels(this)
  }

  snapshot(): ReadonlyMap<string, StoredCollection> {
    return new Map([...this.#collections].map(([name, collection]) => [name, collection.copy()]))
  }

  restore(snapshot: ReadonlyMap<string, StoredCollection>): void {
    this.#collections = new Map([...snapshot].map(([name, collection]) => [name, collection.copy()]))
  }

  find(name: string): StoredCollection | undefined {
    return this.#collections.get(name)
  }

  findOrCreate(name: string): StoredCollection {
    const found = this.find(name) ?? new StoredCollection(name)
    this.#collections.set(name, found)
    return found
  }

  /** @throws TypeError */
  rename(from: string, to: string): void {
    const source = this.find(from)
    if (!source || this.find(to)) throw new TypeError(`read models: cannot rename "${from}" to "${to}"`)
    this.#collections.delete(from)
    this.#collections.set(to, source)
  }

  drop(name: string): void {
    this.#collections.delete(name)
  }

  names(): readonly string[] {
    return [...this.#collections.keys()].sort()
  }
}

class MemoryReadModels extends ReadModelsAdapter {
  constructor(private readonly stored: MemoryDocuments) {
    super()
  }

  protected async find(name: string, filter: Filter, options: FindOptions): Promise<readonly Document[]> {
    return this.stored.find(name)?.find(filter, options) ?? []
  }

  protected async count(name: string, filter: Filter, limit: number | undefined): Promise<number> {
    return (await this.find(name, filter, limit === undefined ? {} : { limit })).length
  }

  protected async bulkWrite(name: string, operations: readonly WriteOperation[]): Promise<WriteResult> {
    return this.stored.findOrCreate(name).bulkWrite(operations)
  }

  protected async put(name: string, documents: readonly Document[]): Promise<void> {
    this.stored.findOrCreate(name).put(documents)
  }

  protected async search(name: string, words: Words, search: WordSearch): Promise<WordSearchPage> {
    return this.stored.find(name)?.search(words, search) ?? { documents: [], next: null }
  }

  protected async addIndexes(name: string, indexes: readonly Index[]): Promise<void> {
    const collection = this.stored.findOrCreate(name)
    collection.hasWords ||= indexes.some(({ key }) => wordsField in key)
  }

  protected async create(name: string, indexes: readonly Index[]): Promise<void> {
    this.stored.findOrCreate(name).allowFields(indexes.flatMap(({ key }) => Object.keys(key)))
  }

  async rename(from: string, to: string): Promise<void> {
    checkCollectionName(to)
    this.stored.rename(from, to)
  }

  async drop(name: string): Promise<void> {
    this.stored.drop(name)
  }

  async listCollections(): Promise<readonly string[]> {
    return this.stored.names()
  }

  async close(): Promise<void> {}
}

class StoredCollection {
  hasWords = false
  readonly #documents = new Map<string, Document>()
  /** The fields of indexes. Like those that are declared, a filter can use them, and they hold scalars. */
  readonly #indexed = new Set<string>(['_id'])
  readonly #types: Types
  readonly #order: string | undefined

  constructor(private readonly name: string) {
    const declaration = declarationOf(name)
    this.#types = declaration?.fields ?? {}
    this.#order = declaration?.order
  }

  copy(): StoredCollection {
    const copy = new StoredCollection(this.name)
    copy.hasWords = this.hasWords
    for (const [id, document] of this.#documents) copy.#documents.set(id, document)
    for (const field of this.#indexed) copy.#indexed.add(field)
    return copy
  }

  /** @throws TypeError if a document has a value there that is not a scalar */
  allowFields(fields: readonly string[]): void {
    for (const field of fields) {
      if (field === wordsField) continue
      for (const document of this.#documents.values()) checkScalar(field, document[field] ?? null)
      this.#indexed.add(field)
    }
  }

  find(filter: Filter, { sort = {}, limit = Number.POSITIVE_INFINITY }: FindOptions): readonly Document[] {
    const isSelected = this.#testOf(filter, true)
    const fields = Object.entries(sort)
    for (const [field] of fields) this.#requireIndexed(field)
    const found: Document[] = []
    for (const document of this.#candidates(filter)) {
      if (fields.length === 0 && found.length >= limit) break
      if (isSelected(document)) found.push(document)
    }
    return fields.length === 0 ? found : found.sort(comparisonOf(sort, this.#types)).slice(0, limit)
  }

  /** Applies all operations, or none if one is invalid. @throws DuplicateKeyError, TypeError */
  bulkWrite(operations: readonly WriteOperation[]): WriteResult {
    const result = { matchedCount: 0, upsertedCount: 0, deletedCount: 0 }
    const changed = new Map<string, Document | undefined>()
    let isDuplicate = false
    for (const operation of operations) {
      const id = writtenId(operation)
      const stored = changed.has(id) ? changed.get(id) : this.#documents.get(id)
      if ('insertOne' in operation) {
        if (stored) isDuplicate = true
        else changed.set(id, this.#formOf(operation.insertOne.document))
        continue
      }
      if ('deleteOne' in operation) {
        if (!stored || !this.#testOf(operation.deleteOne.filter, false)(stored)) continue
        changed.set(id, undefined)
        result.deletedCount++
        continue
      }
      const change = 'updateOne' in operation ? operation.updateOne : operation.replaceOne
      if (stored ? !this.#testOf(change.filter, false)(stored) : !change.upsert) continue
      const next =
        'update' in change ? updated(stored ?? equalitiesOf(change.filter), change.update) : change.replacement
      changed.set(id, this.#formOf(next))
      result[stored ? 'matchedCount' : 'upsertedCount']++
    }
    for (const [id, document] of changed) {
      if (document) this.#documents.set(id, document)
      else this.#documents.delete(id)
    }
    if (isDuplicate) throw new DuplicateKeyError(`"${this.name}" has a document with this _id already`)
    return result
  }

  put(documents: readonly Document[]): void {
    for (const document of documents.map((one) => this.#formOf(one))) this.#documents.set(document._id, document)
  }

  search(words: Words, search: WordSearch): WordSearchPage {
    if (!this.hasWords) throw new TypeError(`read models: "${this.name}" has no index of words`)
    const { direction, after, limit } = search
    const orderOf = (document: Document) => document[this.#order!] as number
    const cached = { ...words, of: (document: Document) => knownWords(words, document) }
    const found = [...this.#documents.values()]
      .filter((document) => after === undefined || direction * (orderOf(document) - after) > 0)
      .filter((document) => isFound(cached, document, search))
      .sort((a, b) => direction * (orderOf(a) - orderOf(b)))
    const page = found.slice(0, limit)
    return { documents: page, next: found.length > limit ? orderOf(page.at(-1)!) : null }
  }

  /** Returns the documents that a filter can select. */
  #candidates(filter: Filter): Iterable<Document> {
    const { _id } = filter as { readonly _id?: Condition }
    const ids = typeof _id === 'string' ? [_id] : typeof _id === 'object' && _id?.$in ? new Set(_id.$in) : undefined
    return ids ? [...ids].flatMap((id) => this.#documents.get(id as string) ?? []) : this.#documents.values()
  }

  /** @param isQuery whether each field must be indexed. The filter of a write finds its document by `_id`. */
  #testOf(filter: Filter, isQuery: boolean): Test {
    const tests = Object.entries(filter).map(([key, value]): Test => {
      if (key !== '$and' && key !== '$or') {
        if (isQuery) this.#requireIndexed(key)
        return conditionTest(key, value as Condition, this.#types[key])
      }
      const parts = (value as readonly Filter[]).map((part) => this.#testOf(part, isQuery))
      return key === '$and'
        ? (document) => parts.every((part) => part(document))
        : (document) => parts.some((part) => part(document))
    })
    return tests.length === 1 ? tests[0]! : (document) => tests.every((test) => test(document))
  }

  #requireIndexed(field: string): void {
    if (!this.#indexed.has(field) && this.#types[field] === undefined)
      throw new TypeError(`read models: field "${field}" of "${this.name}" is not indexed`)
  }

  /** Returns the frozen document as the embedded read models return it: declared fields first. @throws TypeError */
  #formOf(document: Document): Document {
    const form: { _id: string; [field: string]: unknown } = { _id: document._id }
    for (const field in this.#types) {
      const value = document[field] ?? null
      checkTyped(field, this.#types[field]!, value)
      if (value !== null) form[field] = value
    }
    for (const field in document) {
      if (Object.hasOwn(form, field)) continue
      if (this.#indexed.has(field)) checkScalar(field, document[field])
      form[field] = frozen(document[field])
    }
    if (this.#order && this.#order !== '_id' && !Number.isSafeInteger(form[this.#order]))
      throw new TypeError(`read models: "${this.#order}" orders "${this.name}" and must be a whole number`)
    return Object.freeze(form)
  }
}

const wordsOfDocuments = new WeakMap<Document, readonly string[]>()

function knownWords(words: Words, document: Document): readonly string[] {
  const known = wordsOfDocuments.get(document) ?? words.of(document)
  wordsOfDocuments.set(document, known)
  return known
}

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(value.map(frozen))
  const copy: { [field: string]: unknown } = {}
  for (const field in value) copy[field] = frozen((value as { [field: string]: unknown })[field])
  return Object.freeze(copy)
}

/** @throws TypeError if a field of this type cannot hold the value */
function checkTyped(field: string, type: FieldType, value: unknown): void {
  if (value === null) return
  const isHeld =
    type === 'number' || type === 'boolean'
      ? typeof value === type
      : typeof value === 'string' && (type !== 'ordinal' || ordinalOf(value) !== undefined)
  if (!isHeld) refuseType(field, type, value)
}

function conditionTest(field: string, condition: Condition, type: FieldType | undefined): Test {
  const tests = operatorsOf(condition).map(([operator, operand]): ((value: unknown) => boolean) => {
    if (operator === '$exists') return (value) => (value !== undefined) === operand
    const operands = operator === '$in' ? (operand as readonly Scalar[]) : [operand]
    if (type !== undefined) for (const one of operands) checkTyped(field, type, one)
    if (operator === '$in' || operator === '$eq') {
      const wanted = new Set<unknown>(operands)
      return (value) => wanted.has(value ?? null)
    }
    const rank = rankOf(operand, type)
    const isEqualIn = operator.endsWith('e')
    const sign = operator.startsWith('$g') ? 1 : -1
    return (value) => {
      if (rankOf(value, type) !== rank) return false
      const order = compareAlike(value, operand)
      return order === 0 ? isEqualIn : order * sign > 0
    }
  })
  return (document) => {
    const value = document[field]
    if (Array.isArray(value)) throw new TypeError(`read models: guard on "${field}" meets an array`)
    return tests.every((test) => test(value))
  }
}

function comparisonOf(sort: Sort, types: Types): (a: Document, b: Document) => number {
  const fields = Object.entries(sort)
  return (a, b) => {
    for (const [field, direction] of fields) {
      const [left, right, type] = [a[field], b[field], types[field]]
      const order = left === right ? 0 : rankOf(left, type) - rankOf(right, type) || compareAlike(left, right)
      if (order !== 0) return order * direction
    }
    return 0
  }
}

/** Returns the place of a value's type in the order of types. A range contains only values of one. Texts that do not fit a type have another. */
function rankOf(value: unknown, type: FieldType | undefined): number {
  if (value === undefined || value === null) return 0
  if (typeof value === 'number') return 1
  if (typeof value === 'boolean') return 4
  if (type === 'uuid') return isStoredUuid(value as string) ? 3 : 2
  return type === 'time' && timeMs(value as string) !== undefined ? 1 : 2
}

/** Compares values of one rank. */
function compareAlike(a: unknown, b: unknown): number {
  return typeof a === 'string' ? compareTexts(a, b as string) : Number(a ?? 0) - Number(b ?? 0)
}

/** Compares texts by their UTF-8 bytes. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let n = 0; n < length; n++) {
    const [x, y] = [a.charCodeAt(n), b.charCodeAt(n)]
    // A surrogate is a part of a character above U+FFFF, which follows all others.
    if (x !== y) return Number(isSurrogate(x)) - Number(isSurrogate(y)) || x - y
  }
  return a.length - b.length
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff
}
