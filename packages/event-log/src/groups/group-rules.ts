import { randomUUID } from 'node:crypto'
import { StoreUnavailableError, type StreamRevision } from '../event-log-types.js'
import { type EventContent, parseJson, parseObject, positionAtOrAfter, positionText } from '../file/event-body.js'
import type { ProcessLocks } from '../file/process-lock.js'
import type { StreamView } from '../reader/log-reader.js'
import type { StoredEvent } from '../reader/stored-event.js'
import type { StreamStore } from '../stream-store.js'
import {
  type Creator,
  type GroupName,
  type GroupReader,
  type GroupSettings,
  groupStream,
  type StoredGroup,
  wholeLog,
} from './group-definition.js'
import { InFlightByEventId, InFlightEvents } from './group-progress.js'

/** The number of attempts for an append when other processes append to the stream at the same time. */
const maxConflicts = 50

/** The parts of a log that groups use. */
export interface GroupLog {
  readonly reader: GroupReader
  readonly locks: ProcessLocks
  /** @throws StoreUnavailableError */
  append(stream: string, expected: StreamRevision, events: readonly EventContent[]): ReturnType<StreamStore['append']>
}

/** Returns a JSON event without metadata. */
export function jsonEvent(type: string, data: unknown, id = randomUUID() as string): EventContent {
  return { id, type, isJson: true, data: Buffer.from(JSON.stringify(data)), metadata: new Uint8Array(0) }
}

/** Appends at the revision that it read, so that repeating the append returns the first result. @throws StoreUnavailableError */
export async function appendNext(log: GroupLog, stream: string, event: EventContent): Promise<void> {
  const { reader } = log
  await untilNoConflict(stream, async () => {
    const revision = reader.lastRevision(stream)
    if (reader.last(stream)?.id === event.id) return { kind: 'ok', revision } // an earlier attempt whose response was lost
    return log.append(stream, revision < 0 ? 'no_stream' : revision, [event])
  })
}

/** Retries an append while others append to the stream concurrently. @throws StoreUnavailableError */
export async function untilNoConflict(stream: string, attempt: () => ReturnType<GroupLog['append']>): Promise<void> {
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const { kind } = await attempt()
    if (kind === 'ok') return
    if (kind === 'deleted') throw new Error(`${stream} was deleted permanently`)
  }
  throw new StoreUnavailableError(`others keep appending to ${stream}`)
}

/** An event of the parked stream. */
interface ParkedRecord {
  /** The link to the original event, `<revision>@<stream>`. */
  readonly link: string
  /** The revision of the parked event that was replayed and that this one replaces. */
  readonly replaces: number | undefined
  readonly added: string
  readonly reason: string
  /** The number of the original event in the group's stream. */
  readonly number: number
}

/** The rules that depend on the creator of a group, and the format of its events. All other rules are the same for both. */
export interface Rules {
  /** Whether all groups run permanently in one server. Otherwise each runs where it is consumed. */
  readonly runsInServer: boolean
  /** Returns the name of the lock that reserves the group for one process. */
  lockOf(name: GroupName): string
  /** Returns whether the start without a checkpoint is determined once, at the request. Otherwise it is determined at each load. */
  storesStart(settings: GroupSettings): boolean
  inFlight<E extends { readonly id: string; ackId: string }>(): InFlightEvents<E>
  /** Whether a replay is done at delivery. Otherwise it is done when the event is acked, skipped or parked again. */
  readonly completesReplaysOnDelivery: boolean
  /** Whether replayed events of an earlier holder are queued again. Otherwise they are parked again. */
  readonly resumesReplays: boolean
  /** Whether events that were replayed or belong to a deleted group are hidden, because clients read the group's streams. */
  readonly hidesObsoleteEvents: boolean
  checkpointData(stored: StoredGroup, checkpoint: string): unknown
  /** Returns the checkpoint, or `undefined` if the last event of the checkpoint stream belongs to a different group. */
  checkpointIn(stored: StoredGroup, last: StoredEvent, view: StreamView): unknown
  parkedEvent(stored: StoredGroup, id: string, record: ParkedRecord): EventContent
  /** Returns the record of a parked event, or `undefined` if it belongs to a different group. */
  parkedRecord(stored: StoredGroup, event: StoredEvent): Pick<ParkedRecord, 'link' | 'replaces'> | undefined
  /** Returns the first parked revision that counts. */
  firstParked(view: StreamView): number
}

/** The rules of the service's groups, which lose no event. Each event of a group contains its generation. */
const serviceRules: Rules = {
  runsInServer: false,
  lockOf: ({ source, group }) => `persistent-subscription ${source} ${group}`,
  storesStart: () => true,
  inFlight: () => new InFlightEvents(),
  completesReplaysOnDelivery: false,
  resumesReplays: false,
  hidesObsoleteEvents: false,
  checkpointData: ({ generation }, checkpoint) => ({ generation, checkpoint }),
  checkpointIn: ({ generation }, { data }) => {
    const written = parseObject(data)
    return written?.generation === generation ? written.checkpoint : undefined
  },
  parkedEvent: ({ generation }, id, { link, replaces, added, reason, number }) => ({
    ...jsonEvent('$>', { generation, link, replaces }, id),
    metadata: Buffer.from(JSON.stringify({ added, reason, subscriptionEventNumber: number })),
  }),
  parkedRecord: ({ generation }, { data }) => {
    const written = parseObject(data)
    if (written?.generation !== generation) return undefined
    return { link: String(written.link), replaces: numberIn(written.replaces) }
  },
  firstParked: () => 0,
}

/** The lock of the process that runs the groups created by clients of the protocol. */
export const protocolLock = 'protocol-groups'

/**
 * The rules of groups created by clients of the protocol. They follow the recorded behavior of EventStoreDB, and so do their streams.
 * That format has no generation, so events from before a group's creation are ignored.
 */
const protocolRules: Rules = {
  runsInServer: true,
  lockOf: () => protocolLock,
  storesStart: ({ startFrom }) => startFrom !== 'end',
  inFlight: () => new InFlightByEventId(),
  completesReplaysOnDelivery: true,
  resumesReplays: true,
  hidesObsoleteEvents: true,
  checkpointData: (_stored, checkpoint) => checkpoint,
  // A client that deletes the stream restarts the group.
  checkpointIn: ({ since }, { revision, data }, { isMissing }) =>
    revision < since.checkpoint || isMissing ? undefined : parseJson(data),
  parkedEvent: (_stored, id, { link, replaces, added, reason, number }) => {
    // EventStoreDB omits a number of 0.
    const metadata = { added, reason, ...(number !== 0 && { subscriptionEventNumber: number }), replaces }
    return {
      id,
      type: '$>',
      isJson: false,
      data: Buffer.from(link),
      metadata: Buffer.from(JSON.stringify(metadata)),
    }
  },
  parkedRecord: ({ since }, { revision, data, metadata }) => {
    if (revision < since.parked) return undefined
    return { link: Buffer.from(data).toString(), replaces: numberIn(parseObject(metadata)?.replaces) }
  },
  // A client may have removed parked events that it handled by truncating or deleting the stream.
  firstParked: ({ isMissing, first }) => (isMissing ? Number.POSITIVE_INFINITY : first),
}

export function rulesOf({ madeBy }: { readonly madeBy: Creator }): Rules {
  return madeBy === 'service' ? serviceRules : protocolRules
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

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
