import { readFileSync } from 'node:fs'

/** The version of transferd. */
export const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve('#package.json')), 'utf8')) as {
  readonly version: string
}

export async function sqliteVersion(): Promise<string> {
  // Import late, because --version and --help need only the file above.
  const { Database } = await import('@transferd/event-log/sqlite')
  const database = new Database(':memory:')
  try {
    return database.prepare('SELECT sqlite_version()').pluck().get() as string
  } finally {
    database.close()
  }
}
