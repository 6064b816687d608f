import { randomUUID } from 'node:crypto'
import t from 'tap'
import { BufferedDocuments } from '../../src/projections/rebuild/build-documents.js'
import { ServedDocuments } from '../../src/read-models/find-documents.js'
import type { Collection, Document } from '../../src/read-models/read-models.js'
import { largestMetadata } from '../domain/transfer-samples.js'
import { heldBytes } from '../support/heap.js'

const mebibyte = 1024 * 1024

/** A collection that keeps nothing and counts the requested documents. */
function emptyCollection() {
  const counts = { found: 0, put: 0, largestPut: 0 }
  const collection = {
    find: async ({ _id }: { _id: { $in: readonly string[] } }) => {
      counts.found += _id.$in.length
      return []
    },
    bulkWrite: async () => undefined,
    put: async (documents: readonly Document[]) => {
      counts.put += documents.length
      counts.largestPut = Math.max(counts.largestPut, documents.length)
    },
  } as unknown as Collection
  return { collection, counts }
}

const documentOf = (n: number, metadata: object | null, _id: string = randomUUID()): Document => {
  const texts = {
    referenceId: randomUUID(),
    merchantId: randomUUID(),
    name: `Ada ${n}`,
    createdAt: new Date(n).toISOString(),
  }
  return { _id, position: n, ...texts, ...(metadata && { metadata: JSON.stringify(metadata) }) }
}
const replacing = (replacement: Document) => ({
  replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true },
})

t.test('caches served documents within 8 MiB, the last written ones, regardless of their metadata', async (t) => {
  const { collection, counts } = emptyCollection()
  const documents = new ServedDocuments(collection)
  const ids: string[] = []
  const bytes = await heldBytes(async () => {
    for (let n = 0; n < 3_000; n++) {
      const document = documentOf(n, largestMetadata(n))
      ids.push(document._id)
      await documents.write([replacing(document)])
    }
    return documents
  })
  // An earlier test of the process can free some memory in the meantime.
  t.ok(bytes > 2 * mebibyte && bytes < 10 * mebibyte, `${bytes} bytes`)
  t.equal((await documents.byIds(ids.slice(-200))).size, 200)
  t.equal(counts.found, 0)
  await documents.byIds(ids.slice(0, 1))
  t.equal(counts.found, 1)
})

t.test('caches five thousand documents without metadata', async (t) => {
  const { collection, counts } = emptyCollection()
  const documents = new ServedDocuments(collection)
  const written = Array.from({ length: 5_000 }, (_, n) => documentOf(n, null))
  await documents.write(written.map(replacing))
  t.equal((await documents.byIds(written.map(({ _id }) => _id))).size, 5_000)
  t.equal(counts.found, 0)
})

t.test('buffers the documents of a build within 32 MiB, and as many again for later events', async (t) => {
  const { collection, counts } = emptyCollection()
  const documents = new BufferedDocuments(collection, true)
  const count = 9_000
  let most = 0
  const bytes = await heldBytes(async () => {
    for (let n = 0; n < count; n++) {
      await documents.write([replacing(documentOf(n, largestMetadata(n)))])
      most = Math.max(most, n + 1 - counts.put)
    }
    return documents
  })
  t.ok(bytes < 72 * mebibyte, `${bytes} bytes`)
  t.ok(most > 1_000 && most < 2_500, `${most} documents were pending`)
  await documents.flush()
  t.equal(counts.put, count)
})

t.test('does not write a pending document early because it is replaced often', async (t) => {
  const { collection, counts } = emptyCollection()
  const documents = new BufferedDocuments(collection, false)
  const ids = Array.from({ length: 1_000 }, () => randomUUID())
  for (let n = 0; n < 5; n++) await documents.write(ids.map((id) => replacing(documentOf(n, largestMetadata(n), id))))
  t.equal(counts.put, 0)
  await documents.flush()
  t.equal(counts.put, 1_000)
})
