import { setImmediate } from 'node:timers/promises'
import type { Collection, Document, ReadModels } from '../../read-models/read-models.js'

/** The merge holds one chunk of each run in memory. */
const chunkSize = 200
/** Merging more runs at once gains nothing, because each page of the collection is then written several times anyway. */
const maxRuns = 250
const chunksPerWrite = 50
const writeSize = 2_500
const digits = 6

interface Chunk extends Document {
  readonly documents: readonly Document[]
}

/** Returns the name of the collection in which documents wait until they are sorted into `collection`. */
export function stagedName(collection: string): string {
  return `${collection}__staged`
}

/**
 * Sorts the documents of a collection before they are written. With unordered ids, nearly every document has its own page of the index,
 * which is read, logged and written for it: in a large collection, this is most of the work of a rebuild. Staging keeps runs that are each
 * sorted by `_id` and merges them, so that the collection is written from its first page to its last.
 */
export class Staging {
  readonly #staged: Collection
  /** Unknown until the runs of an interrupted build are counted. */
  #runs: number | undefined

  constructor(
    private readonly readModels: ReadModels,
    private readonly collection: string,
    /** Called after each write of a merge. An error ends the merge. */
    private readonly onWritten: () => Promise<void>,
  ) {
    this.#staged = readModels.collection(stagedName(collection))
  }

  /** Adds one run, sorted by `_id`. Of several documents with the same `_id`, the last one is kept. */
  async add(documents: readonly Document[]): Promise<void> {
    if (documents.length === 0) return
    if ((await this.#countRuns()) >= maxRuns) await this.merge()
    const run = await this.#countRuns()
    if (run === 0) await this.readModels.createUnfilled(stagedName(this.collection), [])
    this.#runs = run + 1
    const chunks = [...slices(documents, chunkSize)].map(
      (some, n): Chunk => ({ _id: `${padded(run)}|${padded(n)}`, documents: some }),
    )
    for (const some of slices(chunks, chunksPerWrite)) {
      await this.#staged.put(some)
      await setImmediate()
    }
  }

  /** Writes all runs into the collection. An interrupted merge is repeated. */
  async merge(): Promise<void> {
    if ((await this.#countRuns()) === 0) return
    let waiting: readonly Document[] = []
    for await (const documents of this.#merged()) {
      waiting = waiting.concat(documents)
      if (waiting.length < writeSize) continue
      await this.#write(waiting)
      waiting = []
    }
    await this.#write(waiting)
    await this.readModels.drop(stagedName(this.collection))
    this.#runs = 0
  }

  async #write(documents: readonly Document[]): Promise<void> {
    for (const some of slices(documents, writeSize)) {
      await this.readModels.collection(this.collection).put(some)
      await setImmediate()
      await this.onWritten()
    }
  }

  /** Yields all documents in the order of `_id`, the latest of each. */
  async *#merged(): AsyncGenerator<readonly Document[]> {
    let runs = Array.from({ length: await this.#countRuns() }, (_, n) => new Run(this.#staged, n))
    for (;;) {
      for (const run of runs) await run.fill()
      runs = runs.filter(({ documents }) => documents.length > 0)
      if (runs.length === 0) return
      // Up to this id, the documents of every run are in memory.
      const through = runs.map(({ documents }) => documents.at(-1)!._id).reduce((a, b) => (a < b ? a : b))
      const documents = runs
        .flatMap((run) => run.take(through))
        .sort((a, b) => (a._id < b._id ? -1 : a._id > b._id ? 1 : 0))
      yield documents.filter(({ _id }, n) => documents[n + 1]?._id !== _id)
    }
  }

  async #countRuns(): Promise<number> {
    if (this.#runs === undefined) {
      const last = await this.#staged.findOne({}, { sort: { _id: -1 } })
      this.#runs = last ? Number(last._id.slice(0, digits)) + 1 : 0
    }
    return this.#runs
  }
}

/** Reads one run a chunk at a time. */
class Run {
  documents: readonly Document[] = []
  #after: string
  readonly #end: string

  constructor(
    private readonly staged: Collection,
    number: number,
  ) {
    this.#after = `${padded(number)}|`
    this.#end = `${this.#after}~`
  }

  /** Leaves `documents` empty only at the end of the run. */
  async fill(): Promise<void> {
    if (this.documents.length > 0) return
    const filter = { _id: { $gt: this.#after, $lt: this.#end } }
    const chunk = (await this.staged.findOne(filter, { sort: { _id: 1 } })) as Chunk | null
    if (!chunk) return
    this.#after = chunk._id
    this.documents = chunk.documents
  }

  /** Removes and returns the documents up to an id. */
  take(id: string): readonly Document[] {
    const end = this.documents.findIndex(({ _id }) => _id > id)
    const taken = end < 0 ? this.documents : this.documents.slice(0, end)
    this.documents = end < 0 ? [] : this.documents.slice(end)
    return taken
  }
}

export function* slices<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let n = 0; n < items.length; n += size) yield items.slice(n, n + size)
}

function padded(n: number): string {
  return String(n).padStart(digits, '0')
}
