import type { TransferRow, TransfersAnswer } from '../../api/contract'

export const waitingStatuses = ['Pending', 'ManualControl'] as const

export interface Queue {
  readonly items: readonly TransferRow[]
  /** There are younger ones that are not shown. */
  readonly more: boolean
}

export function isWaiting({ status }: Pick<TransferRow, 'status'>): boolean {
  return (waitingStatuses as readonly string[]).includes(status)
}

/** Oldest first, as far as every list reaches: behind the end of a list that goes on, one would be missing. */
export function oneQueue(lists: readonly TransfersAnswer[]): Queue {
  const ends = lists.flatMap(({ items, nextCursor }) => (nextCursor === null ? [] : [items.at(-1)?.createdAt ?? '']))
  const end = ends.sort()[0]
  // One that changed between the two answers is in both.
  const each = new Map<string, TransferRow>()
  for (const row of lists.flatMap((list) => list.items)) {
    if ((each.get(row.trackingId)?.revision ?? -1) < row.revision) each.set(row.trackingId, row)
  }
  const items = [...each.values()]
    .filter(({ createdAt }) => end === undefined || createdAt <= end)
    .sort((a, b) => compare(a.createdAt, b.createdAt) || compare(a.trackingId, b.trackingId))
  return { items, more: end !== undefined }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Lists are a moment behind the log: what a person has just done is shown as the log has it. */
export function asKnown(rows: readonly TransferRow[], known: ReadonlyMap<string, TransferRow>): TransferRow[] {
  return rows
    .map((row) => {
      const fresh = known.get(row.trackingId)
      return fresh && fresh.revision > row.revision ? fresh : row
    })
    .filter(isWaiting)
}
