import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'

const require = createRequire(import.meta.url)
const major = Number.parseInt(process.versions.node, 10)

/**
 * better-sqlite3. Its version 13 runs on every Node from 22 on without compilation, but crashes Node 20, which has version 12 in its own
 * package. npm installs the one that supports its Node.
 */
export const Database: typeof BetterSqlite3 = load()
export type Database = BetterSqlite3.Database
export type { Statement } from 'better-sqlite3'

function load(): typeof BetterSqlite3 {
  try {
    return require(major < 22 ? '@transferd/sqlite-node20' : 'better-sqlite3')
  } catch (cause) {
    const { version, platform, arch } = process
    const advice = 'Install again with this version of Node and with optional dependencies.'
    throw new Error(`SQLite cannot be loaded on Node ${version}, ${platform} ${arch}. ${advice}`, { cause })
  }
}
