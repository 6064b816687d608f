import { setImmediate } from 'node:timers/promises'
import { isStoredUuid } from '../kernel/uuid.js'
import { findByIds, slices } from './find-documents.js'
import type { Collection, DocumentText } from './read-models.js'

/** A page of each collection is in memory: 15 MB in total if every transfer has the most metadata. */
const pageSize = 200
const recheckSize = 500
/** Limits the memory for ids. The rest is compared while neither collection changes. */
const maxSuspects = 200_000

/**
 * Compares two collections in the order of ids, after `after`, until the end or until `max` ids differ. Returns the ids of documents that
 * differ or exist in one collection only, and in `next` the id to resume after, which is `undefined` at the end.
 */
export async function findDifferences(
  a: Collection,
  b: Collection,
  signal: AbortSignal,
  after?: string,
  max = maxSuspects,
) {
  const [left, right] = [textsOf(a, after), textsOf(b, after)]
  const ids = new Set<string>()
  let compared = 0
  let last = after
  let [one, other] = [await left.next(), await right.next()]
  while (!signal.aborted && !(one.done && other.done)) {
    if (ids.size >= max) return { ids, compared, next: last }
    const order = one.done ? 1 : other.done ? -1 : compareIds(one.value._id, other.value._id)
    last = order <= 0 ? one.value!._id : other.value!._id
    if (order !== 0 || one.value!.text !== other.value!.text) ids.add(last!)
    if (order <= 0) one = await left.next()
    if (order >= 0) other = await right.next()
    // A page is compared without a pause otherwise, and other work of the thread would wait.
    if (++compared % pageSize === 0) await setImmediate()
  }
  return { ids, compared, next: undefined }
}

/** Returns which of the documents differ while neither collection changes. */
export async function stillDiffering(a: Collection, b: Collection, ids: ReadonlySet<string>): Promise<string[]> {
  const differing: string[] = []
  for (const some of slices([...ids], recheckSize)) {
    const [left, right] = await Promise.all([a, b].map((collection) => findByIds(collection, some)))
    differing.push(...some.filter((id) => JSON.stringify(left!.get(id)) !== JSON.stringify(right!.get(id))))
  }
  return differing
}

async function* textsOf(collection: Collection, from: string | undefined): AsyncGenerator<DocumentText, undefined> {
  let after = from
  for (;;) {
    const page = await collection.texts(after, pageSize)
    for (const text of page) yield text
    if (page.length < pageSize) return
    after = page.at(-1)!._id
  }
}

/** Compares in the order of both stores: UUIDs after other texts. JavaScript's own order of texts differs above U+FFFF. */
function compareIds(a: string, b: string): number {
  if (a === b) return 0
  return Number(isStoredUuid(a)) - Number(isStoredUuid(b)) || Buffer.compare(Buffer.from(a), Buffer.from(b))
}
