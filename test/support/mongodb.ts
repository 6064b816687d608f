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

/** Returns whether the URL names a SecantusDB. */
export async function isSecantusDb(url = ''): Promise<boolean> {
  if (!url.startsWith('mongodb')) return false
  // Tests without a server do not load the driver, which is slow.
  const { MongoClient } = await import('mongodb')
  const client = new MongoClient(url)
  try {
    return 'secantusVersion' in (await client.db().command({ buildInfo: 1 }))
  } finally {
    await client.close()
  }
}
