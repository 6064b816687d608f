import type { EventStore, Position } from './event-store.js'

/** The place of the last event there is; undefined on an empty log. @throws StoreUnavailableError */
export async function endOfLog(store: Pick<EventStore, 'subscribeToAll'>): Promise<Position | undefined> {
  const stopping = new AbortController()
  for await (const page of store.subscribeToAll({ after: 'end', pageSize: 1, signal: stopping.signal })) {
    stopping.abort()
    return page.checkpoint
  }
  return undefined
}
