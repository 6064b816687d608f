import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import type { KeptKey, KeyStore } from '../customer-keys.js'
import { KeyFile } from './key-file.js'
import type { FromKeyWriter, ToKeyWriter } from './key-writer.js'

export function keyFileIn(directory: string): string {
  return join(directory, 'customer-keys.db')
}

/** Opens the keys in `customer-keys.db` of the directory. The first key creates the file. */
export function openEmbeddedKeyStore({ directory }: { readonly directory: string }): KeyStore {
  return new EmbeddedKeyStore(keyFileIn(directory))
}

interface Waiting {
  resolve(kept: readonly KeptKey[]): void
  reject(error: Error): void
}

class EmbeddedKeyStore implements KeyStore {
  #file: KeyFile | undefined
  #writer: Worker | undefined
  #number = 0
  readonly #waiting = new Map<number, Waiting>()

  constructor(private readonly path: string) {}

  ensure(keys: readonly KeptKey[]): Promise<readonly KeptKey[]> {
    return new Promise((resolve, reject) => {
      const writer = this.#startWriter()
      const number = ++this.#number
      this.#waiting.set(number, { resolve, reject })
      writer.ref()
      writer.postMessage({ number, keys } satisfies ToKeyWriter)
    })
  }

  byIds(ids: readonly string[]): Promise<readonly KeptKey[]> {
    return this.#read((file) => file.byIds(ids), [])
  }

  byOwner(owner: string): Promise<KeptKey | undefined> {
    return this.#read((file) => file.byOwner(owner), undefined)
  }

  after(id: string, limit: number): Promise<readonly KeptKey[]> {
    return this.#read((file) => file.after(id, limit), [])
  }

  counts(): Promise<ReadonlyMap<string, number>> {
    return this.#read<ReadonlyMap<string, number>>((file) => file.counts(), new Map())
  }

  replace(keys: readonly KeptKey[]): Promise<void> {
    return this.#read((file) => file.replace(keys), undefined)
  }

  destroy(ids: readonly string[]): Promise<void> {
    return this.#read((file) => file.destroy(ids), undefined)
  }

  compact(): Promise<void> {
    return this.#read((file) => file.compact(), undefined)
  }

  async close(): Promise<void> {
    this.#file?.close()
    this.#file = undefined
    const writer = this.#writer
    this.#writer = undefined
    if (!writer) return
    const ended = new Promise((resolve) => writer.once('exit', resolve))
    writer.ref()
    writer.postMessage('close')
    await ended
  }

  /** Returns `otherwise` while the file does not exist. */
  async #read<Result>(work: (file: KeyFile) => Result, otherwise: Result): Promise<Result> {
    try {
      this.#file ??= KeyFile.find(this.path)
      return this.#file ? work(this.#file) : otherwise
    } catch (error) {
      throw unavailable(error)
    }
  }

  #startWriter(): Worker {
    if (this.#writer) return this.#writer
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    const writer = new Worker(new URL('./key-writer.js', import.meta.url), { workerData: this.path, name: 'keys' })
    let failure: unknown
    writer.on('message', (response: FromKeyWriter) => this.#settle(response, writer))
    writer.on('error', (error) => {
      failure = error
    })
    writer.on('exit', () => {
      if (this.#writer === writer) this.#writer = undefined
      for (const { reject } of this.#waiting.values()) reject(unavailable(failure ?? 'its writer ended'))
      this.#waiting.clear()
    })
    this.#writer = writer
    return writer
  }

  #settle(response: FromKeyWriter, writer: Worker): void {
    const waiting = this.#waiting.get(response.number)
    this.#waiting.delete(response.number)
    // Without waiting writes, the thread must not keep the program alive.
    if (this.#waiting.size === 0) writer.unref()
    if ('kept' in response) waiting?.resolve(response.kept)
    else waiting?.reject(unavailable(response.failure))
  }
}

function unavailable(cause: unknown): StoreUnavailableError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new StoreUnavailableError(`customer-keys.db: ${reason}`, { cause })
}
