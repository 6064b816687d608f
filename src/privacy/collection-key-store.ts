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
/** The document without a key: the newest checkpoint of the log. */
const checkpointId = 'checkpoint'
const indexes = [{ key: { key: 1 } }, { key: { merchantId: 1 } }] as const

/** Opens the keys in a collection next to the read models, for nodes that share a server. Calls `open` at the first access. */
export function openCollectionKeyStore(open: () => Promise<ReadModels>): KeyStore {
  let opened: Promise<ReadModels> | undefined
  const inCollection = async <Result>(work: (collection: Collection) => Promise<Result>): Promise<Result> => {
    try {
      opened ??= openIndexed(open).catch((error) => {
        opened = undefined
        throw error
      })
      return await work((await opened).collection(keyCollection))
    } catch (error) {
      if (!(error instanceof ReadModelsUnavailableError)) throw error
      throw new StoreUnavailableError(`the customers' keys: ${error.message}`, { cause: error })
    }
  }
  return {
    ensure: (keys) =>
      inCollection(async (collection) => {
        try {
          await collection.bulkWrite(keys.map((key) => ({ insertOne: { document: documentOf(key) } })))
          return keys
        } catch (error) {
          // All other keys were stored.
          if (!(error instanceof DuplicateKeyError)) throw error
        }
        const owners = keys.map(({ owner }) => owner)
        const kept = new Map((await collection.find({ _id: { $in: owners } })).map((each) => [each._id, keptOf(each)]))
        return owners.map((owner) => kept.get(owner)!)
      }),
    byIds: (ids) => inCollection(async (collection) => (await collection.find({ key: { $in: ids } })).map(keptOf)),
    byOwner: (owner) =>
      inCollection(async (collection) => {
        const found = await collection.findOne({ _id: owner })
        return found ? keptOf(found) : undefined
      }),
    after: (id, limit) =>
      inCollection(async (collection) =>
        (await collection.find({ key: { $gt: id } }, { sort: { key: 1 }, limit })).map(keptOf),
      ),
    counts: (merchantIds) =>
      inCollection(async (collection) => {
        const counted = merchantIds.map(
          async (id) => [id, await collection.countDocuments({ merchantId: id })] as const,
        )
        return new Map((await Promise.all(counted)).filter(([, customers]) => customers > 0))
      }),
    replace: (keys) =>
      inCollection(async (collection) => {
        const known = await collection.find({ key: { $in: keys.map(({ id }) => id) } })
        const moved = known.filter(({ _id, key }) => keys.some(({ id, owner }) => id === key && owner !== _id))
        const existing = new Set(known.map(({ key }) => key))
        const kept = keys.filter(({ id }) => existing.has(id)).map(documentOf)
        // Inserts before it removes, so that a crash leaves two documents rather than none.
        await collection.bulkWrite(
          kept.map((replacement) => ({ replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } })),
        )
        await removeAll(collection, moved)
      }),
    destroy: (ids) =>
      inCollection(async (collection) => removeAll(collection, await collection.find({ key: { $in: ids } }))),
    keptCheckpoint: () =>
      inCollection(async (collection) => {
        const found = await collection.findOne({ _id: checkpointId })
        return found ? String(found.text) : undefined
      }),
    keepCheckpoint: (text) =>
      inCollection(async (collection) => {
        const replacement = { _id: checkpointId, text }
        await collection.bulkWrite([{ replaceOne: { filter: { _id: checkpointId }, replacement, upsert: true } }])
      }),
    /** Does nothing. The server's files are the operator's responsibility (docs/operating/privacy.md). */
    compact: async () => undefined,
    close: async () => (await opened)?.close(),
  }
}

async function openIndexed(open: () => Promise<ReadModels>): Promise<ReadModels> {
  const readModels = await open()
  try {
    await readModels.createIndexes(keyCollection, indexes)
    return readModels
  } catch (error) {
    await readModels.close()
    throw error
  }
}

async function removeAll(collection: Collection, documents: readonly Document[]): Promise<void> {
  if (documents.length > 0) await collection.bulkWrite(documents.map(({ _id }) => ({ deleteOne: { filter: { _id } } })))
}

/** The owner is the `_id`, so that the server ensures a single key per owner. */
function documentOf({ id, merchantId, owner, sealed }: KeptKey) {
  return { _id: owner, key: id, merchantId, sealed }
}

function keptOf(document: Document): KeptKey {
  const { _id: owner, key: id, merchantId, sealed } = document as ReturnType<typeof documentOf>
  return { id, merchantId, owner, sealed }
}
