import { randomUUID } from 'node:crypto'
import type { Position } from '../../event-store.js'
import type { GroupLog } from './log.js'
import { decodePosition, encodePosition, type StoredGroup } from './stored-groups.js'
import { groupStream } from './streams.js'

/** Of this generation of the group: a deleted one's means nothing to another of the same name. */
export function readCheckpoint(log: GroupLog, stored: StoredGroup): Position | undefined {
  const last = log.readLast(groupStream(stored.group, 'checkpoint'))
  if (!last || last.data.generation !== stored.generation) return undefined
  return decodePosition(last.data.checkpoint)
}

export async function writeCheckpoint(log: GroupLog, stored: StoredGroup, checkpoint: Position): Promise<void> {
  const stream = groupStream(stored.group, 'checkpoint')
  const data = { generation: stored.generation, checkpoint: encodePosition(checkpoint) }
  const event = { id: randomUUID(), type: 'SubscriptionCheckpoint', data, metadata: {} }
  await log.append(stream, log.readLast(stream)?.revision ?? 'no_stream', [event])
}
