import type { EventStore, Position } from './event-store.js'

/** Returns the position of the last event, or `undefined` if the log is empty. @throws StoreUnavailableError */
export async function endOfLog(store: Pick<EventStore, 'subscribeToAll'>): Promise<Position | undefined> {
  const stopping = new AbortController()
  for await (const page of store.subscribeToAll({ after: 'end', pageSize: 1, signal: stopping.signal })) {
    stopping.abort()
    return page.checkpoint
  }
  return undefined
}
