import { type Db, type Long, MongoClient, type UUID } from 'mongodb'
import { ReadModelsUnavailableError } from '../read-models.js'
import { foundNoServer, isCursorLost, portError } from './mongodb-errors.js'

/** The driver's type of documents; `_id` is no ObjectId. */
export type Stored = { _id: string | UUID | Long; [field: string]: unknown }

/** These override the options of the URL, so that every call ends, and no write is reported as done that an election can undo. */
const clientOptions = {
  appName: 'transferd',
  serverSelectionTimeoutMS: 5_000,
  connectTimeoutMS: 5_000,
  waitQueueTimeoutMS: 5_000,
  /** Greater than `wtimeoutMS`, so that the server reports the outcome of a write. */
  socketTimeoutMS: 20_000,
  maxPoolSize: 20,
  maxIdleTimeMS: 300_000,
  /** A standalone server confirms a majority before its journal is on disk, but no log contains customers' keys and receipts. */
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 10_000 },
  /** A secondary can be behind, so that a pointer or a page of a feed would go back in time. */
  readPreference: 'primary',
  retryWrites: true,
  retryReads: true,
} as const

/** The limit of attempts for a read whose cursor is lost. */
const readsMax = 3

/** Greater than the driver's socket timeout. */
const responseMs = 25_000

/** MongoDB 6.0, the oldest supported version. */
const oldestWireVersion = 17

/**
 * The driver's client. After the first connection, it reconnects automatically. A client whose first connection fails never works again and
 * is replaced.
 */
export class Connection {
  #client: MongoClient | undefined
  #db: Promise<Db> | undefined
  #closed = false

  constructor(private readonly url: string) {
    // Parses the URL now, so that an invalid one is reported immediately.
    this.#client = newClient(url)
  }

  /** Runs a read, and repeats it if its cursor is lost. @throws the port's errors */
  async read<T>(work: (db: Db) => Promise<T>): Promise<T> {
    for (let reads = 1; ; reads++) {
      try {
        return await this.withinTime(work)
      } catch (error) {
        if (reads === readsMax || !isCursorLost(error)) throw portError(error)
      }
    }
  }

  async change<T>(work: (db: Db) => Promise<T>): Promise<T> {
    try {
      return await this.withinTime(work)
    } catch (error) {
      throw portError(error)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#client?.close()
  }

  /**
   * Runs work, and replaces a client that can no longer work. If the driver (7.8, 7.9) writes more than the buffer of a socket holds, or
   * writes to a socket that is closing, it waits for the socket to drain, which neither the end of the connection nor the socket timeout
   * ends. The command then never returns, and its place in the pool is lost. If it was the monitor's command, the client never finds a server
   * again. The outcome of a write is then unknown; it is guarded or belongs to an unfinished build, and is repeated.
   * @throws the driver's errors, ReadModelsUnavailableError
   */
  async withinTime<T>(work: (db: Db) => Promise<T>): Promise<T> {
    const db = await this.#connected()
    const client = this.#client
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#abandon(client)
        reject(new ReadModelsUnavailableError(`the read models are unavailable: no response within ${responseMs} ms`))
      }, responseMs)
    })
    try {
      return await Promise.race([work(db), late])
    } catch (error) {
      if (foundNoServer(error)) this.#abandon(client)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** @throws ReadModelsUnavailableError */
  #connected(): Promise<Db> {
    if (this.#closed) return Promise.reject(new ReadModelsUnavailableError('the read models are closed'))
    this.#db ??= this.#connect()
    return this.#db
  }

  #abandon(client: MongoClient | undefined): void {
    if (client === undefined || client !== this.#client) return
    this.#db = undefined
    this.#client = undefined
    client.close().catch(() => undefined)
  }

  async #connect(): Promise<Db> {
    const client = this.#client ?? newClient(this.url)
    this.#client = client
    try {
      await client.connect()
      const db = client.db(databaseOf(this.url))
      const buildInfo = await db.command({ buildInfo: 1 })
      // The first releases of MongoDB 4.2 and 4.4 do not know its newer name, `hello`.
      const { maxWireVersion } = await db.command({ isMaster: 1 })
      if (!(maxWireVersion >= oldestWireVersion)) {
        const required = `MongoDB 6.0 (wire version ${oldestWireVersion}) or later`
        const found = `it reports version ${buildInfo.version}, wire version ${maxWireVersion}`
        throw new ReadModelsUnavailableError(`the read models require ${required}, and the server is older: ${found}`)
      }
      return db
    } catch (error) {
      this.#db = undefined
      this.#client = undefined
      await client.close().catch(() => undefined)
      throw portError(error)
    }
  }
}

/** @throws TypeError if the driver rejects the URL */
function newClient(url: string): MongoClient {
  try {
    return new MongoClient(url, clientOptions)
  } catch (error) {
    // The driver's message contains the URL with its password.
    const message = (error instanceof Error ? error.message : String(error)).replace(/\/\/[^\s"']*@/g, '//')
    throw new TypeError(`cannot be used: ${message}`)
  }
}

/** Returns the database in the path of the URL, or `transferd`; the driver's default is `test`. */
function databaseOf(url: string): string {
  return decodeURIComponent(/^[^/]+\/\/[^/?]*\/([^?]+)/.exec(url)?.[1] ?? 'transferd')
}
