import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'

const require = createRequire(import.meta.url)
const major = Number.parseInt(process.versions.node, 10)

/**
 * better-sqlite3. Its version 13 runs on every Node from 22 on without compilation, but crashes Node 20, which has version 12 in its own
 * package. npm installs whichever of the two supports its Node.
 */
export const Database: typeof BetterSqlite3 = require(major < 22 ? '@transferd/sqlite-node20' : 'better-sqlite3')
export type Database = BetterSqlite3.Database
export type { Statement } from 'better-sqlite3'
