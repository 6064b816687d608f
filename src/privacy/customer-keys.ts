import { randomBytes } from 'node:crypto'
import { Batcher } from '../kernel/batcher.js'
import { boundedCache } from '../kernel/bounded-cache.js'
import { keyIdOf, type SecretBox, SecretBoxError } from '../security/secret-box.js'
import type { KeptKey, KeyStore } from './customer-key-store.js'
import type { CustomerKey } from './sealed-data.js'

/** Each entry takes less than a kilobyte. */
const maxCached = 20_000
const maxWriteBatch = 1_000
const pageSize = 500

type Box = Pick<SecretBox, 'seal' | 'open' | 'mac' | 'keyId'>

interface NewKey {
  readonly kept: KeptKey
  readonly key: CustomerKey
  resolve(key: CustomerKey): void
  reject(error: unknown): void
}

/** The customers' keys with a cache per thread. Methods that return a promise may throw StoreUnavailableError. */
export class CustomerKeys {
  readonly #byId = boundedCache<CustomerKey>(maxCached)
  readonly #byCustomer = boundedCache<CustomerKey>(maxCached)
  readonly #creating = new Map<string, Promise<CustomerKey>>()
  readonly #writes = new Batcher<NewKey>({
    maxItems: maxWriteBatch,
    delayMs: 0,
    process: (batch) => this.#write(batch),
  })

  constructor(
    private readonly store: KeyStore,
    private readonly box: Box,
  ) {}

  /** Returns the customer's key if it is cached. */
  knownOf(merchantId: string, userId: string): CustomerKey | undefined {
    return this.#byCustomer.get(nameOf(merchantId, userId))
  }

  /** Returns the key if it is cached. */
  known(id: string): CustomerKey | undefined {
    return this.#byId.get(id)
  }

  /** Returns the customer's key, and creates it if it does not exist. A new key is durable. Concurrent calls share a write. */
  async of(merchantId: string, userId: string): Promise<CustomerKey> {
    const name = nameOf(merchantId, userId)
    const known = this.#byCustomer.get(name)
    if (known) return known
    let creating = this.#creating.get(name)
    if (!creating) {
      creating = this.#create(merchantId, userId).finally(() => this.#creating.delete(name))
      this.#creating.set(name, creating)
    }
    return creating
  }

  async find(merchantId: string, userId: string): Promise<CustomerKey | undefined> {
    const kept = await this.store.byOwner(this.#ownerOf(merchantId, userId))
    return kept && this.#remember(this.#open(kept))
  }

  /** Caches the keys that exist and can be decrypted. */
  async load(ids: Iterable<string>): Promise<void> {
    const missing = [...ids].filter((id) => !this.#byId.has(id))
    if (missing.length === 0) return
    for (const kept of await this.store.byIds(missing)) {
      const key = this.#tryOpen(kept)
      if (key) this.#remember(key)
    }
  }

  /** Destroys keys permanently. Other threads and nodes drop them from their caches when they read the erasure in the log. */
  async destroy(ids: readonly string[]): Promise<void> {
    if ((await this.countExisting(ids)) > 0) await this.store.destroy(ids)
    for (const id of ids) this.#forget(id)
  }

  counts(merchantIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.store.counts(merchantIds)
  }

  /** Returns how many of these keys exist. */
  async countExisting(ids: readonly string[]): Promise<number> {
    return (await this.store.byIds(ids)).length
  }

  /** Yields each key as encrypted text, which contains the id of its master key. */
  async *sealedTexts(): AsyncGenerator<string> {
    for await (const { sealed } of this.#all()) yield sealed
  }

  /**
   * Encrypts the keys of earlier master keys with the current one, and returns their number. Skips keys that cannot be decrypted. Can be
   * interrupted and repeated.
   */
  async reseal(): Promise<number> {
    let count = 0
    for (let page = await this.store.after('', pageSize); page.length > 0; ) {
      const older = page.filter(({ sealed }) => keyIdOf(sealed) !== this.box.keyId)
      const resealed = older.flatMap((kept) => {
        const key = this.#tryOpen(kept)
        return key ? [this.#seal(key)] : []
      })
      if (resealed.length > 0) await this.store.replace(resealed)
      count += resealed.length
      page = await this.store.after(page.at(-1)!.id, pageSize)
    }
    return count
  }

  /** Yields the ids of the keys that no given master key decrypts. */
  async *unopened(): AsyncGenerator<string> {
    for await (const kept of this.#all()) if (!this.#tryOpen(kept)) yield kept.id
  }

  compact(): Promise<void> {
    return this.store.compact()
  }

  close(): Promise<void> {
    return this.store.close()
  }

  #create(merchantId: string, userId: string): Promise<CustomerKey> {
    const key = { id: newKeyId(), bytes: randomBytes(32), merchantId, userId }
    return new Promise((resolve, reject) => this.#writes.add({ kept: this.#seal(key), key, resolve, reject }))
  }

  async #write(batch: readonly NewKey[]): Promise<void> {
    try {
      const kept = await this.store.ensure(batch.map((each) => each.kept))
      batch.forEach(({ key, resolve }, index) => {
        // Another thread or node may have stored its key first.
        const stored = kept[index]!
        resolve(this.#remember(stored.id === key.id ? key : this.#open(stored)))
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  async *#all(): AsyncGenerator<KeptKey> {
    let last = ''
    for (;;) {
      const page = await this.store.after(last, pageSize)
      yield* page
      if (page.length < pageSize) return
      last = page.at(-1)!.id
    }
  }

  #remember(key: CustomerKey): CustomerKey {
    this.#byId.set(key.id, key)
    this.#byCustomer.set(nameOf(key.merchantId, key.userId), key)
    return key
  }

  #forget(id: string): void {
    const known = this.#byId.get(id)
    this.#byId.delete(id)
    // The two caches drop old entries in a different order.
    const customers = known ? [nameOf(known.merchantId, known.userId)] : this.#byCustomer.keys()
    for (const name of [...customers]) if (this.#byCustomer.peek(name)?.id === id) this.#byCustomer.delete(name)
  }

  #ownerOf(merchantId: string, userId: string): string {
    return this.box.mac('customer', JSON.stringify([merchantId, userId]))
  }

  #seal({ id, bytes, merchantId, userId }: CustomerKey): KeptKey {
    const secret = JSON.stringify([Buffer.from(bytes).toString('base64url'), merchantId, userId])
    const sealed = this.box.seal(secret, ownerOfSecret(id))
    return { id, merchantId, owner: this.#ownerOf(merchantId, userId), sealed }
  }

  /** @throws SecretBoxError */
  #open({ id, sealed }: KeptKey): CustomerKey {
    const [key, merchantId, userId] = JSON.parse(this.box.open(sealed, ownerOfSecret(id))) as [string, string, string]
    return { id, bytes: Buffer.from(key, 'base64url'), merchantId, userId }
  }

  #tryOpen(kept: KeptKey): CustomerKey | undefined {
    try {
      return this.#open(kept)
    } catch (error) {
      if (error instanceof SecretBoxError) return undefined
      throw error
    }
  }
}

function nameOf(merchantId: string, userId: string): string {
  return `${merchantId} ${userId}`
}

/** The leading time lets backups read keys in the order of their creation, so that an increment stores only new ones. */
function newKeyId(): string {
  const seconds = Math.floor(Date.now() / 1_000)
  return `${seconds.toString(16).padStart(8, '0')}${randomBytes(10).toString('base64url')}`
}

function ownerOfSecret(id: string): string {
  return `customer-key ${id}`
}
