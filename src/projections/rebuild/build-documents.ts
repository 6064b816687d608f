import { setImmediate } from 'node:timers/promises'
import { estimatedBytes } from '../../kernel/memory-size.js'
import { findByIds, slices } from '../../read-models/find-documents.js'
import { type Collection, type Document, type WriteOperation, writtenId } from '../../read-models/read-models.js'
import type { BuildTarget } from './build.js'

/** Small enough that neither other writers nor other work of the thread wait for long. */
const writeSize = 2_500
/** Most ids are unordered, so that each flush changes the whole index: larger flushes write less. */
const maxPending = { cached: 10_000, uncached: 30_000 } as const
/** Ten thousand transfers without metadata, or more than a thousand with the most metadata. Twice as many are in memory if they are cached. */
const maxPendingBytes = 32 * 1024 * 1024

/**
 * The documents of an unfinished build, which has no other writer. They stay in memory until there are enough to write. Guards are
 * ignored: the last document wins, so that the documents of an interrupted run become the fold of the log.
 */
export class BufferedDocuments implements BuildTarget {
  #pending = new Map<string, Document>()
  /** The estimated memory of the pending documents. */
  #pendingBytes = 0
  /** The last flushed documents, which later events may need again. */
  #flushed = new Map<string, Document>()

  constructor(
    private readonly collection: Collection,
    /** Whether later events need documents again. */
    private readonly isCached: boolean,
  ) {}

  async byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Document>> {
    const known = (id: string) => this.#pending.get(id) ?? this.#flushed.get(id)
    return findByIds(this.collection, ids, known)
  }

  async write(operations: readonly WriteOperation[]): Promise<void> {
    for (const operation of operations) {
      if ('replaceOne' in operation) this.#keep(operation.replaceOne.replacement)
      else {
        // Updates and deletions depend on the stored document.
        await this.flush()
        await this.collection.bulkWrite([operation])
        this.#flushed.delete(writtenId(operation))
      }
    }
    const isFull = this.#pending.size >= maxPending[this.isCached ? 'cached' : 'uncached']
    if (isFull || this.#pendingBytes >= maxPendingBytes) await this.flush()
  }

  async flush(): Promise<void> {
    // The order of the log is nearly that in which the large collections are stored, so sorting would only cost time.
    for (const some of slices([...this.#pending.values()], writeSize)) {
      await this.collection.put(some)
      await setImmediate()
    }
    if (this.isCached) this.#flushed = this.#pending
    this.#pending = new Map()
    this.#pendingBytes = 0
  }

  #keep(document: Document): void {
    const before = this.#pending.get(document._id)
    this.#pending.set(document._id, document)
    this.#pendingBytes += estimatedBytes(document) - (before ? estimatedBytes(before) : 0)
  }
}
