/**
 * Fills an embedded log, in which each transfer is completed a thousand transfers after its creation, and prints the stream of the last
 * event. It runs in a separate process to keep the memory of the measuring process clean.
 *   node fill-log-process.js <directory> <transfers>
 */
import { openEventLog } from '@transferd/event-log'
import type { Append } from '../../src/event-store/event-store.js'
import { transferAppends } from './transfer-log.js'

const [directory = '', transfers = ''] = process.argv.slice(2)
const appendsPerCall = 1_000
const store = await openEventLog({ directory })
let appends: Append[] = []
let last = ''
for (const append of transferAppends(Number(transfers), 1_000, 'transfer-')) {
  appends.push(append)
  last = append.stream
  if (appends.length < appendsPerCall) continue
  await store.appendInOrder(appends)
  appends = []
}
await store.appendInOrder(appends)
await store.close()
process.stdout.write(last)
