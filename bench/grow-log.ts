import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfiguration } from '../src/operations/configuration/configuration.js'
import { openLog } from '../src/operations/stores/stores.js'
import { growLog } from './support/grown-log.js'

/**
 * Creates a log with about the given number of events in an empty directory, and `merchants.json` with the credentials of its
 * merchants: `node dist/bench/grow-log.js <directory> [events]`
 */

const [directory, events = '1000000'] = process.argv.slice(2)
if (directory === undefined) throw new Error('usage: node dist/bench/grow-log.js <directory> [events]')
const log = await openLog(readConfiguration({ EVENT_STORE_URL: `embedded:${directory}` }))
try {
  const merchants = await growLog(log.eventStore, log.box, Number(events))
  writeFileSync(join(directory, 'merchants.json'), JSON.stringify(merchants), { mode: 0o600 })
} finally {
  await log.close()
}
