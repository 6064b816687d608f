import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Database } from '@transferd/event-log/sqlite'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import type { KeptKey, KeyStore } from '../customer-keys.js'

export function keyFileIn(directory: string): string {
  return join(directory, 'customer-keys.db')
}

/** Opens the keys in `customer-keys.db` of the directory. The first key creates the file. */
export function openEmbeddedKeyStore({ directory }: { readonly directory: string }): KeyStore {
  const path = keyFileIn(directory)
  const writer = new KeyWriter(path)
  let file: KeyFile | undefined
  /** Returns `otherwise` while the file does not exist, because a read must not create it. */
  const inFile = async <Result>(work: (file: KeyFile) => Result, otherwise: Result): Promise<Result> => {
    try {
      file ??= existsSync(path) ? openKeyFile(path) : undefined
      return file ? work(file) : otherwise
    } catch (error) {
      throw unavailable(error)
    }
  }
  return {
    ensure: (keys) => writer.ensure(keys),
    byIds: (ids) => inFile((file) => file.byIds(ids), []),
    byOwner: (owner) => inFile((file) => file.byOwner(owner), undefined),
    after: (id, limit) => inFile((file) => file.after(id, limit), []),
    counts: () => inFile<ReadonlyMap<string, number>>((file) => file.counts(), new Map()),
    replace: (keys) => inFile((file) => file.replace(keys), undefined),
    destroy: (ids) => inFile((file) => file.destroy(ids), undefined),
    keptCheckpoint: () => inFile((file) => file.keptCheckpoint(), undefined),
    keepCheckpoint: (text) => inFile((file) => file.keepCheckpoint(text), undefined),
    compact: () => inFile((file) => file.compact(), undefined),
    async close() {
      file?.close()
      file = undefined
      await writer.close()
    },
  }
}

interface Waiting {
  resolve(kept: readonly KeptKey[]): void
  reject(error: Error): void
}

export type ToKeyWriter = readonly KeptKey[] | 'close'
export type FromKeyWriter = { readonly kept: readonly KeptKey[] } | { readonly failure: string }

/** Starts the writer's thread with the first key. */
class KeyWriter {
  #thread: Worker | undefined
  /** The oldest first, because the thread responds in order. */
  readonly #waiting: Waiting[] = []

  constructor(private readonly path: string) {}

  ensure(keys: readonly KeptKey[]): Promise<readonly KeptKey[]> {
    return new Promise((resolve, reject) => {
      this.#thread ??= this.#start()
      this.#waiting.push({ resolve, reject })
      this.#thread.ref()
      this.#thread.postMessage(keys satisfies ToKeyWriter)
    })
  }

  async close(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    if (!thread) return
    const ended = new Promise((resolve) => thread.once('exit', resolve))
    thread.ref()
    thread.postMessage('close' satisfies ToKeyWriter)
    await ended
  }

  #start(): Worker {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    const thread = new Worker(new URL('./key-writer.js', import.meta.url), { workerData: this.path, name: 'keys' })
    let failure: unknown
    thread.on('message', (response: FromKeyWriter) => this.#settle(response, thread))
    thread.on('error', (error) => {
      failure = error
    })
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = undefined
      for (const { reject } of this.#waiting.splice(0)) reject(unavailable(failure ?? 'its writer ended'))
    })
    return thread
  }

  #settle(response: FromKeyWriter, thread: Worker): void {
    const waiting = this.#waiting.shift()
    // Without waiting writes, the thread must not keep the program alive.
    if (this.#waiting.length === 0) thread.unref()
    if ('kept' in response) waiting?.resolve(response.kept)
    else waiting?.reject(unavailable(response.failure))
  }
}

function unavailable(cause: unknown): StoreUnavailableError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new StoreUnavailableError(`customer-keys.db: ${reason}`, { cause })
}

/** Longer than the rewrite of a file of a million keys, which blocks all other writers. */
const busyMs = 10_000
/** SQLite copies the WAL when it has 4 MB. */
const walBytesMax = 16 * 1024 * 1024
const table =
  'keys (id TEXT PRIMARY KEY, merchantId TEXT NOT NULL, owner TEXT NOT NULL UNIQUE, sealed TEXT NOT NULL) WITHOUT ROWID'

/** The newest checkpoint of the log, in one row. */
const checkpointTable = 'checkpoint (one INTEGER PRIMARY KEY CHECK (one = 1), text TEXT NOT NULL)'

export type KeyFile = ReturnType<typeof openKeyFile>

/**
 * Opens a synchronous connection to the file of keys. Any number of threads and processes can have one. Open the file only with SQLite:
 * closing a different file handle releases the locks of the whole process, and the next program that closes its connection then removes
 * the write-ahead log although other connections use it.
 */
export function openKeyFile(path: string) {
  const db = new Database(path, { timeout: busyMs })
  try {
    return keyFileOf(db)
  } catch (error) {
    db.close()
    throw error
  }
}

function keyFileOf(db: Database) {
  // A commit is on disk before it returns, deleted rows are overwritten, and the WAL is cut after a long read.
  for (const pragma of [
    'journal_mode = WAL',
    'synchronous = FULL',
    'secure_delete = ON',
    `journal_size_limit = ${walBytesMax}`,
  ])
    db.pragma(pragma)
  db.exec(`CREATE TABLE IF NOT EXISTS ${table}; CREATE TABLE IF NOT EXISTS ${checkpointTable}`)
  const insert = db.prepare<KeptKey>(
    'INSERT INTO keys VALUES (@id, @merchantId, @owner, @sealed) ON CONFLICT DO NOTHING',
  )
  const update = db.prepare<KeptKey>('UPDATE keys SET owner = @owner, sealed = @sealed WHERE id = @id')
  const remove = db.prepare<[string]>('DELETE FROM keys WHERE id = ?')
  const ofOwner = db.prepare<[string], KeptKey>('SELECT * FROM keys WHERE owner = ?')
  const withId = db.prepare<[string], KeptKey>('SELECT * FROM keys WHERE id = ?')
  const afterId = db.prepare<[string, number], KeptKey>('SELECT * FROM keys WHERE id > ? ORDER BY id LIMIT +?')
  const counted = db.prepare<[], [string, number]>('SELECT merchantId, count(*) FROM keys GROUP BY 1').raw()
  const checkpoint = db.prepare<[], string>('SELECT text FROM checkpoint').pluck()
  const setCheckpoint = db.prepare<[string]>('INSERT OR REPLACE INTO checkpoint VALUES (1, ?)')
  const write = <Result>(work: () => Result): Result => db.transaction(work).immediate()
  // Removes the earlier versions of pages.
  const emptyWal = () => void db.pragma('wal_checkpoint(TRUNCATE)')
  return {
    ensure: (keys: readonly KeptKey[]): readonly KeptKey[] =>
      write(() => {
        for (const key of keys) insert.run(key)
        return keys.map(({ owner }) => ofOwner.get(owner)!)
      }),
    byIds: (ids: readonly string[]): readonly KeptKey[] => ids.flatMap((id) => withId.get(id) ?? []),
    byOwner: (owner: string) => ofOwner.get(owner),
    after: (id: string, limit: number): readonly KeptKey[] => afterId.all(id, limit),
    counts: (): ReadonlyMap<string, number> => new Map(counted.all()),
    keptCheckpoint: (): string | undefined => checkpoint.get(),
    keepCheckpoint: (text: string): void => void setCheckpoint.run(text),
    replace: (keys: readonly KeptKey[]): void => write(() => keys.forEach((key) => void update.run(key))),
    destroy(ids: readonly string[]): void {
      write(() => ids.forEach((id) => void remove.run(id)))
      emptyWal()
    },
    /** Rewrites the file. Deletion overwrites a row, but not the copies that remain after rows have moved. */
    compact(): void {
      db.exec('VACUUM')
      emptyWal()
    },
    close: (): void => void db.close(),
  }
}
