import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Batcher } from '../kernel/batcher.js'
import { keyIdOf, type SecretBox, SecretBoxError } from '../security/secret-box.js'
import type { KeptKey, KeyStore } from './key-store.js'
import type { CustomerKey } from './sealed-data.js'

/** Each takes less than a kilobyte. */
const maxCached = 20_000
const maxInOneWrite = 1_000
const pageSize = 500

type Box = Pick<SecretBox, 'seal' | 'open' | 'mac' | 'keyId'>

interface New {
  readonly kept: KeptKey
  readonly key: CustomerKey
  resolve(key: CustomerKey): void
  reject(error: unknown): void
}

/** The keys of customers, as one thread knows them. Everything but what is `known` may throw StoreUnavailableError. */
export class CustomerKeys {
  readonly #store: KeyStore
  readonly #box: Box
  // By size: `max` would take the memory for all of them at once.
  readonly #byId = new LRUCache<string, CustomerKey>({ maxSize: maxCached, sizeCalculation: () => 1 })
  readonly #byCustomer = new LRUCache<string, CustomerKey>({ maxSize: maxCached, sizeCalculation: () => 1 })
  readonly #making = new Map<string, Promise<CustomerKey>>()
  readonly #writes = new Batcher<New>({ maxItems: maxInOneWrite, delayMs: 0, process: (batch) => this.#write(batch) })

  constructor(store: KeyStore, box: Box) {
    this.#store = store
    this.#box = box
  }

  knownOf(merchantId: string, userId: string): CustomerKey | undefined {
    return this.#byCustomer.get(nameOf(merchantId, userId))
  }

  known(id: string): CustomerKey | undefined {
    return this.#byId.get(id)
  }

  /** The customer's key, made where there is none; it is durable then. All customers who come at once share one write. */
  async of(merchantId: string, userId: string): Promise<CustomerKey> {
    const name = nameOf(merchantId, userId)
    const known = this.#byCustomer.get(name)
    if (known) return known
    let making = this.#making.get(name)
    if (!making) {
      making = this.#make(merchantId, userId).finally(() => this.#making.delete(name))
      this.#making.set(name, making)
    }
    return making
  }

  async find(merchantId: string, userId: string): Promise<CustomerKey | undefined> {
    const kept = await this.#store.byOwner(this.#ownerOf(merchantId, userId))
    return kept && this.#remember(this.#opened(kept))
  }

  /** Makes those known that are there, and can be opened. */
  async load(ids: Iterable<string>): Promise<void> {
    const wanted = [...ids].filter((id) => !this.#byId.has(id))
    if (wanted.length === 0) return
    for (const kept of await this.#store.byIds(wanted)) {
      const key = this.#openedIfPossible(kept)
      if (key) this.#remember(key)
    }
  }

  /** For good, here; other threads and nodes learn it from the log. */
  async destroy(ids: readonly string[]): Promise<void> {
    const there = await this.#store.byIds(ids)
    if (there.length > 0) await this.#store.destroy(ids)
    for (const id of ids) this.#forget(id)
  }

  async *all(): AsyncGenerator<CustomerKey> {
    for await (const kept of this.#kept()) yield this.#opened(kept)
  }

  counts(merchantIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#store.counts(merchantIds)
  }

  /** Of these, the keys that are there. */
  async thereOf(ids: readonly string[]): Promise<readonly string[]> {
    return (await this.#store.byIds(ids)).map(({ id }) => id)
  }

  /** Each as it is kept, which names the master key it is sealed with. */
  async *sealedTexts(): AsyncGenerator<string> {
    for await (const { sealed } of this.#kept()) yield sealed
  }

  /**
   * Seals with the master key that seals now what another one has sealed; how many that were. One that cannot be opened stays. May be ended and
   * begun again.
   */
  async reseal(): Promise<number> {
    let count = 0
    for (let page = await this.#store.after('', pageSize); page.length > 0; ) {
      const older = page.filter(({ sealed }) => keyIdOf(sealed) !== this.#box.keyId)
      const resealed = older.flatMap((kept) => {
        const key = this.#openedIfPossible(kept)
        return key ? [this.#sealed(key)] : []
      })
      if (resealed.length > 0) await this.#store.replace(resealed)
      count += resealed.length
      page = await this.#store.after(page.at(-1)!.id, pageSize)
    }
    return count
  }

  /** The ids of those that no master key that is given opens. */
  async *unopened(): AsyncGenerator<string> {
    for await (const kept of this.#kept()) if (!this.#openedIfPossible(kept)) yield kept.id
  }

  #openedIfPossible(kept: KeptKey): CustomerKey | undefined {
    try {
      return this.#opened(kept)
    } catch (error) {
      if (error instanceof SecretBoxError) return undefined
      throw error
    }
  }

  compact(): Promise<void> {
    return this.#store.compact()
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  #make(merchantId: string, userId: string): Promise<CustomerKey> {
    const key = { id: newKeyId(), bytes: randomBytes(32), merchantId, userId }
    return new Promise((resolve, reject) => this.#writes.add({ kept: this.#sealed(key), key, resolve, reject }))
  }

  async #write(batch: readonly New[]): Promise<void> {
    try {
      const kept = await this.#store.ensure(batch.map((each) => each.kept))
      batch.forEach(({ key, resolve }, index) => {
        // Another thread or node may have stored its key first.
        const stored = kept[index]!
        resolve(this.#remember(stored.id === key.id ? key : this.#opened(stored)))
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  async *#kept(): AsyncGenerator<KeptKey> {
    let last = ''
    for (;;) {
      const page = await this.#store.after(last, pageSize)
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
    // The two forget what was not used for long each in an order of its own.
    const customers = known ? [nameOf(known.merchantId, known.userId)] : this.#byCustomer.keys()
    for (const name of [...customers]) if (this.#byCustomer.peek(name)?.id === id) this.#byCustomer.delete(name)
  }

  #ownerOf(merchantId: string, userId: string): string {
    return this.#box.mac('customer', JSON.stringify([merchantId, userId]))
  }

  #sealed({ id, bytes, merchantId, userId }: CustomerKey): KeptKey {
    const secret = JSON.stringify([Buffer.from(bytes).toString('base64url'), merchantId, userId])
    return {
      id,
      merchantId,
      owner: this.#ownerOf(merchantId, userId),
      sealed: this.#box.seal(secret, ownerOfSecret(id)),
    }
  }

  /** @throws SecretBoxError */
  #opened({ id, sealed }: KeptKey): CustomerKey {
    const [key, merchantId, userId] = JSON.parse(this.#box.open(sealed, ownerOfSecret(id))) as [string, string, string]
    return { id, bytes: Buffer.from(key, 'base64url'), merchantId, userId }
  }
}

function nameOf(merchantId: string, userId: string): string {
  return `${merchantId} ${userId}`
}

/** The time in front lets backups read keys in the order of their creation, so that an increment stores only new ones. */
function newKeyId(): string {
  const seconds = Math.floor(Date.now() / 1_000)
  return `${seconds.toString(16).padStart(8, '0')}${randomBytes(10).toString('base64url')}`
}

function ownerOfSecret(id: string): string {
  return `customer-key ${id}`
}
