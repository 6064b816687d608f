import { randomUUID } from 'node:crypto'
import { parseObject } from '../file/event-body.js'
import { positionAtOrBehind, positionText } from '../file/shown-position.js'
import { groupStream, type StoredGroup, wholeLog } from './group-definition.js'
import { expectedAfter, type GroupLog, jsonContent } from './group-log.js'

export function readCheckpoint({ reader }: GroupLog, stored: StoredGroup): number | undefined {
  const stream = groupStream(stored, 'checkpoint')
  const last = reader.last(stream)
  if (last === undefined) return undefined
  switch (stored.madeBy) {
    case 'service': {
      const data = parseObject(last.data)
      return data?.generation === stored.generation ? placeIn(data.checkpoint, stored) : undefined
    }
    case 'protocol':
      // A client that deletes the stream has the group begin anew.
      if (last.revision < stored.since.checkpoint || reader.view(stream).isMissing) return undefined
      return placeIn(JSON.parse(Buffer.from(last.data).toString()), stored)
    default:
      return stored.madeBy satisfies never
  }
}

export async function writeCheckpoint(log: GroupLog, stored: StoredGroup, place: number): Promise<void> {
  const stream = groupStream(stored, 'checkpoint')
  const shown = positionText(place)
  const checkpoint = stored.source === wholeLog ? `C:${shown}/P:${shown}` : `${place}`
  const data = stored.madeBy === 'service' ? { generation: stored.generation, checkpoint } : checkpoint
  const event = jsonContent(randomUUID(), 'SubscriptionCheckpoint', data)
  await log.append(stream, expectedAfter(log.reader, stream), event)
}

function placeIn(text: unknown, { source }: StoredGroup): number | undefined {
  const [, commit, revision] = /^(?:C:(\d{1,19})\/P:\d+|(\d{1,16}))$/.exec(String(text)) ?? []
  if (source === wholeLog) return commit === undefined ? undefined : positionAtOrBehind(commit)
  return revision === undefined ? undefined : Number(revision)
}
