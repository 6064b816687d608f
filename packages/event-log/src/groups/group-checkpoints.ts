import { positionAtOrAfter, positionText } from '../file/positions.js'
import { groupStream, type StoredGroup, wholeLog } from './group-definition.js'
import { appendNext, type GroupLog, jsonEvent } from './group-log.js'
import { rulesOf } from './group-rules.js'

export function readCheckpoint({ reader }: GroupLog, stored: StoredGroup): number | undefined {
  const stream = groupStream(stored, 'checkpoint')
  const last = reader.last(stream)
  return last && parseCheckpoint(rulesOf(stored).checkpointIn(stored, last, reader.view(stream)), stored)
}

export async function writeCheckpoint(log: GroupLog, stored: StoredGroup, position: number): Promise<void> {
  const shown = positionText(position)
  const text = stored.source === wholeLog ? `C:${shown}/P:${shown}` : `${position}`
  const event = jsonEvent('SubscriptionCheckpoint', rulesOf(stored).checkpointData(stored, text))
  await appendNext(log, groupStream(stored, 'checkpoint'), event)
}

function parseCheckpoint(text: unknown, { source }: StoredGroup): number | undefined {
  const [, commit, revision] = /^(?:C:(\d{1,19})\/P:\d+|(\d{1,16}))$/.exec(String(text)) ?? []
  if (source === wholeLog) return commit === undefined ? undefined : positionAtOrAfter(commit)
  return revision === undefined ? undefined : Number(revision)
}
