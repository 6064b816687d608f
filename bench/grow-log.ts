import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfiguration } from '../src/operations/configuration/configuration.js'
import { openLog } from '../src/operations/stores/stores.js'
import { growLog } from './support/grown-log.js'

/**
 * Makes a log of about so many events in an empty directory, for measuring what grows with it, and `merchants.json` beside it with the
 * credentials of its merchants. `node dist/bench/grow-log.js <directory> [events]`
 */

const [directory, events = '1000000'] = process.argv.slice(2)
if (directory === undefined) throw new Error('name a directory')
const log = await openLog(readConfiguration({ EVENT_STORE_URL: `embedded:${directory}` }))
try {
  const merchants = await growLog(log.rawEventStore, log.box, Number(events))
  writeFileSync(join(directory, 'merchants.json'), JSON.stringify(merchants), { mode: 0o600 })
} finally {
  await log.close()
}
