import type { Collection, DocumentText } from '../../read-models/read-models.js'
import { pause } from '../../subscriptions/retry.js'

const pageSize = 1_000
const recheckSize = 500
/** So many ids are held; what is beyond is looked at when both stand still. */
const maxSuspects = 200_000

export interface Suspects {
  /** Ids of documents that are not the same in both, or in one only. */
  readonly ids: ReadonlySet<string>
  readonly compared: number
  /** Where to go on; undefined at the end. */
  readonly next: string | undefined
}

/** Walks both in the order of ids, from `after` on, until the end or until `max` ids differ. */
export async function findDifferences(
  a: Collection,
  b: Collection,
  {
    after,
    max = maxSuspects,
    signal,
  }: { readonly after?: string | undefined; readonly max?: number; readonly signal: AbortSignal },
): Promise<Suspects> {
  const [left, right] = [new Walk(a, after), new Walk(b, after)]
  const ids = new Set<string>()
  let compared = 0
  let at = after
  while (!signal.aborted) {
    const [one, other] = [await left.head(), await right.head()]
    if (!one && !other) return { ids, compared, next: undefined }
    if (ids.size >= max) return { ids, compared, next: at }
    const order = !one ? 1 : !other ? -1 : byBytes(one._id, other._id)
    const { _id } = (order <= 0 ? one : other)!
    if (order !== 0 || one?.text !== other?.text) ids.add(_id)
    if (order <= 0) left.advance()
    if (order >= 0) right.advance()
    at = _id
    // The texts of a page are there at once: other work of the thread comes in between.
    if (++compared % pageSize === 0) await pause(0, signal)
  }
  return { ids, compared, next: at }
}

/** Which of these are not the same, when both stand still. */
export async function stillDiffering(a: Collection, b: Collection, ids: Iterable<string>): Promise<string[]> {
  const differing: string[] = []
  const all = [...ids]
  for (let n = 0; n < all.length; n += recheckSize) {
    const some = all.slice(n, n + recheckSize)
    const [left, right] = await Promise.all([a, b].map((collection) => textsOf(collection, some)))
    differing.push(...some.filter((id) => left!.get(id) !== right!.get(id)))
  }
  return differing
}

async function textsOf(collection: Collection, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = await collection.find({ _id: { $in: ids } })
  return new Map(found.map((document) => [document._id, JSON.stringify(document)]))
}

/** One after the other, read a page at a time. */
class Walk {
  #page: readonly DocumentText[] = []
  #at = 0
  #isOver = false

  constructor(
    private readonly collection: Collection,
    private after: string | undefined,
  ) {}

  /** Undefined at the end. */
  async head(): Promise<DocumentText | undefined> {
    if (this.#at === this.#page.length && !this.#isOver) {
      this.#page = await this.collection.texts(this.after, pageSize)
      this.#at = 0
      this.after = this.#page.at(-1)?._id ?? this.after
      this.#isOver = this.#page.length < pageSize
    }
    return this.#page[this.#at]
  }

  advance(): void {
    this.#at++
  }
}

/** As both stores order ids; JavaScript's own order differs above U+FFFF. */
function byBytes(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b))
}
