/**
 * The read-model port: the small subset of MongoDB's Collection API that projections and queries use. One implementation uses the driver's
 * collections. The embedded one compiles the same filters to SQL and throws on anything it does not support.
 */

export type Scalar = string | number | boolean | null
export type Document = { readonly _id: string; readonly [field: string]: unknown }

export type Condition =
  | Scalar
  | {
      readonly $gt?: Scalar
      readonly $gte?: Scalar
      readonly $lt?: Scalar
      readonly $lte?: Scalar
      readonly $in?: readonly Scalar[]
      readonly $exists?: boolean
    }

/** Conditions on indexed fields, all of which must hold; `$or` takes alternatives. A field without an index throws. */
export type Filter =
  | { readonly [field: string]: Condition }
  | { readonly $or: readonly Filter[] }
  | { readonly $and: readonly Filter[] }

export type Sort = { readonly [field: string]: 1 | -1 }

export interface FindOptions {
  readonly sort?: Sort
  readonly limit?: number
}

/** Changes fields of the document itself, not of objects in it. */
export interface Update {
  readonly $set?: { readonly [field: string]: unknown }
  readonly $unset?: { readonly [field: string]: '' }
  readonly $inc?: { readonly [field: string]: number }
}

/** Names one document. Further conditions guard the write: if one fails, nothing changes, and an upsert inserts no second document. */
export type WriteFilter = { readonly _id: string; readonly [field: string]: Condition }

export type WriteOperation =
  | { readonly insertOne: { readonly document: Document } }
  | { readonly updateOne: { readonly filter: WriteFilter; readonly update: Update; readonly upsert?: boolean } }
  | {
      readonly replaceOne: {
        readonly filter: WriteFilter
        readonly replacement: Document
        readonly upsert?: boolean
        /** The document that is probably stored. A store that has the same values in the guarded fields can write only the changes. */
        readonly previous?: Document | undefined
      }
    }
  | { readonly deleteOne: { readonly filter: WriteFilter } }

export interface WriteResult {
  readonly matchedCount: number
  readonly upsertedCount: number
  readonly deletedCount: number
}

export interface Index {
  /** The fields in order: 1 ascending, -1 descending. */
  readonly key: Sort
  /** A field of the key that every query served by this index compares with a value. The index may omit documents without it. */
  readonly having?: string
}

/**
 * How stores keep a field of a declared collection:
 *
 *     uuid      a text that is usually a UUID: 16 bytes
 *     time      ISO 8601 in UTC with milliseconds: a date, or its milliseconds
 *     keyword   a text with few values, such as a merchant's id; SQLite stores its number. It can be compared for equality only
 *     text      any text
 *     number    a number; whole ones are 64-bit integers
 *     ordinal   the digits of a whole number, as `ordinalText` returns them: an integer
 *     boolean   a boolean
 *     an array  its texts, stored as small integers. It can be compared for equality only
 */
export type FieldType = 'uuid' | 'time' | 'keyword' | 'text' | 'number' | 'ordinal' | 'boolean' | readonly string[]

/** Selects the documents that have all of the words. */
export interface WordSearch {
  /** Prefixes of words. */
  readonly words: readonly string[]
  /** A complete word. */
  readonly wholeWord?: string
  /** The values of which the document must have one, by field. */
  readonly equal?: { readonly [field: string]: readonly Scalar[] }
  /** By the field that orders the collection. */
  readonly direction: 1 | -1
  /** Only documents after this value of the ordering field. */
  readonly after?: number | undefined
  readonly limit: number
}

export interface WordSearchPage {
  /** Fewer than the limit, or none, if the search would have to read too much. */
  readonly documents: readonly Document[]
  /** Where to continue; null at the end. The rest can be empty. */
  readonly next: number | null
}

export interface Collection {
  findOne(filter: Filter, options?: FindOptions): Promise<Document | null>
  find(filter: Filter, options?: FindOptions): Promise<readonly Document[]>
  /** Stops counting at `limit`. */
  countDocuments(filter: Filter, options?: Pick<FindOptions, 'limit'>): Promise<number>
  /**
   * Applies the operations unordered. An upsert whose guard fails on an existing `_id` counts as not matched. All operations are checked
   * before the first one is applied.
   * @throws DuplicateKeyError after the other operations are applied, ReadModelsUnavailableError, TypeError
   */
  bulkWrite(operations: readonly WriteOperation[]): Promise<WriteResult>
  /**
   * Writes whole documents over the existing ones. Only for the single writer of a collection. Fastest in the order of `_id`; not atomic.
   * @throws ReadModelsUnavailableError, TypeError
   */
  put(documents: readonly Document[]): Promise<void>
  /** Finds documents by words, newest or oldest first. @throws TypeError if the collection has no index of words */
  search(search: WordSearch): Promise<WordSearchPage>
  /** Returns the next documents after an `_id`, ordered by its UTF-8 bytes. Documents that are equal byte for byte have equal texts. */
  texts(after: string | undefined, limit: number): Promise<readonly DocumentText[]>
}

export interface DocumentText {
  readonly _id: string
  /** The document as JSON. */
  readonly text: string
}

export interface ReadModels {
  /** Opens a collection. The name of a projection's collection stands for the build that its pointer names (read-models-adapter.ts). */
  collection(name: string): Collection
  /** Creates missing indexes. Filters and sorts can use a field only after this. */
  createIndexes(name: string, indexes: readonly Index[]): Promise<void>
  /** Creates a collection that gets these indexes from {@link createIndexes} after it is filled, which is faster. Idempotent. */
  createUnfilled(name: string, indexes: readonly Index[]): Promise<void>
  /** Renames a collection and its indexes. @throws TypeError if `from` is missing or `to` exists */
  rename(from: string, to: string): Promise<void>
  /** Drops a collection if it exists. */
  drop(name: string): Promise<void>
  listCollections(): Promise<readonly string[]>
  close(): Promise<void>
}

/** The read models cannot be reached or written at present. */
export class ReadModelsUnavailableError extends Error {
  override readonly name = 'ReadModelsUnavailableError'
}

/** A document with this `_id` already exists. */
export class DuplicateKeyError extends Error {
  override readonly name = 'DuplicateKeyError'
}

/** Returns the `_id` of the document that an operation writes. */
export function writtenId(operation: WriteOperation): string {
  if ('insertOne' in operation) return operation.insertOne.document._id
  if ('replaceOne' in operation) return operation.replaceOne.filter._id
  if ('updateOne' in operation) return operation.updateOne.filter._id
  return operation.deleteOne.filter._id
}
