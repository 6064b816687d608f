import { setImmediate } from 'node:timers/promises'
import type { Collection, Document, ReadModels } from '../../read-models/read-models.js'

/** Each in memory once while they are merged. */
const chunkSize = 200
/** What is merged then meets each page of the collection several times, so that more at once would gain nothing. */
const maxRuns = 250
const chunksAtOnce = 50
const putSize = 2_500
const digits = 6

interface Chunk extends Document {
  readonly documents: readonly Document[]
}

/** Where the documents of a collection wait that are to be sorted before it has them. */
export function stagedName(collection: string): string {
  return `${collection}__staged`
}

/**
 * Documents on their way into a collection, in runs that are each in the order of `_id`. Of ids in no order nearly every one has a page of the index for
 * itself, which is read, written to the log and written to the file: in a large collection that is most of what a rebuild does. Merged, they are
 * written from the first page to the last.
 */
export class Staging {
  readonly #staged: Collection
  /** Undefined until it is known what an earlier run of the rebuild has left. */
  #runs: number | undefined

  constructor(
    private readonly readModels: ReadModels,
    private readonly name: string,
    /** Called now and then while that takes long; what it throws ends it. */
    private readonly between: () => Promise<void>,
  ) {
    this.#staged = readModels.collection(stagedName(name))
  }

  /** `documents` in the order of `_id`; of the same document what comes last is kept. */
  async add(documents: readonly Document[]): Promise<void> {
    if (documents.length === 0) return
    if ((await this.#count()) >= maxRuns) await this.settle()
    const run = await this.#count()
    if (run === 0) await this.readModels.createUnfilled(stagedName(this.name), [])
    const chunks: Chunk[] = []
    for (let n = 0; n < documents.length; n += chunkSize)
      chunks.push({ _id: `${padded(run)}|${padded(n)}`, documents: documents.slice(n, n + chunkSize) })
    this.#runs = run + 1
    for (let n = 0; n < chunks.length; n += chunksAtOnce) {
      await this.#staged.put(chunks.slice(n, n + chunksAtOnce))
      await setImmediate()
    }
  }

  /** Everything is in the collection then. What is cut short is done again. */
  async settle(): Promise<void> {
    const count = await this.#count()
    if (count === 0) return
    const collection = this.readModels.collection(this.name)
    let waiting: readonly Document[] = []
    const write = async (least: number) => {
      let written = 0
      for (; waiting.length - written >= least; written += putSize) {
        await collection.put(waiting.slice(written, written + putSize))
        await setImmediate()
        await this.between()
      }
      waiting = waiting.slice(written)
    }
    // One step of the merge has up to a chunk of every run.
    for await (const documents of merged(Array.from({ length: count }, (_, run) => new Run(this.#staged, run)))) {
      waiting = waiting.concat(documents)
      await write(putSize)
    }
    await write(1)
    await this.readModels.drop(stagedName(this.name))
    this.#runs = 0
  }

  async #count(): Promise<number> {
    if (this.#runs === undefined) {
      const last = await this.#staged.findOne({}, { sort: { _id: -1 } })
      this.#runs = last ? Number(last._id.slice(0, digits)) + 1 : 0
    }
    return this.#runs
  }
}

/** Reads a run a chunk at a time. */
class Run {
  documents: readonly Document[] = []
  #after: string

  constructor(
    private readonly staged: Collection,
    private readonly number: number,
  ) {
    this.#after = `${padded(number)}|`
  }

  /** Empty at the end only. */
  async fill(): Promise<void> {
    if (this.documents.length > 0) return
    const filter = { _id: { $gt: this.#after, $lt: `${padded(this.number)}|~` } }
    const chunk = (await this.staged.findOne(filter, { sort: { _id: 1 } })) as Chunk | null
    if (!chunk) return
    this.#after = chunk._id
    this.documents = chunk.documents
  }

  /** Those up to an id. */
  take(id: string): readonly Document[] {
    const end = this.documents.findIndex(({ _id }) => _id > id)
    const taken = end < 0 ? this.documents : this.documents.slice(0, end)
    this.documents = end < 0 ? [] : this.documents.slice(end)
    return taken
  }
}

/** In the order of `_id`; of equal ids the later run's. */
async function* merged(runs: readonly Run[]): AsyncGenerator<readonly Document[]> {
  let left = runs
  for (;;) {
    for (const run of left) await run.fill()
    left = left.filter(({ documents }) => documents.length > 0)
    if (left.length === 0) return
    // As far as every run is known.
    const through = left.map(({ documents }) => documents.at(-1)!._id).reduce((a, b) => (a < b ? a : b))
    const documents = left
      .flatMap((run) => run.take(through))
      .sort((a, b) => (a._id < b._id ? -1 : a._id > b._id ? 1 : 0))
    yield documents.filter(({ _id }, n) => documents[n + 1]?._id !== _id)
  }
}

function padded(n: number): string {
  return String(n).padStart(digits, '0')
}
