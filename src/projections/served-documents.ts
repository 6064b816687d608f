import { LRUCache } from 'lru-cache'
import type { Collection, Document, WriteOperation } from '../read-models/read-models.js'
import type { Target } from './projection.js'

/** Each takes a kilobyte or two. */
const maxKnown = 5_000
const findSize = 500

/**
 * The documents that are in use, as their one writer has them: most events change what was written a moment ago, and are spared reading it back. A
 * document is always the fold of its stream up to where it says it has come, so one that another holder of the lease has replaced since is
 * no wrong beginning, and the guard of the write keeps what is further on.
 */
export class ServedDocuments implements Target {
  readonly #known = new LRUCache<string, Document>({ max: maxKnown })

  constructor(private readonly collection: Collection) {}

  async byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Document>> {
    const found = new Map<string, Document>()
    const missing: string[] = []
    for (const id of ids) {
      const known = this.#known.get(id)
      if (known) found.set(id, known)
      else missing.push(id)
    }
    for (let n = 0; n < missing.length; n += findSize) {
      const stored = await this.collection.find({ _id: { $in: missing.slice(n, n + findSize) } })
      for (const document of stored) found.set(document._id, document)
    }
    return found
  }

  async write(operations: readonly WriteOperation[]): Promise<void> {
    await this.collection.bulkWrite(operations)
    for (const operation of operations) {
      if ('replaceOne' in operation) {
        const { replacement } = operation.replaceOne
        this.#known.set(replacement._id, replacement)
      } else if (!('insertOne' in operation))
        this.#known.delete(('updateOne' in operation ? operation.updateOne : operation.deleteOne).filter._id)
    }
  }
}
