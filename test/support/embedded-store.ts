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
