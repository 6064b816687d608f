import { MessageChannel } from 'node:worker_threads'
import type { FromReader, ToReader } from '../../src/readers/reader-messages.js'
import { Readers } from '../../src/readers/readers.js'

/** Returns the requests to a reader thread whose answers the test sends. */
export function heldReader(monotonicMs: () => number = () => 0) {
  const { port1, port2 } = new MessageChannel()
  const received: ToReader[] = []
  port2.on('message', (message: ToReader) => received.push(message))
  const readers = new Readers(() => port1, monotonicMs)
  return {
    readers,
    received,
    /** Returns the ids of the reads that have been requested, in order. */
    reads: () => received.flatMap((message) => ('name' in message ? [message.id] : [])),
    respond: (message: FromReader) => port2.postMessage(message),
    close: () => readers.close(),
  }
}

/** Waits for a condition that follows from messages and responses in progress. */
export async function until(condition: () => boolean): Promise<void> {
  const endsAtMs = Date.now() + 60_000
  while (!condition()) {
    if (Date.now() > endsAtMs) throw new Error('the condition did not become true within a minute')
    await new Promise((resolve) => setImmediate(resolve))
  }
}
