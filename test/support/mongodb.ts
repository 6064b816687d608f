import { randomUUID } from 'node:crypto'
import { MongoClient } from 'mongodb'
import type { ReadModels } from '../../src/read-models/read-models.js'

/** The server the tests may use, on which they make databases of their own; undefined when there is none. */
export const testMongodbUrl = process.env.TEST_MONGODB_URL?.trim() || undefined

/** For tap's `skip`: false, or what to tell. */
export const withoutMongodb = testMongodbUrl === undefined && 'TEST_MONGODB_URL names no server'

/** A database of its own on the server, as the URL that names it. */
export function freshDatabaseUrl(): string {
  return databaseUrl(`transferd_test_${randomUUID().replaceAll('-', '')}`)
}

export function databaseUrl(database: string): string {
  const match = /^([^/]+\/\/[^/?]+)\/?([^?]*)(.*)$/.exec(testMongodbUrl ?? '')
  if (!match) throw new Error('TEST_MONGODB_URL names no server')
  const [, server, , options] = match
  return `${server}/${database}${options}`
}

/** Drops what there is and closes. */
export async function discard(readModels: ReadModels): Promise<void> {
  for (const name of await readModels.listCollections()) await readModels.drop(name)
  await readModels.close()
}

/** FerretDB 1 differs in what docs/reference/mongodb.md lists. */
export async function isFerretDb1(): Promise<boolean> {
  const client = new MongoClient(databaseUrl('admin'))
  try {
    return 'ferretdbVersion' in (await client.db().command({ buildInfo: 1 }))
  } finally {
    await client.close()
  }
}
