import { checkCollectionName, checkIndex } from '../conditions.js'
import type { Collection, Index, ReadModels } from '../read-models.js'
import { MongodbCollection } from './mongodb-collection.js'
import { Connection, type Server } from './mongodb-connection.js'
import { codeOf, serverCodes } from './mongodb-errors.js'

/**
 * Read models in the database that a `mongodb://` or `mongodb+srv://` URL names, `transferd` if none. Nothing is connected to
 * before it is needed, and a server that is unavailable is tried again by every call.
 * @throws TypeError when the URL makes no sense
 */
export function openMongodbReadModels({ url }: { readonly url: string }): ReadModels {
  return new MongodbReadModels(new Connection(url))
}

class MongodbReadModels implements ReadModels {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  collection(name: string): Collection {
    checkCollectionName(name)
    return new MongodbCollection(this.#connection, name)
  }

  async createIndexes(name: string, indexes: readonly Index[]): Promise<void> {
    checkCollectionName(name)
    indexes.forEach(checkIndex)
    await this.#connection.change(async ({ db }) => {
      await db.createCollection(name).catch(unless(serverCodes.namespaceExists))
      const collection = db.collection(name)
      const existing = await collection.listIndexes().toArray()
      const missing = indexes.filter((index) => !existing.some(({ key }) => sameKey(key, index.key)))
      const specifications = missing.map(({ key }) => ({ key: new Map(Object.entries(key)) }))
      if (specifications.length > 0) await collection.createIndexes(specifications)
    })
  }

  async rename(from: string, to: string): Promise<void> {
    checkCollectionName(from)
    checkCollectionName(to)
    const refused = new TypeError(`read models: cannot rename "${from}" to "${to}"`)
    if (from === to) throw refused
    await this.#connection.change(async (server) => {
      try {
        if (server.isFerretDb1) await renameInTwoSteps(server, from, to)
        else await server.db.renameCollection(from, to, { dropTarget: true })
      } catch (error) {
        throw (await isThere(server, from)) ? error : refused
      }
    })
  }

  /** At once: to build an index over what is there may take longer than a call may. */
  createUnfilled(name: string, indexes: readonly Index[]): Promise<void> {
    return this.createIndexes(name, indexes)
  }

  async replace(from: string, to: string, kept: string): Promise<void> {
    if (!(await this.#isThere(from)) || from === to || to === kept)
      throw new TypeError(`read models: cannot put "${from}" in the place of "${to}" and keep that as "${kept}"`)
    if (await this.#isThere(to)) await this.rename(to, replaced(to))
    await this.rename(from, to)
    await this.repairReplace(to, kept)
  }

  /** What was replaced has a name of its own until its replacement is there. */
  async repairReplace(to: string, kept: string): Promise<void> {
    if (!(await this.#isThere(replaced(to)))) return
    await this.rename(replaced(to), (await this.#isThere(to)) ? kept : to)
  }

  async #isThere(name: string): Promise<boolean> {
    return this.#connection.read((server) => isThere(server, name))
  }

  async drop(name: string): Promise<void> {
    checkCollectionName(name)
    await this.#connection.change((server) => dropIfThere(server, name))
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

function replaced(name: string): string {
  return `${name}__replaced`
}

/** For a server that cannot replace the target. Between the steps there is no collection, which reads as an empty one. */
async function renameInTwoSteps(server: Server, from: string, to: string): Promise<void> {
  if (await isThere(server, from)) await dropIfThere(server, to)
  await server.db.renameCollection(from, to)
}

/** What is not there counts as dropped, in whatever words the server says so: before MongoDB 7 it is an error, not always with a code. */
async function dropIfThere(server: Server, name: string): Promise<void> {
  try {
    await server.db.dropCollection(name)
  } catch (error) {
    if (await isThere(server, name)) throw error
  }
}

function isThere({ db }: Server, name: string): Promise<boolean> {
  return db.listCollections({ name }, { nameOnly: true }).hasNext()
}

/** Lets pass the error that says there is nothing left to do. */
function unless(code: number): (error: unknown) => void {
  return (error) => {
    if (codeOf(error) !== code) throw error
  }
}

function sameKey(a: object, b: object): boolean {
  return JSON.stringify(Object.entries(a)) === JSON.stringify(Object.entries(b))
}
