import { collections, type PointerDocument, projectedCollections } from './documents.js'
import type { Collection } from './read-models.js'

/** After a switch, every process reads the new documents within this time. */
export const pointerMaxAgeMs = 500

const buildMark = '@'

/** Returns the name of one build of a projection's documents, such as `transfers@5-9f86d081`. */
export function buildName(collection: string, version: number, id: string): string {
  return `${collection}${buildMark}${version}-${id}`
}

/** Returns what the names of all builds of the collection start with. */
export function buildPrefix(collection: string): string {
  return collection + buildMark
}

/** Resolves the name of a projected collection, such as `transfers`, to the build that the projection's pointer names. */
export class ProjectionPointers {
  #names: ReadonlyMap<string, string> = new Map()
  #expiresAtMs = 0

  constructor(private readonly open: (name: string) => Collection) {}

  collection(name: string): Collection {
    const stored = this.open(name)
    if (!projectedCollections.has(name)) return stored
    const resolved = () => this.#resolve(name, stored)
    return {
      findOne: async (...args) => (await resolved()).findOne(...args),
      find: async (...args) => (await resolved()).find(...args),
      countDocuments: async (...args) => (await resolved()).countDocuments(...args),
      bulkWrite: async (...args) => (await resolved()).bulkWrite(...args),
      put: async (...args) => (await resolved()).put(...args),
      texts: async (...args) => (await resolved()).texts(...args),
    }
  }

  async #resolve(name: string, stored: Collection): Promise<Collection> {
    // A missing pointer is not cached, so that a projection that has just started does not look empty.
    if (!this.#names.has(name) || performance.now() >= this.#expiresAtMs) await this.#load()
    const build = this.#names.get(name)
    return build === undefined ? stored : this.open(build)
  }

  async #load(): Promise<void> {
    // Counted from before the read, so that the limit also holds for a slow one.
    const expiresAtMs = performance.now() + pointerMaxAgeMs
    const pointers = (await this.open(collections.pointers).find({})) as readonly PointerDocument[]
    this.#names = new Map(
      pointers.map(({ served: { collection } }) => [collection.slice(0, collection.indexOf(buildMark)), collection]),
    )
    this.#expiresAtMs = expiresAtMs
  }
}
