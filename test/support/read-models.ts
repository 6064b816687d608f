import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { mongodbUrl } from './mongodb.js'

const server = process.env.READ_MODEL_URL?.startsWith('mongodb') ? process.env.READ_MODEL_URL : undefined

/**
 * Opens the read models of a directory: in the directory or, if READ_MODEL_URL names a MongoDB server, in a database
 * there that belongs to the directory. Every process that a test starts on the directory opens the same ones.
 */
export async function openTestReadModels(directory: string): Promise<ReadModels> {
  if (server === undefined) return openEmbeddedReadModels({ directory })
  const hash = createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 24)
  // The driver is loaded on demand, because most tests do not need it.
  const { openMongodbReadModels } = await import('../../src/read-models/mongodb/mongodb-read-models.js')
  return openMongodbReadModels({ url: mongodbUrl(server, `transferd_test_${hash}`) })
}

/** Drops the collections that {@link openTestReadModels} has created on a server. */
export async function removeTestReadModels(directory: string): Promise<void> {
  if (server === undefined) return
  const readModels = await openTestReadModels(directory)
  for (const name of await readModels.listCollections()) await readModels.drop(name)
  await readModels.close()
}
