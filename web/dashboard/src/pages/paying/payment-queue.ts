import type { TransferRow, TransfersAnswer } from '../../api/contract'

export const waitingStatuses = ['Pending', 'ManualControl'] as const

export interface Queue {
  readonly items: readonly TransferRow[]
  /** Newer withdrawals exist that are not in the queue yet. */
  readonly hasMore: boolean
}

export function isWaiting({ status }: Pick<TransferRow, 'status'>): boolean {
  return (waitingStatuses as readonly string[]).includes(status)
}

/**
 * Merges lists into one queue, oldest first. The queue ends where the first incomplete list ends, because rows of that list would be
 * missing after it.
 */
export function mergeQueue(lists: readonly TransfersAnswer[]): Queue {
  const ends = lists.flatMap(({ items, nextCursor }) => (nextCursor === null ? [] : [items.at(-1)?.createdAt ?? '']))
  const end = ends.sort()[0]
  // A withdrawal that changed its status between the two responses is in both lists.
  const latest = new Map<string, TransferRow>()
  for (const row of lists.flatMap((list) => list.items)) {
    if ((latest.get(row.trackingId)?.revision ?? -1) < row.revision) latest.set(row.trackingId, row)
  }
  const items = [...latest.values()]
    .filter(({ createdAt }) => end === undefined || createdAt <= end)
    .sort((a, b) => compare(a.createdAt, b.createdAt) || compare(a.trackingId, b.trackingId))
  return { items, hasMore: end !== undefined }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Replaces rows with newer known revisions, because lists show events with a delay, and removes those that no longer wait. */
export function withKnown(rows: readonly TransferRow[], known: ReadonlyMap<string, TransferRow>): TransferRow[] {
  return rows
    .map((row) => {
      const newer = known.get(row.trackingId)
      return newer && newer.revision > row.revision ? newer : row
    })
    .filter(isWaiting)
}
