import { setImmediate } from 'node:timers/promises'
import type { Collection, Document, WriteOperation } from '../../read-models/read-models.js'
import type { Target } from '../projection.js'
import type { Staging } from './staging.js'

/** Documents that wait to be written. Most ids are in no order, so each write dirties the whole index: the more at once, the fewer writes. */
const pendingMax = { whole: 10_000, once: 30_000 } as const
/** Small enough that neither other writers nor the other work of the thread wait for long. */
const putSize = 2_500
const findSize = 500

/**
 * The documents of a collection that nobody else writes, in memory until there are enough to write in order. What came last for a document
 * is what is written: so whatever a run before this one has left there, further on or not, ends as the log says.
 */
export class BufferedDocuments implements Target {
  #pending = new Map<string, Document>()
  /** What was written last; a later event may need it again. */
  #held = new Map<string, Document>()
  /** All that was written, from the moment somebody asks for it. */
  #touched: Set<string> | undefined

  constructor(
    private readonly collection: Collection,
    /** False: what is written once is hardly asked for again. */
    private readonly areNeededAgain: boolean,
    /** Where they are sorted before the collection has them. */
    private staging: Staging | undefined,
  ) {}

  /** Ids of what is written from now on; the set grows. */
  watch(): ReadonlySet<string> {
    this.#touched ??= new Set()
    return this.#touched
  }

  async byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Document>> {
    const found = new Map<string, Document>()
    const missing: string[] = []
    for (const id of ids) {
      const known = this.#pending.get(id) ?? this.#held.get(id)
      if (known) found.set(id, known)
      else missing.push(id)
    }
    if (missing.length > 0) await this.staging?.settle()
    for (let n = 0; n < missing.length; n += findSize) {
      const stored = await this.collection.find({ _id: { $in: missing.slice(n, n + findSize) } })
      for (const document of stored) found.set(document._id, document)
    }
    return found
  }

  async write(operations: readonly WriteOperation[]): Promise<void> {
    for (const operation of operations) {
      if ('replaceOne' in operation) this.#put(operation.replaceOne.replacement)
      else if ('insertOne' in operation) this.#put(operation.insertOne.document)
      else {
        // It says what to do to what is there.
        await this.flush()
        await this.staging?.settle()
        await this.collection.bulkWrite([operation])
        const { _id } = ('updateOne' in operation ? operation.updateOne : operation.deleteOne).filter
        this.#held.delete(_id)
        this.#touched?.add(_id)
      }
    }
    if (this.#pending.size >= pendingMax[this.areNeededAgain ? 'whole' : 'once']) await this.flush()
  }

  async flush(): Promise<void> {
    const documents = [...this.#pending.values()].sort((a, b) => (a._id < b._id ? -1 : 1))
    if (this.staging) await this.staging.add(documents)
    else {
      for (let n = 0; n < documents.length; n += putSize) {
        await this.collection.put(documents.slice(n, n + putSize))
        await setImmediate()
      }
    }
    if (this.areNeededAgain) this.#held = this.#pending
    this.#pending = new Map()
  }

  /** Everything is in the collection then, and what comes after it will be at each flush. */
  async finish(): Promise<void> {
    await this.flush()
    await this.staging?.settle()
    this.staging = undefined
  }

  #put(document: Document): void {
    this.#pending.set(document._id, document)
    this.#touched?.add(document._id)
  }
}
