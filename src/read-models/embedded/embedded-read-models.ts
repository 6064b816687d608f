import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { checkCollectionName, checkIndex } from '../conditions.js'
import { ProjectionPointers } from '../projection-pointers.js'
import { type Collection, type Index, type ReadModels, ReadModelsUnavailableError } from '../read-models.js'
import { Catalogue } from './catalogue.js'
import { EmbeddedCollection } from './embedded-collection.js'
import { Connection } from './sqlite-connection.js'

/**
 * Opens `read-models.db` in `directory` and creates both if they are missing. Several threads and processes can open the same directory.
 * @throws ReadModelsUnavailableError
 */
export async function openEmbeddedReadModels({ directory }: { readonly directory: string }): Promise<ReadModels> {
  try {
    await mkdir(directory, { recursive: true })
  } catch (error) {
    throw new ReadModelsUnavailableError(`the directory of the read models is unavailable: ${directory}`, {
      cause: error,
    })
  }
  const readModels = new EmbeddedReadModels(new Connection(join(directory, 'read-models.db')))
  await readModels.listCollections()
  return readModels
}

/** The read-model port over SQLite. Only waiting for another writer is asynchronous. */
export class EmbeddedReadModels implements ReadModels {
  readonly #connection: Connection
  readonly #catalogue: Catalogue
  readonly #pointers = new ProjectionPointers((name) => {
    checkCollectionName(name)
    return new EmbeddedCollection(this.#connection, this.#catalogue, name)
  })

  constructor(connection: Connection) {
    this.#connection = connection
    this.#catalogue = new Catalogue(connection)
  }

  collection(name: string): Collection {
    return this.#pointers.collection(name)
  }

  async createIndexes(name: string, indexes: readonly Index[]): Promise<void> {
    await this.createUnfilled(name, indexes)
    // One at a time, because each holds the write lock for a second per million documents.
    for (const index of indexes) {
      await this.#connection.write(() => this.#catalogue.createIndex(name, index))
      await setImmediate()
    }
  }

  async createUnfilled(name: string, indexes: readonly Index[]): Promise<void> {
    indexes.forEach(checkIndex)
    await this.#connection.write(() => this.#catalogue.addColumns(name, indexes))
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#connection.write(() => this.#catalogue.rename(from, to))
  }

  async drop(name: string): Promise<void> {
    await this.#connection.write(() => this.#catalogue.drop(name))
  }

  async listCollections(): Promise<readonly string[]> {
    return this.#connection.read(() => this.#catalogue.names())
  }

  async close(): Promise<void> {
    this.#connection.close()
  }
}
