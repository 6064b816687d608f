import { checkFindOptions } from '../conditions.js'
import type {
  Collection,
  Document,
  DocumentText,
  Filter,
  FindOptions,
  WriteOperation,
  WriteResult,
} from '../read-models.js'
import { bulkWrite } from './mongodb-bulk-write.js'
import type { Connection, Stored } from './mongodb-connection.js'
import { driverFilter } from './mongodb-filter.js'

/** The documents per batch of a cursor. */
const batchSize = 1_000

/** A collection over the driver's. It holds no state, because the collection can be created, renamed or dropped at any time. */
export class MongodbCollection implements Collection {
  readonly #connection: Connection
  readonly #name: string

  constructor(connection: Connection, name: string) {
    this.#connection = connection
    this.#name = name
  }

  async findOne(filter: Filter, options: FindOptions = {}): Promise<Document | null> {
    return (await this.find(filter, { ...options, limit: 1 }))[0] ?? null
  }

  async find(filter: Filter, options: FindOptions = {}): Promise<readonly Document[]> {
    const { limit } = options
    checkFindOptions(options)
    const compiled = driverFilter(filter)
    const driverOptions = {
      sort: new Map(Object.entries(options.sort ?? {})),
      batchSize: Math.min(limit ?? batchSize, batchSize),
      ...(limit !== undefined && { limit }),
    }
    return this.#connection.read(({ db }) => db.collection<Stored>(this.#name).find(compiled, driverOptions).toArray())
  }

  async countDocuments(filter: Filter, options: Pick<FindOptions, 'limit'> = {}): Promise<number> {
    const { limit } = options
    checkFindOptions(options)
    const compiled = driverFilter(filter)
    return this.#connection.read(({ db }) =>
      db.collection<Stored>(this.#name).countDocuments(compiled, limit === undefined ? {} : { limit }),
    )
  }

  async put(documents: readonly Document[]): Promise<void> {
    await this.bulkWrite(
      documents.map((replacement) => ({
        replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true },
      })),
    )
  }

  async texts(after: string | undefined, limit: number): Promise<readonly DocumentText[]> {
    const documents = await this.find(after === undefined ? {} : { _id: { $gt: after } }, { sort: { _id: 1 }, limit })
    return documents.map((document) => ({ _id: document._id, text: JSON.stringify(document) }))
  }

  bulkWrite(operations: readonly WriteOperation[]): Promise<WriteResult> {
    return bulkWrite(this.#connection, this.#name, operations)
  }
}
