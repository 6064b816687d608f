import type { Collection, Condition, Document, Filter, Sort } from '../read-models/read-models.js'

/** Where a page of a list ended: what its last item is ordered by. */
export interface Place {
  /** A time, ISO 8601 in UTC with milliseconds as stored, or an amount. */
  readonly at: string | number
  readonly id: string
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** What to give as `cursor` for the next page; null on the last one. */
  readonly nextCursor: string | null
}

/** By a field, and by `_id` where that is the same. */
export interface Order {
  readonly field: string
  readonly direction: 1 | -1
}

/** Documents that stand together in an index: equal in its first fields, then by the field of the order and `_id`. */
export interface Run {
  readonly equal: { readonly [field: string]: string }
  /** Inclusive. */
  readonly from?: string | number | undefined
  /** Exclusive. */
  readonly to?: string | number | undefined
}

/**
 * The next documents of several runs together, in order, at most `limit`. Every run is read by its index, from where the page
 * before ended, for no more rows than the page holds, and no further than what is found already: what no filter left out is never
 * looked at, however much there is of it. @throws ReadModelsUnavailableError
 */
export async function firstOf(
  collection: Collection,
  order: Order,
  runs: readonly Run[],
  after: Place | undefined,
  limit: number,
): Promise<readonly Document[]> {
  // By id, the later answer in place of the earlier: what moves from one run to another between two reads is in both.
  const byId = new Map<string, Document>()
  let found: readonly Document[] = []
  for (const run of runs) {
    const full = found.length === limit ? (found[limit - 1]![order.field] as Place['at']) : undefined
    const documents = await readRun(collection, order, run, { after, upTo: full }, limit)
    if (documents.length === 0) continue
    for (const document of documents) byId.set(document._id, document)
    found = inOrder([...byId.values()], order).slice(0, limit)
    byId.clear()
    for (const document of found) byId.set(document._id, document)
  }
  return found
}

function inOrder(documents: Document[], { field, direction }: Order): Document[] {
  const placeOf = (document: Document): Place => ({ at: document[field] as Place['at'], id: document._id })
  return documents.sort((a, b) => direction * comparePlaces(placeOf(a), placeOf(b)))
}

interface Bounds {
  readonly after: Place | undefined
  /** Inclusive: what is behind it has no room on the page. */
  readonly upTo: Place['at'] | undefined
}

async function readRun(
  collection: Collection,
  order: Order,
  run: Run,
  { after, upTo }: Bounds,
  limit: number,
): Promise<readonly Document[]> {
  const { field, direction } = order
  const sort: Sort = { [field]: direction, _id: direction }
  const isInside =
    after && (run.from === undefined || after.at >= run.from) && (run.to === undefined || after.at < run.to)
  // Those of the same time by themselves: one condition for both would look at all of it again for each page.
  const behind: Condition = direction === 1 ? { $gt: after?.id ?? '' } : { $lt: after?.id ?? '' }
  const first = isInside ? await collection.find({ ...run.equal, [field]: after.at, _id: behind }, { sort, limit }) : []
  if (first.length === limit) return first
  const range = direction === 1 ? ascending(run, after, upTo) : descending(run, after, upTo)
  const filter: Filter = { ...run.equal, ...(Object.keys(range).length > 0 && { [field]: range }) }
  return [...first, ...(await collection.find(filter, { sort, limit: limit - first.length }))]
}

// One bound for each end: of two, SQLite may take the wider one and look at every row in between.

function ascending({ from, to }: Run, after: Place | undefined, upTo: Place['at'] | undefined) {
  const isBehind = after && (from === undefined || after.at >= from)
  return {
    ...(isBehind ? { $gt: after.at } : from !== undefined && { $gte: from }),
    ...(upTo !== undefined && (to === undefined || upTo < to) ? { $lte: upTo } : to !== undefined && { $lt: to }),
  }
}

function descending({ from, to }: Run, after: Place | undefined, upTo: Place['at'] | undefined) {
  const lowest = upTo !== undefined && (from === undefined || upTo > from) ? upTo : from
  const highest = after && (to === undefined || after.at < to) ? after.at : to
  return { ...(lowest !== undefined && { $gte: lowest }), ...(highest !== undefined && { $lt: highest }) }
}

/** Below 0 when `a` is before `b`, ascending. */
export function comparePlaces(a: Place, b: Place): number {
  if (a.at === b.at) return a.id < b.id ? -1 : a.id === b.id ? 0 : 1
  return a.at < b.at ? -1 : 1
}

/** Of items in order, of which one more than fits tells that there is a next page. */
export function pageOf<Item>(found: readonly Item[], limit: number, placeOf: (item: Item) => Place): Page<Item> {
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, nextCursor: last && found.length > limit ? formatCursor(placeOf(last)) : null }
}

/** The page behind a place of few items that are all at hand, in any order. */
export function pageOfAll<Item>(
  all: readonly Item[],
  { limit, cursor }: { readonly limit: number; readonly cursor: Place | undefined },
  placeOf: (item: Item) => Place,
): Page<Item> {
  const newestFirst = [...all].sort((a, b) => comparePlaces(placeOf(b), placeOf(a)))
  const rest = cursor ? newestFirst.filter((item) => comparePlaces(placeOf(item), cursor) < 0) : newestFirst
  return pageOf(rest, limit, placeOf)
}

/** As text that clients hand back unread. */
export function formatCursor({ at, id }: Place): string {
  return Buffer.from(`${at}|${id}`).toString('base64url')
}

/** Undefined when it was not made by {@link formatCursor}, of a list in order of time. */
export function parseCursor(text: string): Place | undefined {
  const [, at, id] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|([0-9a-f-]{36})$/.exec(clear(text)) ?? []
  return at && id ? { at, id } : undefined
}

/** The same of a list in order of amount. */
export function parseAmountCursor(text: string): Place | undefined {
  const [, at, id] = /^(\d{1,16})\|([0-9a-f-]{36})$/.exec(clear(text)) ?? []
  return at && id ? { at: Number(at), id } : undefined
}

function clear(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString('latin1')
}
