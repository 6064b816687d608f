import { checkCollectionName, checkIndex } from '../conditions.js'
import { ProjectionPointers } from '../projection-pointers.js'
import type { Collection, Index, ReadModels } from '../read-models.js'
import { MongodbCollection } from './mongodb-collection.js'
import { Connection, type Server } from './mongodb-connection.js'
import { codeOf, serverCodes } from './mongodb-errors.js'

/**
 * Opens read models in the database that a `mongodb://` or `mongodb+srv://` URL names; defaults to `transferd`. It connects on first use,
 * and every call to an unavailable server tries to connect again.
 * @throws TypeError if the URL is invalid
 */
export function openMongodbReadModels({ url }: { readonly url: string }): ReadModels {
  return new MongodbReadModels(new Connection(url))
}

class MongodbReadModels implements ReadModels {
  readonly #connection: Connection
  readonly #pointers = new ProjectionPointers((name) => {
    checkCollectionName(name)
    return new MongodbCollection(this.#connection, name)
  })

  constructor(connection: Connection) {
    this.#connection = connection
  }

  collection(name: string): Collection {
    return this.#pointers.collection(name)
  }

  async createIndexes(name: string, indexes: readonly Index[]): Promise<void> {
    checkCollectionName(name)
    indexes.forEach(checkIndex)
    await this.#connection.change(async ({ db }) => {
      await db.createCollection(name).catch((error) => {
        if (codeOf(error) !== serverCodes.namespaceExists) throw error
      })
      const collection = db.collection(name)
      const existing = await collection.listIndexes().toArray()
      const missing = indexes.filter((index) => !existing.some(({ key }) => sameKey(key, index.key)))
      const specifications = missing.map(({ key }) => ({ key: new Map(Object.entries(key)) }))
      if (specifications.length > 0) await collection.createIndexes(specifications)
    })
  }

  /** Creates the indexes now, because building one over existing documents can take longer than the time limit of a call. */
  createUnfilled(name: string, indexes: readonly Index[]): Promise<void> {
    return this.createIndexes(name, indexes)
  }

  async rename(from: string, to: string): Promise<void> {
    checkCollectionName(from)
    checkCollectionName(to)
    await this.#connection.change(async (server) => {
      if (!(await exists(server, from)) || (await exists(server, to)))
        throw new TypeError(`read models: cannot rename "${from}" to "${to}"`)
      await server.db.renameCollection(from, to)
    })
  }

  async drop(name: string): Promise<void> {
    checkCollectionName(name)
    await this.#connection.change(async (server) => {
      try {
        await server.db.dropCollection(name)
      } catch (error) {
        // Before MongoDB 7, dropping a missing collection is an error, which does not always have a code.
        if (await exists(server, name)) throw error
      }
    })
  }

  async listCollections(): Promise<readonly string[]> {
    const collections = await this.#connection.read(({ db }) => db.listCollections({}, { nameOnly: true }).toArray())
    return collections
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('system.'))
      .sort()
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}

function exists({ db }: Server, name: string): Promise<boolean> {
  return db.listCollections({ name }, { nameOnly: true }).hasNext()
}

function sameKey(a: object, b: object): boolean {
  return JSON.stringify(Object.entries(a)) === JSON.stringify(Object.entries(b))
}
