import type { FilterSpec } from '../event-filter.js'

/** What a persistent subscription was created with. Numbers are kept as they were given, sensible or not. */
export interface GroupSettings {
  /** A revision as text (stream), `commit/prepare` (whole log), or one of the ends. */
  readonly startFrom: string
  readonly resolveLinks: boolean
  readonly extraStatistics: boolean
  readonly messageTimeoutMs: number
  readonly maxRetryCount: number
  readonly checkpointAfterMs: number
  readonly minCheckpointCount: number
  readonly maxCheckpointCount: number
  /** 0: any number. */
  readonly maxSubscriberCount: number
  readonly liveBufferSize: number
  readonly readBatchSize: number
  readonly historyBufferSize: number
  readonly strategy: string
}

export interface GroupDefinition {
  /** A stream, or `$all`. */
  readonly source: string
  readonly group: string
  readonly filter?: FilterSpec
  readonly settings: GroupSettings
}

export const wholeLog = '$all'
export const strategies = ['RoundRobin', 'DispatchToSingle', 'Pinned', 'PinnedByCorrelation'] as const

/** What the real server refuses. All else is taken as it comes, and must do no harm. */
export function areSettingsValid({ readBatchSize, historyBufferSize, strategy }: GroupSettings): boolean {
  return readBatchSize < historyBufferSize && strategies.some((name) => name === strategy)
}

export function checkpointStream({ source, group }: Pick<GroupDefinition, 'source' | 'group'>): string {
  return `$persistentsubscription-${source}::${group}-checkpoint`
}

export function parkedStream({ source, group }: Pick<GroupDefinition, 'source' | 'group'>): string {
  return `$persistentsubscription-${source}::${group}-parked`
}
