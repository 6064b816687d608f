/**
 * The read-model port: the small subset of MongoDB's Collection API that projections and queries use. The driver's own
 * collections are one implementation; the embedded one compiles the same filters to SQL and throws at what it does not know.
 */

export type Scalar = string | number | boolean | null
export type Document = { readonly _id: string; readonly [field: string]: unknown }

export type Condition =
  | Scalar
  | {
      readonly $eq?: Scalar
      readonly $ne?: Scalar
      readonly $gt?: Scalar
      readonly $gte?: Scalar
      readonly $lt?: Scalar
      readonly $lte?: Scalar
      readonly $in?: readonly Scalar[]
      readonly $exists?: boolean
    }

/** Conditions on indexed fields, and-ed; `$or` takes alternatives. Unindexed fields throw. */
export type Filter =
  | { readonly [field: string]: Condition }
  | { readonly $or: readonly Filter[] }
  | { readonly $and: readonly Filter[] }

export type Sort = { readonly [field: string]: 1 | -1 }

export interface FindOptions {
  readonly sort?: Sort
  readonly limit?: number
}

export interface Update {
  readonly $set?: { readonly [field: string]: unknown }
  readonly $unset?: { readonly [field: string]: '' }
  readonly $inc?: { readonly [field: string]: number }
}

/** Names one document; further conditions guard: a write whose guard fails changes nothing, and with upsert never inserts a second one. */
export type WriteFilter = { readonly _id: string; readonly [field: string]: Condition }

export type WriteOperation =
  | { readonly insertOne: { readonly document: Document } }
  | { readonly updateOne: { readonly filter: WriteFilter; readonly update: Update; readonly upsert?: boolean } }
  | { readonly replaceOne: { readonly filter: WriteFilter; readonly replacement: Document; readonly upsert?: boolean } }
  | { readonly deleteOne: { readonly filter: WriteFilter } }

export interface WriteResult {
  readonly insertedCount: number
  readonly matchedCount: number
  readonly modifiedCount: number
  readonly upsertedCount: number
  readonly deletedCount: number
}

export interface Index {
  /** Fields in order; 1 ascending, -1 descending. */
  readonly key: { readonly [field: string]: 1 | -1 }
  /** A field of the key that questions served by this index always compare with a value: documents without it may be left out. */
  readonly having?: string
}

export interface Collection {
  findOne(filter: Filter, options?: FindOptions): Promise<Document | null>
  find(filter: Filter, options?: FindOptions): Promise<readonly Document[]>
  /** Of more than `limit` no more are counted, nor looked at. */
  countDocuments(filter: Filter, options?: Pick<FindOptions, 'limit'>): Promise<number>
  /**
   * Unordered. An upsert that meets its own `_id` behind a failed guard counts as not matched. All operations are checked before the
   * first is applied. @throws DuplicateKeyError when the others are done, ReadModelsUnavailableError, TypeError
   */
  bulkWrite(operations: readonly WriteOperation[]): Promise<WriteResult>
  /**
   * Writes whole documents, each in the place of what is there: only for who alone writes the collection. In the order of `_id` it is fastest.
   * Not all or nothing. @throws ReadModelsUnavailableError, TypeError
   */
  put(documents: readonly Document[]): Promise<void>
  /** The next documents behind an `_id`, in the order of its UTF-8 bytes. Two that are equal byte for byte have the same text. */
  texts(after: string | undefined, limit: number): Promise<readonly DocumentText[]>
}

export interface DocumentText {
  readonly _id: string
  /** As JSON. */
  readonly text: string
}

export interface ReadModels {
  collection(name: string): Collection
  /** Idempotent; needed before a field is filtered or sorted by. */
  createIndexes(name: string, indexes: readonly Index[]): Promise<void>
  /** A new collection that is to be filled, and given these indexes by {@link createIndexes} when it is full: that is faster. Idempotent. */
  createUnfilled(name: string, indexes: readonly Index[]): Promise<void>
  /** Replaces `to` by `from` in one step, indexes included. */
  rename(from: string, to: string): Promise<void>
  /**
   * As rename, but what was `to` is `kept` then, in the place of what was called so; `from` and `kept` may be the same. Where a store cannot do
   * that in one step (MongoDB), `to` is not there for a moment, and {@link repairReplace} finishes what a crash has cut short.
   */
  replace(from: string, to: string, kept: string): Promise<void>
  /** To be called before `to` is used by who may replace it. */
  repairReplace(to: string, kept: string): Promise<void>
  drop(name: string): Promise<void>
  listCollections(): Promise<readonly string[]>
  close(): Promise<void>
}

/** The read models cannot be reached or written just now. */
export class ReadModelsUnavailableError extends Error {
  override readonly name = 'ReadModelsUnavailableError'
}

/** A document of the same `_id` is there already. */
export class DuplicateKeyError extends Error {
  override readonly name = 'DuplicateKeyError'
}
