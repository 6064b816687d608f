import { randomUUID } from 'node:crypto'
import type { StreamStore } from '@transferd/event-log/streams'

/** Where the recorded server writes down its terms of office. Groups are never given any of it. */
export const epochStream = '$epoch-information'

/**
 * The log of a real server is never empty: it begins with system events, and clients rely on it that the last event there is
 * has a position. So a writable server that finds an empty log begins it with one. The service passes over system streams.
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
  // Of two servers that begin at the same moment one is refused, and finds it begun.
  await store.append(epochStream, 'no_stream', [event])
}
