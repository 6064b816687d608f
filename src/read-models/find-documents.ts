import { sizedCache } from '../kernel/bounded-cache.js'
import { type Collection, type Document, type WriteOperation, writtenId } from './read-models.js'

const findSize = 500

/** Returns the documents with these ids, read from the collection unless `known` has them. */
export async function findByIds(
  collection: Collection,
  ids: readonly string[],
  known: (id: string) => Document | undefined = () => undefined,
): Promise<Map<string, Document>> {
  const found = new Map<string, Document>()
  const missing: string[] = []
  for (const id of ids) {
    const document = known(id)
    if (document) found.set(id, document)
    else missing.push(id)
  }
  for (let n = 0; n < missing.length; n += findSize) {
    const stored = await collection.find({ _id: { $in: missing.slice(n, n + findSize) } })
    for (const document of stored) found.set(document._id, document)
  }
  return found
}

export function* slices<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let n = 0; n < items.length; n += size) yield items.slice(n, n + size)
}

/** Five thousand transfers without metadata, of one to two kilobytes by the estimate, or hundreds with the most metadata. */
const maxCachedBytes = 8 * 1024 * 1024

/**
 * Documents in a complete build, written with their guards. The cache saves reads, because most events change a document that was just written.
 * A cached document is always the fold of its events up to its own progress. So it stays a valid start even if another holder of the lease
 * has written a newer one, which the guard then keeps.
 */
export class ServedDocuments {
  readonly #cached = sizedCache<Document>(maxCachedBytes)

  constructor(private readonly collection: Collection) {}

  byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Document>> {
    return findByIds(this.collection, ids, (id) => this.#cached.get(id))
  }

  async write(operations: readonly WriteOperation[]): Promise<void> {
    await this.collection.bulkWrite(operations)
    for (const operation of operations) {
      if ('replaceOne' in operation) this.#cached.set(operation.replaceOne.filter._id, operation.replaceOne.replacement)
      else this.#cached.delete(writtenId(operation))
    }
  }
}
