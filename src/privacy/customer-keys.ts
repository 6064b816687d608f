import { hash, randomBytes } from 'node:crypto'
import type { JsonObject, RecordedEvent } from '../event-store/event-store.js'
import { boundedCache } from '../kernel/bounded-cache.js'
import { Batcher } from '../kernel/concurrency.js'
import { decrypt, encrypt, keyedHash } from '../kernel/sodium.js'
import { keyIdOf, type SecretBox, SecretBoxError } from '../security/secret-box.js'

/** The key of one customer of one merchant. */
export interface CustomerKey {
  /** Contains no personal data. Ciphertexts and the customer's erasure name the key by this id. */
  readonly id: string
  /** 32 bytes. */
  readonly bytes: Uint8Array
  readonly merchantId: string
  readonly userId: string
}

/** The event that a ciphertext belongs to. It can be decrypted for this event only. */
export type Place = Pick<RecordedEvent, 'stream' | 'id' | 'type'>

const pattern = /^c2\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]*)$/

/**
 * Returns `c2.<key id>.<commitment>.<nonce, ciphertext, tag>` in base64url, encrypted by XChaCha20-Poly1305. The commitment is that of the
 * {@link fieldCommitments}.
 */
export function sealFields(key: CustomerKey, place: Place, fields: JsonObject): string {
  const commitment = commitmentOf(fieldCommitments(key, place, fields))
  const bytes = encrypt(key.bytes, Buffer.from(JSON.stringify(fields)), associatedData(place, commitment))
  return `c2.${key.id}.${commitment}.${bytes.toString('base64url')}`
}

/** Returns `undefined` if the ciphertext was altered, belongs to a different event, or has a different key. */
export function openFields(key: CustomerKey, place: Place, sealed: string): JsonObject | undefined {
  const [, , commitment = '', encrypted = ''] = pattern.exec(sealed) ?? []
  const text = decrypt(key.bytes, Buffer.from(encrypted, 'base64url'), associatedData(place, commitment))
  try {
    return text && JSON.parse(text.toString())
  } catch {
    return undefined
  }
}

/** The commitment to one personal field of an event, which allows its disclosure without the other fields (docs/auditing/evidence.md). */
interface FieldCommitment {
  readonly field: string
  /** 16 bytes in Base64, derived from the customer's key. */
  readonly salt: string
  /** The JSON text of the value. */
  readonly value: string
  /** SHA-256 in hex. */
  readonly hash: string
}

const saltBytes = 16
/** The number of salts from one keyed hash. */
const saltsPerHash = 4

/** Returns the commitments in the order of the fields. */
export function fieldCommitments(key: CustomerKey, place: Place, fields: JsonObject): readonly FieldCommitment[] {
  const { stream, id, type } = place
  let salts: Buffer = Buffer.alloc(0)
  return Object.entries(fields).map(([field, content], at) => {
    const slot = at % saltsPerHash
    if (slot === 0) {
      salts = keyedHash(key.bytes, `transferd-salts/1\n${stream}\n${id}\n${type}\n${at / saltsPerHash}`)
    }
    const salt = salts.toString('base64', slot * saltBytes, (slot + 1) * saltBytes)
    const value = JSON.stringify(content)
    const lines = `transferd-field/1\n${stream}\n${id}\n${field}\n${salt}\n${value}`
    return { field, salt, value, hash: hash('sha256', lines) }
  })
}

/** Returns the SHA-256 in base64url that the stored event contains. */
export function commitmentOf(commitments: readonly FieldCommitment[]): string {
  return hash('sha256', ['transferd-fields/1', ...commitments.map((each) => each.hash)].join('\n'), 'base64url')
}

/** Returns the id of the key of a ciphertext, or `undefined` for any other value. */
export function keyIdIn(sealed: unknown): string | undefined {
  return typeof sealed === 'string' ? pattern.exec(sealed)?.[1] : undefined
}

function associatedData({ stream, id, type }: Place, commitment: string): Buffer {
  return Buffer.from(`${id} ${type} ${stream} ${commitment}`)
}

/** A customer's key as stored. */
export interface KeptKey {
  readonly id: string
  readonly merchantId: string
  /** A keyed digest of the merchant and the merchant's userId, by which the key is found. */
  readonly owner: string
  /** The key and its customer, encrypted with the master key. */
  readonly sealed: string
}

/** Stores the customers' keys outside the log, so that they can be deleted. Every method may throw StoreUnavailableError. */
export interface KeyStore {
  /** Stores each key unless its owner has one, and returns the stored keys of the owners. Durable when it resolves. */
  ensure(keys: readonly KeptKey[]): Promise<readonly KeptKey[]>
  byIds(ids: readonly string[]): Promise<readonly KeptKey[]>
  byOwner(owner: string): Promise<KeptKey | undefined>
  /** Returns a page of all keys after this id, in the order of their ids. */
  after(id: string, limit: number): Promise<readonly KeptKey[]>
  /** Returns the number of keys of each merchant, without merchants that have none. */
  counts(merchantIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Replaces the existing keys with these ids. Durable when it resolves. */
  replace(keys: readonly KeptKey[]): Promise<void>
  /** Durable when it resolves. */
  destroy(ids: readonly string[]): Promise<void>
  /** Returns the checkpoint of the log that {@link keepCheckpoint} stored last, or `undefined`. Copies of the keys do not contain it. */
  keptCheckpoint(): Promise<string | undefined>
  /** Stores a checkpoint of the log next to the keys, if there are any. */
  keepCheckpoint(text: string): Promise<void>
  /** Removes what remains of destroyed keys in the files. */
  compact(): Promise<void>
  close(): Promise<void>
}

/** Each entry takes less than a kilobyte. */
const maxCached = 20_000
const maxWriteBatch = 1_000
const pageSize = 500

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
    readonly store: KeyStore,
    private readonly box: Pick<SecretBox, 'seal' | 'open' | 'mac' | 'keyId'>,
  ) {}

  /** Returns the key if it is cached. */
  known(id: string): CustomerKey | undefined {
    return this.#byId.get(id)
  }

  /** Returns whether the customer's key is cached. */
  isKnown({ merchantId, userId }: Pick<CustomerKey, 'merchantId' | 'userId'>): boolean {
    return this.#byCustomer.get(nameOf(merchantId, userId)) !== undefined
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

  async countExisting(ids: readonly string[]): Promise<number> {
    return (await this.store.byIds(ids)).length
  }

  /** Encrypts the keys of earlier master keys with the current one, except those that cannot be decrypted. Can be repeated. Returns their number. */
  async reseal(): Promise<number> {
    let count = 0
    for await (const page of this.#pages()) {
      const older = page.filter(({ sealed }) => keyIdOf(sealed) !== this.box.keyId)
      const resealed = older.flatMap((kept) => {
        const key = this.#tryOpen(kept)
        return key ? [this.#seal(key)] : []
      })
      if (resealed.length > 0) await this.store.replace(resealed)
      count += resealed.length
    }
    return count
  }

  /** Yields each key in its encrypted form, which contains the id of its master key. */
  async *all(): AsyncGenerator<KeptKey> {
    for await (const page of this.#pages()) yield* page
  }

  /** Yields the ids of the keys that no given master key decrypts. */
  async *unopened(): AsyncGenerator<string> {
    for await (const kept of this.all()) if (!this.#tryOpen(kept)) yield kept.id
  }

  /**
   * Yields the ids of the keys that no given master key decrypts, or that are stored for a different merchant or, on request, owner than
   * the encrypted one.
   */
  async *invalid(withOwners: boolean): AsyncGenerator<string> {
    for await (const kept of this.all()) {
      const key = this.#tryOpen(kept)
      if (key?.merchantId !== kept.merchantId) yield kept.id
      else if (withOwners && this.#ownerOf(key.merchantId, key.userId) !== kept.owner) yield kept.id
    }
  }

  close(): Promise<void> {
    return this.store.close()
  }

  #create(merchantId: string, userId: string): Promise<CustomerKey> {
    const seconds = Math.floor(Date.now() / 1_000)
    // The leading time lets backups read keys in the order of their creation, so that an increment stores only new ones.
    const id = `${seconds.toString(16).padStart(8, '0')}${randomBytes(10).toString('base64url')}`
    const key = { id, bytes: randomBytes(32), merchantId, userId }
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

  async *#pages(): AsyncGenerator<readonly KeptKey[]> {
    for (let last = ''; ; ) {
      const page = await this.store.after(last, pageSize)
      yield page
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

function ownerOfSecret(id: string): string {
  return `customer-key ${id}`
}
