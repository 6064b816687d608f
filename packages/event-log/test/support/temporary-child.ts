import { readdirSync } from 'node:fs'
import { openEventLog } from '../../src/event-log.js'

/** A process that opens temporary logs, prints the directory of each, and then exits or waits. */
const [count = '1', end = 'wait'] = process.argv.slice(2)
for (let n = 0; n < Number(count); n++) {
  const log = await openEventLog({ temporary: true })
  await log.append('a', 'no_stream', [{ type: 'T', data: {} }])
  const { directory } = log.share()
  console.log(directory, readdirSync(directory).includes('events.db'))
}
if (end === 'exit') process.exit(0)
setInterval(() => {}, 1_000)
