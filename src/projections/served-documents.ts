import { LRUCache } from 'lru-cache'
import { type Collection, type Document, type WriteOperation, writtenId } from '../read-models/read-models.js'
import { findByIds, type ProjectionTarget } from './apply-events.js'

/** Each document takes one or two kilobytes. */
const maxCached = 5_000

/**
 * Documents in a complete build, written with their guards. The cache saves reading back what was just written, which most events change.
 * A cached document is always the fold of its events up to its own progress. So it stays a valid start even if another holder of the lease
 * has written a newer one, which the guard then keeps.
 */
export class ServedDocuments implements ProjectionTarget {
  readonly #cached = new LRUCache<string, Document>({ max: maxCached })

  constructor(private readonly collection: Collection) {}

  byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Document>> {
    return findByIds(this.collection, ids, (id) => this.#cached.get(id))
  }

  async write(operations: readonly WriteOperation[]): Promise<void> {
    await this.collection.bulkWrite(operations)
    for (const operation of operations) {
      if ('replaceOne' in operation) this.#cached.set(writtenId(operation), operation.replaceOne.replacement)
      else this.#cached.delete(writtenId(operation))
    }
  }
}
