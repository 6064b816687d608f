import { createHash } from 'node:crypto'
import type { Collection, Condition, Document, Filter, Sort } from '../read-models/read-models.js'

/** The values by which an item is sorted. A cursor holds those of the last item of a page. */
export interface SortKey {
  /** A time in ISO 8601, UTC, with milliseconds, or an amount. */
  readonly at: string | number
  /** Orders items with the same value: the document's position in the log, or a number derived from the id of an item without one. */
  readonly position: number
}

export interface PageRequest {
  readonly limit: number
  readonly cursor?: SortKey | undefined
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** The `cursor` of the next page; `null` on the last page. */
  readonly nextCursor: string | null
}

export interface Order {
  readonly field: string
  readonly direction: 1 | -1
}

export type Runs = readonly Run[]

/** A range of an index: documents with equal first fields, sorted by the field of the order and `position`. */
export interface Run {
  readonly equal: { readonly [field: string]: string }
  /** Inclusive. */
  readonly from?: string | number | undefined
  /** Exclusive. */
  readonly to?: string | number | undefined
}

/**
 * Returns the next documents of several runs in order, at most `limit`. Each run is read by its index, after the previous page and up to the
 * last document that still fits on this page. Documents outside the filter are never read.
 * @throws ReadModelsUnavailableError
 */
export async function firstOf<Found extends Document>(
  collection: Collection,
  order: Order,
  runs: Runs,
  { limit, cursor: after }: PageRequest,
): Promise<readonly Found[]> {
  // Keyed by id: a document that moves from one run to another between two reads appears once, in its later state.
  const byId = new Map<string, Document>()
  let found: readonly Document[] = []
  for (const run of runs) {
    const full = found.length === limit ? (found[limit - 1]![order.field] as SortKey['at']) : undefined
    const documents = await readRun(collection, order, run, after, full, limit)
    if (documents.length === 0) continue
    for (const document of documents) byId.set(document._id, document)
    found = inOrder([...byId.values()], order).slice(0, limit)
    byId.clear()
    for (const document of found) byId.set(document._id, document)
  }
  return found as readonly Found[]
}

function inOrder(documents: Document[], { field, direction }: Order): Document[] {
  const keyOf = (document: Document): SortKey => ({
    at: document[field] as SortKey['at'],
    position: document.position as number,
  })
  return documents.sort((a, b) => direction * compareSortKeys(keyOf(a), keyOf(b)))
}

/** Documents after `upTo` do not fit on the page. */
async function readRun(
  collection: Collection,
  { field, direction }: Order,
  run: Run,
  after: SortKey | undefined,
  upTo: SortKey['at'] | undefined,
  limit: number,
): Promise<readonly Document[]> {
  const sort: Sort = { [field]: direction, position: direction }
  const isInside =
    after && (run.from === undefined || after.at >= run.from) && (run.to === undefined || after.at < run.to)
  // Documents with the same value separately, because one condition for both would read all of them again for each page.
  const next = (position: number): Condition => (direction === 1 ? { $gt: position } : { $lt: position })
  const first = isInside
    ? await collection.find({ ...run.equal, [field]: after.at, position: next(after.position) }, { sort, limit })
    : []
  if (first.length === limit) return first
  const range = direction === 1 ? ascending(run, after?.at, upTo) : descending(run, after?.at, upTo)
  const filter: Filter = { ...run.equal, ...(Object.keys(range).length > 0 && { [field]: range }) }
  return [...first, ...(await collection.find(filter, { sort, limit: limit - first.length }))]
}

type Bound = SortKey['at'] | undefined

// One bound for each end, because SQLite can use the wider of two bounds and read every row in between.

function ascending({ from, to }: Run, after: Bound, upTo: Bound) {
  const isAfter = after !== undefined && (from === undefined || after >= from)
  return {
    ...(isAfter ? { $gt: after } : from !== undefined && { $gte: from }),
    ...(upTo !== undefined && (to === undefined || upTo < to) ? { $lte: upTo } : to !== undefined && { $lt: to }),
  }
}

function descending({ from, to }: Run, after: Bound, upTo: Bound) {
  const lowest = upTo !== undefined && (from === undefined || upTo > from) ? upTo : from
  const highest = after !== undefined && (to === undefined || after < to) ? after : to
  return { ...(lowest !== undefined && { $gte: lowest }), ...(highest !== undefined && { $lt: highest }) }
}

/** Returns a negative number if `a` comes before `b` in ascending order. */
function compareSortKeys(a: SortKey, b: SortKey): number {
  if (a.at === b.at) return a.position - b.position
  return a.at < b.at ? -1 : 1
}

/** Returns a page of sorted items. An additional item after `limit` shows that there is a next page. */
export function pageOf<Item>(found: readonly Item[], limit: number, keyOf: (item: Item) => SortKey): Page<Item> {
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, nextCursor: last && found.length > limit ? formatCursor(keyOf(last)) : null }
}

/** Returns a page of unsorted items that are all in memory, newest first. */
export function pageOfAll<Item>(all: readonly Item[], { limit, cursor }: PageRequest, keyOf: (item: Item) => SortKey) {
  const newestFirst = [...all].sort((a, b) => compareSortKeys(keyOf(b), keyOf(a)))
  const rest = cursor ? newestFirst.filter((item) => compareSortKeys(keyOf(item), cursor) < 0) : newestFirst
  return pageOf(rest, limit, keyOf)
}

/** Returns a cursor, which clients return unchanged. */
export function formatCursor({ at, position }: SortKey): string {
  return Buffer.from(`${at}|${position}`).toString('base64url')
}

/** Parses a cursor of a list that is sorted by time. Returns `undefined` if it is invalid. */
export function parseCursor(text: string): SortKey | undefined {
  const [, at, position] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|(\d{1,15})$/.exec(decoded(text)) ?? []
  return at && position ? { at, position: Number(position) } : undefined
}

/** Parses a cursor of a list that is sorted by amount. Returns `undefined` if it is invalid. */
export function parseAmountCursor(text: string): SortKey | undefined {
  const [, at, position] = /^(\d{1,15})\|(\d{1,15})$/.exec(decoded(text)) ?? []
  return at && position ? { at: Number(at), position: Number(position) } : undefined
}

function decoded(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString('latin1')
}

/** Returns a number for an item without a position, the same for the same id. */
export function positionOfId(id: string): number {
  return createHash('sha256').update(id).digest().readUIntBE(0, 6)
}
