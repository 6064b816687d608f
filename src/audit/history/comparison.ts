import { isDeepStrictEqual } from 'node:util'
import type { Collection, Document } from '../../read-models/read-models.js'

/** A document that is not what the log makes of it. */
export interface Difference {
  readonly id: string
  /** `missing`: the log makes it and it is not there; `added`: nothing in the log makes it. */
  readonly kind: 'changed' | 'missing' | 'added'
  /** Of a changed one, the paths that differ; what stands there is not told. */
  readonly fields: readonly string[]
}

const pageSize = 500
/** Of one collection: where more differ, a rebuild is due and not a list. */
const maxOpen = 50_000
const maxNamed = 1_000

interface Open {
  /** As it was when it was looked at. */
  readonly live: Document | undefined
  /** From what the log makes of it, at the point where they differ least. */
  readonly difference: Difference
}

/** Live documents beside those that were made anew. */
export class Comparison {
  /** Undefined until it is looked at again. */
  readonly #open = new Map<string, Open | undefined>()
  #documents = 0
  #isFull = false

  private constructor(
    private readonly live: Collection,
    private readonly fresh: Collection,
  ) {}

  static async of(live: Collection, fresh: Collection): Promise<Comparison> {
    const comparison = new Comparison(live, fresh)
    await comparison.#lookThrough(fresh, live)
    comparison.#documents = await comparison.#lookThrough(live, fresh)
    await comparison.#lookAgain()
    return comparison
  }

  /** Something differs, as far as one has come. */
  get isOpen(): boolean {
    return this.#open.size > 0
  }

  /** Those made anew are others now: one that equals the live one settles it. */
  async changed(ids: readonly string[]): Promise<void> {
    for (const some of portions(ids.filter((id) => this.#open.has(id)))) {
      const fresh = await byId(this.fresh, some)
      for (const id of some) this.#compare(id, this.#open.get(id)?.live, fresh.get(id))
    }
  }

  result(): { readonly documents: number; readonly differences: readonly Difference[]; readonly more: boolean } {
    const differences = [...this.#open.values()].flatMap((open) => open?.difference ?? [])
    return {
      documents: this.#documents,
      differences: differences.slice(0, maxNamed),
      more: this.#isFull || differences.length > maxNamed,
    }
  }

  /** Every document of one side beside its counterpart on the other. Answers how many there are. */
  async #lookThrough(one: Collection, other: Collection): Promise<number> {
    let count = 0
    for (let last = ''; ; ) {
      const page = await one.find({ _id: { $gt: last } }, { sort: { _id: 1 }, limit: pageSize })
      const ids = page.map(({ _id }) => _id)
      const counterparts = await byId(other, ids)
      for (const document of page) {
        if (isDeepStrictEqual(document, counterparts.get(document._id))) continue
        if (this.#open.size < maxOpen) this.#open.set(document._id, undefined)
        else this.#isFull ||= !this.#open.has(document._id)
      }
      count += page.length
      if (page.length < pageSize) return count
      last = ids.at(-1)!
    }
  }

  /** At what differed: the two sides were not read at the same moment, and the live one goes on. */
  async #lookAgain(): Promise<void> {
    for (const ids of portions([...this.#open.keys()])) {
      const [live, fresh] = await Promise.all([byId(this.live, ids), byId(this.fresh, ids)])
      for (const id of ids) this.#compare(id, live.get(id), fresh.get(id))
    }
  }

  #compare(id: string, live: Document | undefined, fresh: Document | undefined): void {
    if (isDeepStrictEqual(live, fresh)) {
      this.#open.delete(id)
      return
    }
    const before = this.#open.get(id)?.difference
    const now = differenceOf(id, live, fresh)
    this.#open.set(id, { live, difference: before && isSmaller(before, now) ? before : now })
  }
}

function differenceOf(id: string, live: Document | undefined, fresh: Document | undefined): Difference {
  if (!live) return { id, kind: 'missing', fields: [] }
  if (!fresh) return { id, kind: 'added', fields: [] }
  return { id, kind: 'changed', fields: pathsThatDiffer(live, fresh) }
}

/** A document that is there at all is nearer than one that is not. */
function isSmaller(one: Difference, other: Difference): boolean {
  const size = ({ kind, fields }: Difference) => (kind === 'changed' ? fields.length : Number.POSITIVE_INFINITY)
  return size(one) <= size(other)
}

function pathsThatDiffer(one: object, other: object, above = ''): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].flatMap((name) => {
    const [a, b]: unknown[] = [Reflect.get(one, name), Reflect.get(other, name)]
    if (isDeepStrictEqual(a, b)) return []
    const path = `${above}${name}`
    return isPlain(a) && isPlain(b) ? pathsThatDiffer(a, b, `${path}.`) : [path]
  })
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function* portions(ids: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < ids.length; from += pageSize) yield ids.slice(from, from + pageSize)
}

async function byId(collection: Collection, ids: readonly string[]): Promise<ReadonlyMap<string, Document>> {
  if (ids.length === 0) return new Map()
  const found = await collection.find({ _id: { $in: ids } })
  return new Map(found.map((document) => [document._id, document]))
}
