import { randomUUID } from 'node:crypto'
import type { StreamStore } from '@transferd/event-log/streams'
import { epochStream } from './access/server-streams.js'

/**
 * The log of a real server is never empty: it begins with system events, and clients rely on a last event being there. So a
 * writable server that finds an empty log begins it with a system event.
 */
export async function beginLog(store: StreamStore): Promise<void> {
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
  // Where two servers begin at the same moment one is refused, and finds the log begun.
  await store.append(epochStream, 'no_stream', [event])
}
