import { consumerStrategies, InvalidSettingsError, type PersistentSubscriptionSettings } from '../event-log-types.js'
import type { LogReader } from '../reader/log-reader.js'

/** The source of a group that reads the whole log. */
export const wholeLog = '$all'

export const strategies = [...consumerStrategies, 'PinnedByCorrelation'] as const
export type StrategyName = (typeof strategies)[number]

/** The reads of a log that groups use. */
export type GroupReader = Pick<LogReader, 'lastPosition' | 'lastRevision' | 'last' | 'view' | 'streamPage'>

type Common = Omit<PersistentSubscriptionSettings, 'startFrom' | 'streamPrefixes' | 'consumerStrategy'>

/** A group's settings. The numbers are stored as received, even if they are unreasonable. */
export interface GroupSettings extends Common {
  /** The first position of the log, or revision of the group's stream, that a group without a checkpoint reads. */
  readonly startFrom: 'start' | 'end' | number
  /** The same as text from a client of the protocol, which may name no event or exceed the range of a double. */
  readonly startText?: string
  readonly resolveLinks: boolean
  readonly extraStatistics: boolean
  readonly strategy: StrategyName
}

/** The events of the whole log that a group reads: those that match any prefix, or those that match the expression. */
export interface EventFilter {
  readonly on: 'stream' | 'type'
  readonly regex?: string
  readonly prefixes: readonly string[]
}

/** The creator of a group, which determines its {@link Rules}. */
export type Creator = 'service' | 'protocol'

/** The name of a group. It is unique within its source. */
export interface GroupName {
  /** The stream that the group reads, or {@link wholeLog}. */
  readonly source: string
  readonly group: string
}

export interface GroupDefinition extends GroupName {
  readonly madeBy: Creator
  readonly filter?: EventFilter
  readonly settings: GroupSettings
}

export interface StoredGroup extends GroupDefinition {
  /** A new id for each creation. It separates the events of this group from those of a deleted group with the same name. */
  readonly generation: string
  /** A new id for each update. */
  readonly version: string
  /** The position after which the group starts without a checkpoint. If omitted, `startFrom` applies whenever the group is loaded. */
  readonly startAfter?: number
  /** The revisions of the group's streams at its creation. They replace the generation in EventStoreDB's format, which has none. */
  readonly since: { readonly checkpoint: number; readonly parked: number }
}

export function keyOf({ source, group }: GroupName): string {
  return JSON.stringify([source, group])
}

export function groupStream({ source, group }: GroupName, kind: 'checkpoint' | 'parked' | 'replay'): string {
  return `$persistentsubscription-${source}::${group}-${kind}`
}

/** Rejects the settings that EventStoreDB rejects. All others are accepted and must be harmless. @throws InvalidSettingsError */
export function checkSettings({ source, settings }: GroupDefinition, reader: GroupReader): void {
  const { readBatchSize, historyBufferSize, strategy, startFrom } = settings
  if (readBatchSize >= historyBufferSize) {
    throw new InvalidSettingsError(
      `readBatchSize (${readBatchSize}) must be smaller than historyBufferSize (${historyBufferSize})`,
    )
  }
  if (!strategies.includes(strategy)) throw new InvalidSettingsError(`unknown consumer strategy ${strategy}`)
  if (source === wholeLog && typeof startFrom === 'number' && startFrom > reader.lastPosition()) {
    throw new InvalidSettingsError('startFrom is beyond the end of the log')
  }
}

/** Returns the position after which a group without a checkpoint starts. */
export function startPosition({ source, settings: { startFrom } }: GroupDefinition, reader: GroupReader): number {
  const readsWholeLog = source === wholeLog
  switch (startFrom) {
    case 'start':
      return readsWholeLog ? 0 : -1
    case 'end':
      return readsWholeLog ? reader.lastPosition() : reader.view(source).current
    default:
      return readsWholeLog ? Math.max(0, startFrom - 1) : startFrom - 1
  }
}
