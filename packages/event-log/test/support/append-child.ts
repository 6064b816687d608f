import { randomUUID } from 'node:crypto'
import { openEventLog } from '../../src/event-log.js'

/**
 * A process that appends to a log: `append-child.js directory prefix appends callers`. It prints `ready` when the log is open, starts
 * when it receives a line on standard input, and prints `<stream> <event id> <position>` for each acknowledged append.
 */
const [directory = '', prefix = '', appends = '0', callers = '1'] = process.argv.slice(2)
const store = await openEventLog({ directory })
// This stores nothing, but starts the log writer.
await store.append(`${prefix}-${randomUUID()}`, 'no_stream', [])
process.stdout.write('ready\n')
await new Promise<void>((resolve) => process.stdin.once('data', () => resolve()))
process.stdin.unref()

let left = Number(appends)
async function caller(): Promise<void> {
  while (left-- > 0) {
    const stream = `${prefix}-${randomUUID()}`
    const id = randomUUID()
    const { position } = await store.append(stream, 'no_stream', [{ id, type: 'T', data: { prefix }, metadata: {} }])
    process.stdout.write(`${stream} ${id} ${position.commit}\n`)
  }
}
await Promise.all(Array.from({ length: Number(callers) }, caller))
await store.close()
// Writes to a full pipe wait for the reader, and an exit would lose them.
await new Promise((written) => process.stdout.write('', written))
process.exit(0)
