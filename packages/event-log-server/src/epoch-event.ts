import { randomUUID } from 'node:crypto'
import type { StreamStore } from '@transferd/event-log/streams'
import { epochStream } from './access/server-streams.js'

/**
 * Appends a system event to an empty log. The log of an EventStoreDB is never empty, because it starts with system events, and clients
 * rely on a last event.
 */
export async function appendEpochEvent(store: StreamStore): Promise<void> {
  if (store.reader.lastPosition() > 0) return
  const epoch = {
    epochPosition: 0,
    epochNumber: 0,
    epochId: randomUUID(),
    prevEpochPosition: -1,
    timeStamp: new Date().toISOString(),
    leaderInstanceId: randomUUID(),
  }
  const data = Buffer.from(JSON.stringify(epoch))
  const event = { id: randomUUID(), type: '$EpochInformation', isJson: true, data, metadata: new Uint8Array(0) }
  // If two servers start simultaneously, one append is rejected, and the log is no longer empty.
  await store.append(epochStream, 'no_stream', [event])
}
