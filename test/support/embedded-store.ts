import { openEventLog, type SharedEventLog } from '@transferd/event-log'
import type { EventMetadata } from '../../src/event-store/event-codec.js'

interface Testing {
  testdir(): string
  teardown(handler: () => Promise<void>): void
}

/** Opens a log in a new directory, which is closed and removed after the test. */
export async function openTestStore(t: Testing): Promise<SharedEventLog> {
  const store = await openEventLog({ directory: t.testdir(), writerThread: false })
  t.teardown(() => store.close())
  return store
}

export const context: EventMetadata = {
  actor: 'system:test',
  $correlationId: 'request-1',
  $causationId: 'request-1',
}

/** A clock that does not advance until it is set. */
export function settableClock(start: string) {
  let now = start
  const clock = () => now
  return { clock, set: (at: string) => (now = at) }
}

/** Repeats a check until it succeeds, because followers of the log lag slightly. */
export async function eventually(holds: () => boolean, timeoutMs = 60_000): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`the condition did not become true within ${timeoutMs} ms: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
