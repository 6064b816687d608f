/** The server for the tests, which create databases with the prefix transferd_test_. */
const testMongodbUrl = process.env.TEST_MONGODB_URL?.trim() || undefined

/** The value for tap's `skip`: false, or the reason. */
export const withoutMongodb = testMongodbUrl === undefined && 'TEST_MONGODB_URL is not set'

/** The URL of a database on the test server. */
export function testDatabaseUrl(database: string): string {
  return mongodbUrl(testMongodbUrl ?? '', `transferd_test_${database}`)
}

/** Returns the URL with another database. */
export function mongodbUrl(server: string, database: string): string {
  const [, hosts, query] = /^([^/]+\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/.exec(server) ?? []
  if (hosts === undefined) throw new Error('TEST_MONGODB_URL is not set')
  return `${hosts}/${database}${query ?? ''}`
}

/** Servers that differ from MongoDB as docs/reference/mongodb.md documents. */
export type OtherServer = 'FerretDB 1' | 'mongo-java-server'

/** Returns the kind of the server, or undefined for MongoDB, which reports its Git commit. */
export async function otherServer(url: string): Promise<OtherServer | undefined> {
  // Tests without a server do not load the driver, which is slow.
  const { MongoClient } = await import('mongodb')
  const client = new MongoClient(url)
  try {
    const buildInfo = await client.db().command({ buildInfo: 1 })
    if ('ferretdbVersion' in buildInfo) return 'FerretDB 1'
    return 'gitVersion' in buildInfo ? undefined : 'mongo-java-server'
  } finally {
    await client.close()
  }
}
