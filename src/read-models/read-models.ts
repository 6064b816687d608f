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
}

export interface Collection {
  findOne(filter: Filter, options?: FindOptions): Promise<Document | null>
  find(filter: Filter, options?: FindOptions): Promise<readonly Document[]>
  countDocuments(filter: Filter): Promise<number>
  /**
   * Unordered. An upsert that meets its own `_id` behind a failed guard counts as not matched. All operations are checked before the
   * first is applied. @throws DuplicateKeyError when the others are done, ReadModelsUnavailableError, TypeError
   */
  bulkWrite(operations: readonly WriteOperation[]): Promise<WriteResult>
}

export interface ReadModels {
  collection(name: string): Collection
  /** Idempotent; needed before a field is filtered or sorted by. */
  createIndexes(name: string, indexes: readonly Index[]): Promise<void>
  /** Replaces `to` by `from` in one step, indexes included: the end of a rebuild. */
  rename(from: string, to: string): Promise<void>
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
