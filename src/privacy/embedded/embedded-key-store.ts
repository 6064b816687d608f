import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import type { KeptKey, KeyStore } from '../customer-keys.js'
import { type KeyFile, openKeyFile } from './key-file.js'
import type { FromKeyWriter, ToKeyWriter } from './key-writer.js'

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
