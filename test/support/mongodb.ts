import { MongoClient } from 'mongodb'

/** The server the tests may use; they make databases of their own on it, called transferd_test_…. */
const testMongodbUrl = process.env.TEST_MONGODB_URL?.trim() || undefined

/** For tap's `skip`: false, or what to tell. */
export const withoutMongodb = testMongodbUrl === undefined && 'TEST_MONGODB_URL names no server'

/** The URL of a database on the test server. */
export function testDatabaseUrl(database: string): string {
  return mongodbUrl(testMongodbUrl ?? '', `transferd_test_${database}`)
}

/** The URL with another database. */
export function mongodbUrl(server: string, database: string): string {
  const [, hosts, query] = /^([^/]+\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/.exec(server) ?? []
  if (hosts === undefined) throw new Error('no URL of a MongoDB server')
  return `${hosts}/${database}${query ?? ''}`
}

/** FerretDB 1 differs in what docs/reference/mongodb.md lists. */
export async function isFerretDb1(url: string): Promise<boolean> {
  const client = new MongoClient(url)
  try {
    return 'ferretdbVersion' in (await client.db().command({ buildInfo: 1 }))
  } finally {
    await client.close()
  }
}
