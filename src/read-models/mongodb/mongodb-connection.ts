import { type Db, MongoClient } from 'mongodb'
import { ReadModelsUnavailableError } from '../read-models.js'
import { foundNoServer, isCursorLost, portError } from './mongodb-errors.js'

/** Documents as the driver types them; `_id` is a string and no ObjectId. */
export type Stored = { _id: string; [field: string]: unknown }

export const defaultDatabase = 'transferd'

/** These win over the URL's: whatever it says, every call ends, and nothing is told to be written that an election can undo. */
const clientOptions = {
  appName: 'transferd',
  serverSelectionTimeoutMS: 5_000,
  connectTimeoutMS: 5_000,
  waitQueueTimeoutMS: 5_000,
  /** Above `wtimeoutMS`, so that the server is the one to say what became of a write. */
  socketTimeoutMS: 20_000,
  maxPoolSize: 20,
  maxIdleTimeMS: 300_000,
  /** A server on its own says majority before its journal is on disk: keys of customers, and receipts, are in no log. */
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 10_000 },
  /** A secondary may be behind: a checkpoint or a page of a feed would go back in time. */
  readPreference: 'primary',
  retryWrites: true,
  retryReads: true,
} as const

/** Of a read whose cursor is lost. */
const readsMax = 3

/** Above the driver's socket timeout. */
const answerMs = 25_000

/** MongoDB 6.0, the oldest that is tested with; versions are told apart by this, as other servers have numbers of their own. */
const oldestWireVersion = 17

/** A server that is connected to, and what is peculiar about it. */
export interface Server {
  readonly db: Db
  /**
   * FerretDB 1 stops at the first failing update of a command and says neither which nor whether others were done, updates without
   * atomicity between connections, and cannot rename over a collection. See docs/reference/mongodb.md.
   */
  readonly isFerretDb1: boolean
}

/**
 * The driver's client. Once connected it reconnects by itself for ever; but one whose first connection fails is closed for good, so
 * that one is replaced.
 */
export class Connection {
  readonly #url: string
  #client: MongoClient | undefined
  #server: Promise<Server> | undefined
  #closed = false
  #lastWrite: Promise<unknown> = Promise.resolve()

  constructor(url: string) {
    this.#url = url
    // Parsed now, so that a URL which makes no sense is known at once.
    this.#client = newClient(url)
  }

  /** @throws ReadModelsUnavailableError */
  server(): Promise<Server> {
    if (this.#closed) return Promise.reject(new ReadModelsUnavailableError('the read models are closed'))
    this.#server ??= this.#connect()
    return this.#server
  }

  /** Runs reads, again when a rebuild took the collection from under them. @throws the port's errors */
  async read<T>(work: (server: Server) => Promise<T>): Promise<T> {
    for (let reads = 1; ; reads++) {
      try {
        return await this.answered(work)
      } catch (error) {
        if (reads === readsMax || !isCursorLost(error)) throw portError(error)
      }
    }
  }

  /** Runs what changes something. @throws the port's errors */
  async change<T>(work: (server: Server) => Promise<T>): Promise<T> {
    try {
      return await this.answered(work)
    } catch (error) {
      throw portError(error)
    }
  }

  /** One after the other, for a server that does not keep writers apart itself. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#lastWrite.then(work)
    this.#lastWrite = mine.catch(() => undefined)
    return mine
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#client?.close()
  }

  /**
   * Replaces a client that will never work again. Where the driver (7.8, 7.9) writes more than the socket's buffer holds, or to a socket that is
   * just ending, it waits for the socket to drain, and neither the connection's end nor the socket timeout ends that. A command then
   * never comes back, and its place in the pool is lost; and when it was the monitor's own command, the client finds no server again,
   * however well that is. What became of a write is unknown: it is guarded, or of a collection
   * that is being built, and is tried again.
   * @throws what the driver throws, ReadModelsUnavailableError
   */
  async answered<T>(work: (server: Server) => Promise<T>): Promise<T> {
    const server = await this.server()
    const asked = this.#client
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#abandon(asked)
        reject(new ReadModelsUnavailableError(`the read models are unavailable: no answer within ${answerMs} ms`))
      }, answerMs)
    })
    try {
      return await Promise.race([work(server), late])
    } catch (error) {
      if (foundNoServer(error)) this.#abandon(asked)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  #abandon(client: MongoClient | undefined): void {
    if (client === undefined || client !== this.#client) return
    this.#server = undefined
    this.#client = undefined
    client.close().catch(() => undefined)
  }

  async #connect(): Promise<Server> {
    const client = this.#client ?? newClient(this.#url)
    this.#client = client
    try {
      await client.connect()
      const db = client.db(databaseOf(this.#url))
      const buildInfo = await db.command({ buildInfo: 1 })
      // Not `hello`, its newer name, which not every server knows.
      const { maxWireVersion } = await db.command({ isMaster: 1 })
      if (!(maxWireVersion >= oldestWireVersion)) throw tooOld(buildInfo.version, maxWireVersion)
      return { db, isFerretDb1: 'ferretdbVersion' in buildInfo }
    } catch (error) {
      this.#server = undefined
      this.#client = undefined
      await client.close().catch(() => undefined)
      throw portError(error)
    }
  }
}

function tooOld(version: unknown, wireVersion: unknown): ReadModelsUnavailableError {
  const found = `it says version ${version}, wire version ${wireVersion}`
  return new ReadModelsUnavailableError(
    `the read models cannot be kept on this server: MongoDB 6.0 (wire version ${oldestWireVersion}) or later is needed, and ${found}`,
  )
}

/** @throws TypeError when the driver cannot make anything of the URL */
function newClient(url: string): MongoClient {
  try {
    return new MongoClient(url, clientOptions)
  } catch (error) {
    // The driver quotes the URL, password included.
    const message = (error instanceof Error ? error.message : String(error)).replace(/\/\/[^\s"']*@/g, '//')
    throw new TypeError(`cannot be used: ${message}`)
  }
}

/** The database the URL's path names, or {@link defaultDatabase}; the driver's own default is `test`. */
function databaseOf(url: string): string {
  const path = /^[^/]+\/\/[^/?]*\/([^?]*)/.exec(url)?.[1]
  return path ? decodeURIComponent(path) : defaultDatabase
}
