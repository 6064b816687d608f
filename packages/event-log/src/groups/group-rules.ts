import { type EventContent, parseObject } from '../file/event-body.js'
import type { StoredEvent } from '../reader/event-rows.js'
import type { StreamView } from '../reader/log-reader.js'
import type { GroupName, GroupSettings, Maker, StoredGroup } from './group-definition.js'
import { jsonEvent } from './group-log.js'
import { InFlight, InFlightByEventId } from './in-flight-events.js'

/** An event of the parked stream. */
export interface ParkedRecord {
  /** `<revision>@<stream>` */
  readonly link: string
  /** The parked revision it takes the place of: that had been replayed. */
  readonly replaces: number | undefined
  readonly added: string
  readonly reason: string
  /** Of the event in the group's stream. */
  readonly number: number
}

/** What goes by who made a group, and how that is written down. All other rules are the same for both. */
export interface Rules {
  /** All of its kind run in one server, all the time; otherwise each where it is consumed. */
  readonly runsInServer: boolean
  /** What keeps it from other processes. */
  lockOf(name: GroupName): string
  /** Where it begins without a checkpoint is found once, when it is asked for; otherwise at each load. */
  keepsStart(settings: GroupSettings): boolean
  inFlight<E extends { readonly id: string; ackId: string }>(): InFlight<E>
  /** Otherwise when it is acked, skipped or parked again. */
  readonly isReplayDoneOnDelivery: boolean
  /** Replayed events that an earlier holder left are queued again; otherwise they are parked again. */
  readonly resumesReplays: boolean
  /** Clients read its parked and checkpoint streams, and are not to find there what was replayed or belonged to a deleted group. */
  readonly hidesWhatIsOver: boolean
  checkpointData(stored: StoredGroup, checkpoint: string): unknown
  /** Undefined: the last event of the checkpoint stream is none of this group. */
  checkpointIn(stored: StoredGroup, last: StoredEvent, view: StreamView): unknown
  parkedEvent(stored: StoredGroup, id: string, record: ParkedRecord): EventContent
  /** Undefined: it is not of this group. */
  parkedRecord(stored: StoredGroup, event: StoredEvent): Pick<ParkedRecord, 'link' | 'replaces'> | undefined
  /** The first parked revision that counts. */
  firstParked(view: StreamView): number
}

/** The service's groups lose nothing. What is written for one carries its generation. */
const serviceRules: Rules = {
  runsInServer: false,
  lockOf: ({ source, group }) => `persistent-subscription ${source} ${group}`,
  keepsStart: () => true,
  inFlight: () => new InFlight(),
  isReplayDoneOnDelivery: false,
  resumesReplays: false,
  hidesWhatIsOver: false,
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

/** Whoever has it runs the groups that clients of the protocol made. */
export const protocolLock = 'protocol-groups'

/**
 * Those of the protocol's clients go by what EventStoreDB was seen to do, and their streams have its form. That has no
 * room for a generation: what was there when a group was made is not its own.
 */
const protocolRules: Rules = {
  runsInServer: true,
  lockOf: () => protocolLock,
  keepsStart: ({ startFrom }) => startFrom !== 'end',
  inFlight: () => new InFlightByEventId(),
  isReplayDoneOnDelivery: true,
  resumesReplays: true,
  hidesWhatIsOver: true,
  checkpointData: (_stored, checkpoint) => checkpoint,
  // A client that deletes the stream has the group begin anew.
  checkpointIn: ({ since }, { revision, data }, { isMissing }) =>
    revision < since.checkpoint || isMissing ? undefined : JSON.parse(Buffer.from(data).toString()),
  parkedEvent: (_stored, id, { link, replaces, added, reason, number }) => {
    // What is 0 is left out there.
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
  // A client may have put away what it has seen to by truncating the stream, or deleting it.
  firstParked: ({ isMissing, first }) => (isMissing ? Number.POSITIVE_INFINITY : first),
}

const rules: Readonly<Record<Maker, Rules>> = { service: serviceRules, protocol: protocolRules }

export function rulesOf({ madeBy }: { readonly madeBy: Maker }): Rules {
  return rules[madeBy]
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
