import type { Collection, Condition, Document, Filter, Sort } from '../read-models/read-models.js'

/** Where a page of a list ended: its last item. */
export interface Place {
  /** ISO 8601 in UTC with milliseconds, as stored. */
  readonly time: string
  readonly id: string
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** What to give as `cursor` for the next page; null on the last one. */
  readonly nextCursor: string | null
}

/** Documents that stand together in an index: equal in its first fields, then by a time and `_id`. */
export interface Run {
  readonly equal: { readonly [field: string]: string }
  /** Inclusive. */
  readonly from?: string | undefined
  /** Exclusive. */
  readonly to?: string | undefined
}

/**
 * The next documents of several runs together, newest first, at most `limit`. Every run is read by its index, from where the page
 * before ended, for no more rows than the page holds: what no filter left out is never looked at, however much there is of it.
 * @throws ReadModelsUnavailableError
 */
export async function newestOf(
  collection: Collection,
  timeField: string,
  runs: readonly Run[],
  after: Place | undefined,
  limit: number,
): Promise<readonly Document[]> {
  // By id, the later answer in place of the earlier: what moves from one run to another between two reads is in both.
  const found = new Map<string, Document>()
  for (const run of runs)
    for (const document of await readRun(collection, timeField, run, after, limit)) found.set(document._id, document)
  const keyed = [...found.values()].map((document) => ({
    document,
    key: sortKey({ time: String(document[timeField]), id: document._id }),
  }))
  return keyed
    .sort((a, b) => (a.key < b.key ? 1 : -1))
    .slice(0, limit)
    .map(({ document }) => document)
}

async function readRun(
  collection: Collection,
  timeField: string,
  run: Run,
  after: Place | undefined,
  limit: number,
): Promise<readonly Document[]> {
  const { from, to } = run
  const sort: Sort = { [timeField]: -1, _id: -1 }
  const isInside = after && (from === undefined || after.time >= from) && (to === undefined || after.time < to)
  // Those of the same millisecond by themselves: one condition for both would look at all of it again for each page.
  const first = isInside
    ? await collection.find({ ...run.equal, [timeField]: after.time, _id: { $lt: after.id } }, { sort, limit })
    : []
  if (first.length === limit) return first
  const before = after && (to === undefined || after.time < to) ? after.time : to
  const range: Condition = {
    ...(from !== undefined && { $gte: from }),
    ...(before !== undefined && { $lt: before }),
  }
  const filter: Filter = { ...run.equal, ...(Object.keys(range).length > 0 && { [timeField]: range }) }
  return [...first, ...(await collection.find(filter, { sort, limit: limit - first.length }))]
}

/** Of items newest first, of which one more than fits tells that there is a next page. */
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
  const keyed = all.map((item) => ({ item, key: sortKey(placeOf(item)) })).sort((a, b) => (a.key < b.key ? 1 : -1))
  const rest = cursor ? keyed.filter(({ key }) => key < sortKey(cursor)) : keyed
  return pageOf(
    rest.map(({ item }) => item),
    limit,
    placeOf,
  )
}

function sortKey({ time, id }: Place): string {
  return `${time}|${id}`
}

/** As text that clients hand back unread. */
export function formatCursor({ time, id }: Place): string {
  return Buffer.from(`${time}|${id}`).toString('base64url')
}

/** Undefined when it was not made by {@link formatCursor}. */
export function parseCursor(text: string): Place | undefined {
  const clear = Buffer.from(text, 'base64url').toString('latin1')
  const [, time, id] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|([0-9a-f-]{36})$/.exec(clear) ?? []
  return time && id ? { time, id } : undefined
}
