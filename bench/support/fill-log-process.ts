/**
 * `node fill-log-process.js <directory> <transfers>`: an embedded log of transfers that are created and, a thousand transfers later, completed. In a
 * process of its own, which leaves nothing in the memory of the one that measures. Prints the stream of the last event.
 */
import { openEmbeddedEventStore } from '../../src/event-store/embedded.js'
import type { Append } from '../../src/event-store/event-store.js'
import { transferAppends } from './transfer-log.js'

const [directory = '', transfers = ''] = process.argv.slice(2)
const appendsAtOnce = 1_000
const store = await openEmbeddedEventStore({ directory })
let appends: Append[] = []
let last = ''
for (const append of transferAppends(Number(transfers), 1_000, 'transfer-')) {
  appends.push(append)
  last = append.stream
  if (appends.length < appendsAtOnce) continue
  await store.appendInOrder(appends)
  appends = []
}
await store.appendInOrder(appends)
await store.close()
process.stdout.write(last)
