import { StoreUnavailableError } from '../event-store/event-store.js'
import {
  type Collection,
  type Document,
  DuplicateKeyError,
  type ReadModels,
  ReadModelsUnavailableError,
} from '../read-models/read-models.js'
import type { KeptKey, KeyStore } from './customer-keys.js'

const keyCollection = 'customer-keys'
const indexes = [{ key: { key: 1 } }, { key: { merchantId: 1 } }] as const

/** `_id` is the owner, so that the server ensures a single key per owner. */
interface KeyDocument extends Document {
  readonly key: string
  readonly merchantId: string
  readonly sealed: string
}

/** Opens the keys in a collection next to the read models, for nodes that share a server. Calls `open` at the first access. */
export function openCollectionKeyStore(open: () => Promise<ReadModels>): KeyStore {
  return new CollectionKeyStore(open)
}

class CollectionKeyStore implements KeyStore {
  #opened: Promise<ReadModels> | undefined

  constructor(private readonly open: () => Promise<ReadModels>) {}

  ensure(keys: readonly KeptKey[]): Promise<readonly KeptKey[]> {
    return this.#attempt(async (collection) => {
      const inserts = keys.map((key) => ({ insertOne: { document: documentOf(key) } }))
      try {
        await collection.bulkWrite(inserts)
        return keys
      } catch (error) {
        // All other keys were stored.
        if (!(error instanceof DuplicateKeyError)) throw error
      }
      const owners = keys.map(({ owner }) => owner)
      const kept = new Map((await collection.find({ _id: { $in: owners } })).map((each) => [each._id, keptOf(each)]))
      return owners.map((owner) => kept.get(owner)!)
    })
  }

  byIds(ids: readonly string[]): Promise<readonly KeptKey[]> {
    return this.#attempt(async (collection) => (await collection.find({ key: { $in: ids } })).map(keptOf))
  }

  byOwner(owner: string): Promise<KeptKey | undefined> {
    return this.#attempt(async (collection) => {
      const found = await collection.findOne({ _id: owner })
      return found ? keptOf(found) : undefined
    })
  }

  after(id: string, limit: number): Promise<readonly KeptKey[]> {
    return this.#attempt(async (collection) =>
      (await collection.find({ key: { $gt: id } }, { sort: { key: 1 }, limit })).map(keptOf),
    )
  }

  counts(merchantIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#attempt(async (collection) => {
      const counted = merchantIds.map(
        async (merchantId) => [merchantId, await collection.countDocuments({ merchantId })] as const,
      )
      return new Map((await Promise.all(counted)).filter(([, customers]) => customers > 0))
    })
  }

  replace(keys: readonly KeptKey[]): Promise<void> {
    return this.#attempt(async (collection) => {
      const known = await collection.find({ key: { $in: keys.map(({ id }) => id) } })
      const moved = known.filter(({ _id, key }) => keys.some(({ id, owner }) => id === key && owner !== _id))
      const removed = moved.map(({ _id }) => ({ deleteOne: { filter: { _id } } }))
      const existing = new Set(known.map(({ key }) => key))
      const kept = keys.filter(({ id }) => existing.has(id)).map(documentOf)
      // Inserts before it removes, so that a crash leaves two documents rather than none.
      await collection.bulkWrite(
        kept.map((replacement) => ({ replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } })),
      )
      if (removed.length > 0) await collection.bulkWrite(removed)
    })
  }

  destroy(ids: readonly string[]): Promise<void> {
    return this.#attempt(async (collection) => {
      const found = await collection.find({ key: { $in: ids } })
      if (found.length > 0) await collection.bulkWrite(found.map(({ _id }) => ({ deleteOne: { filter: { _id } } })))
    })
  }

  /** Does nothing. The server's files are the operator's responsibility (docs/operating/privacy.md). */
  async compact(): Promise<void> {}

  async close(): Promise<void> {
    await (await this.#opened)?.close()
  }

  async #attempt<Result>(work: (collection: Collection) => Promise<Result>): Promise<Result> {
    try {
      this.#opened ??= this.#openCollection().catch((error) => {
        this.#opened = undefined
        throw error
      })
      return await work((await this.#opened).collection(keyCollection))
    } catch (error) {
      if (!(error instanceof ReadModelsUnavailableError)) throw error
      throw new StoreUnavailableError(`the customers' keys: ${error.message}`, { cause: error })
    }
  }

  async #openCollection(): Promise<ReadModels> {
    const readModels = await this.open()
    try {
      await readModels.createIndexes(keyCollection, indexes)
      return readModels
    } catch (error) {
      await readModels.close()
      throw error
    }
  }
}

function documentOf({ id, merchantId, owner, sealed }: KeptKey): KeyDocument {
  return { _id: owner, key: id, merchantId, sealed }
}

function keptOf(document: Document): KeptKey {
  const { _id: owner, key: id, merchantId, sealed } = document as KeyDocument
  return { id, merchantId, owner, sealed }
}
