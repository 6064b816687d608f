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

/** Servers that differ from MongoDB in what docs/reference/mongodb.md lists. */
export type OtherServer = 'FerretDB 1' | 'mongo-java-server'

/** Undefined of MongoDB, which says what commit it was built of. */
export async function otherServer(url: string): Promise<OtherServer | undefined> {
  // A test that has no server does not load the driver, which takes a while.
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
