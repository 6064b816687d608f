import { checkFieldPath } from '../conditions.js'
import type { Collection, Document, Filter, FindOptions, WriteOperation, WriteResult } from '../read-models.js'
import { bulkWrite } from './bulk-write.js'
import type { Connection, Stored } from './connection.js'
import { reading } from './errors.js'
import { driverFilter, driverSort } from './filter.js'

/** Documents a cursor fetches at once. */
const batchSize = 1_000

/** A collection of the port over the driver's. It holds no state: the collection may be created, renamed or dropped at any time. */
export class MongodbCollection implements Collection {
  readonly #connection: Connection
  readonly #name: string

  constructor(connection: Connection, name: string) {
    this.#connection = connection
    this.#name = name
  }

  async findOne(filter: Filter, options: FindOptions = {}): Promise<Document | null> {
    return (await this.find(filter, { ...options, limit: 1 }))[0] ?? null
  }

  async find(filter: Filter, options: FindOptions = {}): Promise<readonly Document[]> {
    const { limit } = options
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
      throw new TypeError(`read models: limit is a positive integer, not ${limit}`)
    const wanted = driverFilter(filter)
    const driverOptions = {
      sort: driverSort(options.sort),
      batchSize: Math.min(limit ?? batchSize, batchSize),
      ...(limit !== undefined && { limit }),
    }
    const collection = await this.#connection.collection(this.#name)
    return reading(() => collection.find(wanted, driverOptions).toArray())
  }

  async countDocuments(filter: Filter): Promise<number> {
    const wanted = driverFilter(filter)
    const collection = await this.#connection.collection(this.#name)
    return reading(() => collection.countDocuments(wanted))
  }

  async group(options: {
    readonly match: Filter
    readonly by: string
    readonly sum?: readonly string[]
  }): Promise<readonly { readonly [field: string]: unknown }[]> {
    const fields = options.sum ?? []
    for (const path of [options.by, ...fields]) checkFieldPath(path)
    const match = driverFilter(options.match)
    const { db, isFerretDb1 } = await this.#connection.server()
    const collection = db.collection<Stored>(this.#name)
    if (isFerretDb1) return groupHere(await reading(() => collection.find(match).toArray()), options.by, fields)
    // A path may hold a dot, a field of $group may not: so the sums are numbered.
    const sums = Object.fromEntries(fields.map((path, n) => [`sum${n}`, { $sum: `$${path}` }]))
    const pipeline = [{ $match: match }, { $group: { _id: `$${options.by}`, count: { $sum: 1 }, ...sums } }]
    const groups = await reading(() => collection.aggregate<Stored>(pipeline, { batchSize }).toArray())
    return groups.map((group) => ({
      _id: group._id ?? null,
      count: group.count,
      ...Object.fromEntries(fields.map((path, n) => [path, group[`sum${n}`]])),
    }))
  }

  bulkWrite(operations: readonly WriteOperation[]): Promise<WriteResult> {
    return bulkWrite(this.#connection, this.#name, operations)
  }
}

/** FerretDB 1 hands the documents of a group to its first accumulator only: all others come to 0. */
function groupHere(documents: readonly Stored[], by: string, fields: readonly string[]) {
  const groups = new Map<unknown, { [field: string]: unknown; count: number }>()
  for (const document of documents) {
    const value = valueAt(document, by) ?? null
    const zeros = Object.fromEntries(fields.map((path) => [path, 0]))
    const group = groups.get(value) ?? { _id: value, count: 0, ...zeros }
    groups.set(value, group)
    group.count++
    for (const path of fields) {
      const more = valueAt(document, path)
      if (typeof more === 'number') group[path] = (group[path] as number) + more
    }
  }
  return [...groups.values()]
}

function valueAt(document: Stored, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, segment) => (value as Record<string, unknown> | null | undefined)?.[segment], document)
}
