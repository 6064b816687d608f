import type { Db } from 'mongodb'
import { checkCollectionName } from '../checks.js'
import { declarationOf, wordsOf } from '../documents.js'
import type {
  Document,
  Filter,
  FindOptions,
  Index,
  ReadModels,
  WordSearch,
  WordSearchPage,
  WriteOperation,
  WriteResult,
} from '../read-models.js'
import { ReadModelsAdapter } from '../read-models-adapter.js'
import { type Words, wordsField } from '../word-search.js'
import { documentOf, storedFilter } from './bson-fields.js'
import { bulkWrite } from './mongodb-bulk-write.js'
import { Connection, type Stored } from './mongodb-connection.js'
import { codeOf, serverCodes } from './mongodb-errors.js'
import { searchWords, withWords } from './mongodb-word-search.js'

const batchSize = 1_000

/**
 * Opens read models in the database that a `mongodb://` or `mongodb+srv://` URL names; defaults to `transferd`. It connects on first use,
 * and every call to an unavailable server tries to connect again.
 * @throws TypeError if the URL is invalid
 */
export function openMongodbReadModels({ url }: { readonly url: string }): ReadModels {
  return new MongodbReadModels(new Connection(url))
}

class MongodbReadModels extends ReadModelsAdapter {
  constructor(private readonly connection: Connection) {
    super()
  }

  protected async find(name: string, filter: Filter, { sort = {}, limit }: FindOptions): Promise<readonly Document[]> {
    const options = {
      ...(wordsOf(name) && { projection: { [wordsField]: 0 } }),
      sort: new Map(Object.entries(sort)),
      batchSize: Math.min(limit ?? batchSize, batchSize),
      ...(limit !== undefined && { limit }),
    }
    const fields = declarationOf(name)?.fields ?? {}
    const found = await this.connection.read((db) =>
      db.collection<Stored>(name).find(storedFilter(filter, fields), options).toArray(),
    )
    return found.map((stored) => documentOf(stored, fields))
  }

  protected async count(name: string, filter: Filter, limit: number | undefined): Promise<number> {
    const options = limit === undefined ? {} : { limit }
    const stored = storedFilter(filter, declarationOf(name)?.fields ?? {})
    return this.connection.read((db) => db.collection<Stored>(name).countDocuments(stored, options))
  }

  protected search(name: string, words: Words, search: WordSearch): Promise<WordSearchPage> {
    const documents = {
      find: (filter: Filter, options: FindOptions) => this.find(name, filter, options),
      count: (filter: Filter, limit: number) => this.count(name, filter, limit),
    }
    return searchWords(documents, declarationOf(name)!.order, words, search)
  }

  protected bulkWrite(name: string, operations: readonly WriteOperation[]): Promise<WriteResult> {
    const words = wordsOf(name)
    return bulkWrite(this.connection, name, words ? withWords(words, operations) : operations)
  }

  protected async put(name: string, documents: readonly Document[]): Promise<void> {
    await this.bulkWrite(
      name,
      documents.map((replacement) => ({
        replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true },
      })),
    )
  }

  /** Creates the indexes now, because building one over existing documents can take longer than the time limit of a call. */
  protected async create(name: string, indexes: readonly Index[]): Promise<void> {
    await this.connection.change(async (db) => {
      await db.createCollection(name).catch((error) => {
        if (codeOf(error) !== serverCodes.namespaceExists) throw error
      })
      const collection = db.collection(name)
      const existing = await collection.listIndexes().toArray()
      const { order = '_id' } = declarationOf(name) ?? {}
      const all: readonly Index[] = order === '_id' ? indexes : [...indexes, { key: { [order]: 1 } }]
      const missing = all.filter((index) => !existing.some(({ key }) => sameKey(key, index.key)))
      const specifications = missing.map(({ key }) => ({ key: new Map(Object.entries(key)) }))
      if (specifications.length > 0) await collection.createIndexes(specifications)
    })
  }

  protected async addIndexes(): Promise<void> {}

  async rename(from: string, to: string): Promise<void> {
    checkCollectionName(to)
    await this.connection.change(async (db) => {
      if (!(await exists(db, from)) || (await exists(db, to)))
        throw new TypeError(`read models: cannot rename "${from}" to "${to}"`)
      await db.renameCollection(from, to)
    })
  }

  async drop(name: string): Promise<void> {
    checkCollectionName(name)
    // The driver ignores the error of MongoDB 6 that the collection is missing. Later versions do not report one.
    await this.connection.change((db) => db.dropCollection(name))
  }

  async listCollections(): Promise<readonly string[]> {
    const collections = await this.connection.read((db) => db.listCollections({}, { nameOnly: true }).toArray())
    return collections
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('system.'))
      .sort()
  }

  close(): Promise<void> {
    return this.connection.close()
  }
}

function exists(db: Db, name: string): Promise<boolean> {
  return db.listCollections({ name }, { nameOnly: true }).hasNext()
}

function sameKey(a: object, b: object): boolean {
  return JSON.stringify(Object.entries(a)) === JSON.stringify(Object.entries(b))
}
