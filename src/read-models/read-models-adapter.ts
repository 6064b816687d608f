import { randomUUID } from 'node:crypto'
import { isStoredUuid } from '../kernel/uuid.js'
import {
  checkCollectionName,
  checkDocuments,
  checkFilter,
  checkFindOptions,
  checkIndex,
  checkWrites,
} from './checks.js'
import {
  buildMark,
  collections,
  declarationOf,
  type PointerDocument,
  projectedCollections,
  wordsOf,
} from './documents.js'
import { firstUuid } from './fields.js'
import type {
  Collection,
  Document,
  Filter,
  FindOptions,
  Index,
  ReadModels,
  WordSearch,
  WordSearchPage,
  WriteOperation,
  WriteResult,
} from './read-models.js'
import { checkWordSearch, type Words } from './word-search.js'

/** After a switch, every process reads the new documents within this time. */
export const pointerMaxAgeMs = 500

/** Returns the name of one build of a projection's documents, such as `transfers@5-9f86d081`. */
export function buildName(collection: string, version: number, id = randomUUID().slice(0, 8)): string {
  return `${collection}${buildMark}${version}-${id}`
}

export function buildPrefix(collection: string): string {
  return collection + buildMark
}

/**
 * The common part of all implementations of the port. Checks every argument, and resolves the name of a projected collection, such as
 * `transfers`, to the build that the projection's pointer names.
 */
export abstract class ReadModelsAdapter implements ReadModels {
  #builds: ReadonlyMap<string, string> = new Map()
  #expiresAtMs = 0

  // Collections hold no state, because they can be created, renamed or dropped at any time. The arguments have been checked.
  protected abstract find(name: string, filter: Filter, options: FindOptions): Promise<readonly Document[]>
  protected abstract count(name: string, filter: Filter, limit: number | undefined): Promise<number>
  protected abstract bulkWrite(name: string, operations: readonly WriteOperation[]): Promise<WriteResult>
  protected abstract put(name: string, documents: readonly Document[]): Promise<void>
  protected abstract search(name: string, words: Words, search: WordSearch): Promise<WordSearchPage>
  protected abstract addIndexes(name: string, indexes: readonly Index[]): Promise<void>
  protected abstract create(name: string, indexes: readonly Index[]): Promise<void>
  abstract rename(from: string, to: string): Promise<void>
  abstract drop(name: string): Promise<void>
  abstract listCollections(): Promise<readonly string[]>
  abstract close(): Promise<void>

  collection(name: string): Collection {
    checkCollectionName(name)
    const types = declarationOf(name)?.fields ?? {}
    const stored = projectedCollections.has(name) ? () => this.#resolve(name) : () => name
    const find = async (filter: Filter, options: FindOptions = {}) => {
      checkFilter(filter, types)
      checkFindOptions(options, types)
      return this.find(await stored(), filter, options)
    }
    return {
      find,
      findOne: async (filter, options) => (await find(filter, { ...options, limit: 1 }))[0] ?? null,
      countDocuments: async (filter, options = {}) => {
        checkFilter(filter, types)
        checkFindOptions(options, types)
        return this.count(await stored(), filter, options.limit)
      },
      bulkWrite: async (operations) => {
        checkWrites(operations, types)
        return this.bulkWrite(await stored(), operations)
      },
      put: async (documents) => {
        checkDocuments(documents)
        await this.put(await stored(), documents)
      },
      search: async (search) => {
        const words = wordsOf(name)
        checkWordSearch(words, search)
        return this.search(await stored(), words, search)
      },
      texts: async (after, limit) => {
        const isAfter: Filter = after === undefined ? {} : { _id: { $gt: after } }
        // A range compares only values of one type, and UUIDs come after other texts.
        const isMisfit = types._id === 'uuid' && after !== undefined && !isStoredUuid(after)
        const filter = isMisfit ? { $or: [isAfter, { _id: { $gte: firstUuid } }] } : isAfter
        const documents = await this.find(await stored(), filter, { sort: { _id: 1 }, limit })
        return documents.map((document) => ({ _id: document._id, text: JSON.stringify(document) }))
      },
    }
  }

  async createIndexes(name: string, indexes: readonly Index[]): Promise<void> {
    await this.createUnfilled(name, indexes)
    await this.addIndexes(name, indexes)
  }

  async createUnfilled(name: string, indexes: readonly Index[]): Promise<void> {
    checkCollectionName(name)
    indexes.forEach(checkIndex)
    await this.create(name, indexes)
  }

  async #resolve(name: string): Promise<string> {
    // A missing pointer is not cached, so that a projection that has just started does not look empty.
    if (!this.#builds.has(name) || performance.now() >= this.#expiresAtMs) await this.#loadPointers()
    return this.#builds.get(name) ?? name
  }

  async #loadPointers(): Promise<void> {
    // Counted from before the read, so that the limit also holds for a slow one.
    const expiresAtMs = performance.now() + pointerMaxAgeMs
    const pointers = (await this.find(collections.pointers, {}, {})) as readonly PointerDocument[]
    this.#builds = new Map(
      pointers.map(({ served: { collection } }) => [collection.slice(0, collection.indexOf(buildMark)), collection]),
    )
    this.#expiresAtMs = expiresAtMs
  }
}
