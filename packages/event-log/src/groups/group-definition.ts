import { InvalidSettingsError, type PersistentSubscriptionSettings } from '../event-log-types.js'
import type { LogReader } from '../reader/log-reader.js'

/** What a group of the whole log has for a stream. */
export const wholeLog = '$all'

export const strategies = ['RoundRobin', 'DispatchToSingle', 'Pinned', 'PinnedByCorrelation'] as const
export type StrategyName = (typeof strategies)[number]

type Common = Omit<PersistentSubscriptionSettings, 'startFrom' | 'streamPrefixes' | 'consumerStrategy'>

/** A group's settings. Numbers are kept as they were given, sensible or not. */
export interface GroupSettings extends Common {
  /** Where a group without a checkpoint begins, inclusive: a position of the log, or a revision of the group's stream. */
  readonly startFrom: 'start' | 'end' | number
  /** The same as a client of the protocol wrote it: it need be no event's place, nor fit into a double. */
  readonly startText?: string
  readonly resolveLinks: boolean
  readonly extraStatistics: boolean
  readonly strategy: StrategyName
}

/** Which events of the whole log a group wants. Prefixes are or-ed; an expression counts alone. */
export interface EventFilter {
  readonly on: 'stream' | 'type'
  readonly regex?: string
  readonly prefixes: readonly string[]
}

/** Who made a group says by which {@link Rules} it goes. */
export type Maker = 'service' | 'protocol'

/** A group by its name: two sources may each have one of the same. */
export interface GroupName {
  /** A stream, or {@link wholeLog}. */
  readonly source: string
  readonly group: string
}

export interface GroupDefinition extends GroupName {
  readonly madeBy: Maker
  readonly filter?: EventFilter
  readonly settings: GroupSettings
}

export interface StoredGroup extends GroupDefinition {
  /** Made anew with each creation: what was written for a deleted group of the same name means nothing to this one. */
  readonly generation: string
  /** Made anew with each update. */
  readonly version: string
  /** Behind this place it begins without a checkpoint. Absent: where `startFrom` says when it is loaded. */
  readonly startAfter?: number
  /** Revisions of its streams at which it was made: theirs, if EventStoreDB's form has no room for the generation. */
  readonly since: { readonly checkpoint: number; readonly parked: number }
}

export function keyOf({ source, group }: GroupName): string {
  return JSON.stringify([source, group])
}

export function groupStream({ source, group }: GroupName, kind: 'checkpoint' | 'parked' | 'replay'): string {
  return `$persistentsubscription-${source}::${group}-${kind}`
}

/** What EventStoreDB refuses. All else is taken as it comes, and must do no harm. @throws InvalidSettingsError */
export function checkSettings({ source, settings }: GroupDefinition, reader: LogReader): void {
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

/** The place behind which a group without a checkpoint begins. */
export function placeBefore({ source, settings }: GroupDefinition, reader: LogReader): number {
  const { startFrom } = settings
  const isOfAll = source === wholeLog
  switch (startFrom) {
    case 'start':
      return isOfAll ? 0 : -1
    case 'end':
      return isOfAll ? reader.lastPosition() : reader.view(source).current
    default:
      return isOfAll ? Math.max(0, startFrom - 1) : startFrom - 1
  }
}
