import { isDeepStrictEqual } from 'node:util'
import type { Collection, Document } from '../../read-models/read-models.js'

/** A document that differs from the one that the log results in. */
export interface Difference {
  readonly id: string
  /** `missing`: only the log results in it; `added`: nothing in the log results in it. */
  readonly kind: 'changed' | 'missing' | 'added'
  /** The differing paths of a changed document, without their values. */
  readonly fields: readonly string[]
}

const pageSize = 500
/** The limit per collection: with more differences, a rebuild is needed instead of a list. */
const maxOpen = 50_000
const maxNamed = 1_000

interface Open {
  /** The document as it was read. */
  readonly live: Document | undefined
  /** The smallest difference so far. */
  readonly difference: Difference
}

/** Compares live documents with documents that were built from the log. */
export class Comparison {
  /** `undefined` until the document is compared again. */
  readonly #open = new Map<string, Open | undefined>()
  #documents = 0
  #isFull = false

  private constructor(
    private readonly live: Collection,
    private readonly fresh: Collection,
  ) {}

  static async of(live: Collection, fresh: Collection): Promise<Comparison> {
    const comparison = new Comparison(live, fresh)
    await comparison.#compareAll(fresh, live)
    comparison.#documents = await comparison.#compareAll(live, fresh)
    await comparison.#compareAgain()
    return comparison
  }

  /** Whether any document differs so far. */
  get isOpen(): boolean {
    return this.#open.size > 0
  }

  /** Compares changed built documents again. A document that equals the live one is no longer a difference. */
  async changed(ids: readonly string[]): Promise<void> {
    for (const some of batches(ids.filter((id) => this.#open.has(id)))) {
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

  /** Compares every document of one side with its counterpart. Returns the number of documents. */
  async #compareAll(one: Collection, other: Collection): Promise<number> {
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

  /** Compares the differing documents again, because the two sides were not read at the same time and the live one changes. */
  async #compareAgain(): Promise<void> {
    for (const ids of batches([...this.#open.keys()])) {
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
  return { id, kind: 'changed', fields: differingPaths(live, fresh) }
}

/** A document that exists on both sides has a smaller difference than a missing one. */
function isSmaller(one: Difference, other: Difference): boolean {
  const size = ({ kind, fields }: Difference) => (kind === 'changed' ? fields.length : Number.POSITIVE_INFINITY)
  return size(one) <= size(other)
}

function differingPaths(one: object, other: object, above = ''): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].flatMap((name) => {
    const [a, b]: unknown[] = [Reflect.get(one, name), Reflect.get(other, name)]
    if (isDeepStrictEqual(a, b)) return []
    const path = `${above}${name}`
    return isPlain(a) && isPlain(b) ? differingPaths(a, b, `${path}.`) : [path]
  })
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function* batches(ids: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < ids.length; from += pageSize) yield ids.slice(from, from + pageSize)
}

async function byId(collection: Collection, ids: readonly string[]): Promise<ReadonlyMap<string, Document>> {
  if (ids.length === 0) return new Map()
  const found = await collection.find({ _id: { $in: ids } })
  return new Map(found.map((document) => [document._id, document]))
}
