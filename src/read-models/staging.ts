import { setImmediate } from 'node:timers/promises'
import { slices } from './find-documents.js'
import type { Collection, Document, ReadModels } from './read-models.js'

/** Small enough that neither other writers nor other work of the thread wait for long. */
const writeSize = 2_500
/** The merge holds one chunk of each run in memory. */
const chunkSize = 200
/** Merging more runs together gains nothing, because each page of the collection is then written several times anyway. */
const maxRuns = 250
const chunksPerWrite = 50
const digits = 6

/** Returns the name of the collection in which documents wait until they are sorted into `collection`. */
export function stagedName(collection: string): string {
  return `${collection}__staged`
}

interface Chunk extends Document {
  readonly documents: Document[]
}

/** A sorted sequence of chunks, which is read one chunk at a time. */
interface Run {
  readonly end: string
  after: string
  documents: Document[]
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
    const chunks = [...slices(documents, chunkSize)].map((some, n) => ({
      _id: `${padded(run)}|${padded(n)}`,
      documents: some,
    }))
    await putInSlices(this.#staged, chunks, chunksPerWrite)
  }

  /** Writes all runs into the collection. An interrupted merge is repeated. */
  async merge(): Promise<void> {
    if ((await this.#countRuns()) === 0) return
    const collection = this.readModels.collection(this.collection)
    let waiting: Document[] = []
    for await (const documents of this.#merged()) {
      waiting = waiting.concat(documents)
      if (waiting.length < writeSize) continue
      await putInSlices(collection, waiting, writeSize, this.onWritten)
      waiting = []
    }
    await putInSlices(collection, waiting, writeSize, this.onWritten)
    await this.readModels.drop(stagedName(this.collection))
    this.#runs = 0
  }

  /** Yields all documents in the order of `_id`, the latest of each. */
  async *#merged(): AsyncGenerator<readonly Document[]> {
    let runs = Array.from({ length: await this.#countRuns() }, (_, n): Run => {
      return { after: `${padded(n)}|`, end: `${padded(n)}|~`, documents: [] }
    })
    for (;;) {
      for (const run of runs) await this.#fill(run)
      runs = runs.filter(({ documents }) => documents.length > 0)
      if (runs.length === 0) return
      // Up to this id, the documents of every run are in memory.
      const through = runs.map(({ documents }) => documents.at(-1)!._id).reduce((a, b) => (a < b ? a : b))
      const taken = runs.flatMap(({ documents }) => {
        const end = documents.findIndex(({ _id }) => _id > through)
        return documents.splice(0, end < 0 ? documents.length : end)
      })
      taken.sort((a, b) => (a._id < b._id ? -1 : a._id > b._id ? 1 : 0))
      yield taken.filter(({ _id }, n) => taken[n + 1]?._id !== _id)
    }
  }

  /** Leaves `documents` empty only at the end of the run. */
  async #fill(run: Run): Promise<void> {
    if (run.documents.length > 0) return
    const filter = { _id: { $gt: run.after, $lt: run.end } }
    const chunk = (await this.#staged.findOne(filter, { sort: { _id: 1 } })) as Chunk | null
    if (chunk) Object.assign(run, { after: chunk._id, documents: chunk.documents })
  }

  async #countRuns(): Promise<number> {
    if (this.#runs === undefined) {
      const last = await this.#staged.findOne({}, { sort: { _id: -1 } })
      this.#runs = last ? Number(last._id.slice(0, digits)) + 1 : 0
    }
    return this.#runs
  }
}

/** Lets other work of the thread run between the slices. */
export async function putInSlices(
  collection: Collection,
  documents: readonly Document[],
  size = writeSize,
  onWritten?: () => Promise<void>,
): Promise<void> {
  for (const some of slices(documents, size)) {
    await collection.put(some)
    await setImmediate()
    await onWritten?.()
  }
}

function padded(n: number): string {
  return String(n).padStart(digits, '0')
}
