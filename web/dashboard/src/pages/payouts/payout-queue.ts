import type { PayoutQueueResponse, PayoutTab, TransferRow } from '../../../../../src/http/dashboard/api'

export function isWaiting({ status }: Pick<TransferRow, 'status'>): boolean {
  return status === 'Pending' || status === 'ManualControl'
}

const isIn: { readonly [tab in PayoutTab]: (row: Pick<TransferRow, 'claim' | 'canApprove'>) => boolean } = {
  unclaimed: ({ claim }) => claim === null,
  mine: ({ claim }) => claim?.mine === true,
  approval: ({ canApprove }) => canApprove,
  all: () => true,
}

/**
 * Returns the queue with the newer revisions among the rows. A withdrawal that has left the queue or the tab is removed, and a new one is
 * added unless newer ones are omitted.
 */
export function withNewer(
  answer: PayoutQueueResponse,
  tab: PayoutTab,
  rows: readonly TransferRow[],
): PayoutQueueResponse {
  const byId = new Map(answer.items.map((row) => [row.trackingId, row]))
  const last = answer.items.at(-1)?.createdAt ?? ''
  for (const row of rows) {
    const shown = byId.get(row.trackingId)
    if (row.kind !== 'withdrawal' || (shown && shown.revision >= row.revision)) continue
    if (!shown && answer.more && row.createdAt > last) continue
    if (isWaiting(row) && isIn[tab](row)) byId.set(row.trackingId, row)
    else byId.delete(row.trackingId)
  }
  return { ...answer, items: oldestFirst([...byId.values()]) }
}

/**
 * Returns the rows with the results of the user's own actions, because lists show events with a delay. A withdrawal that the user has
 * claimed keeps its place, even if it has left the tab, until it no longer waits.
 */
export function withKnown(rows: readonly TransferRow[], known: ReadonlyMap<string, TransferRow>): TransferRow[] {
  const byId = new Map(rows.map((row) => [row.trackingId, row]))
  for (const row of known.values()) {
    if ((byId.get(row.trackingId)?.revision ?? -1) < row.revision) byId.set(row.trackingId, row)
  }
  return oldestFirst([...byId.values()].filter(isWaiting))
}

function oldestFirst(rows: readonly TransferRow[]): TransferRow[] {
  return [...rows].sort((a, b) => compare(a.createdAt, b.createdAt) || compare(a.trackingId, b.trackingId))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Returns whether the user can pay the withdrawal in a batch. Manual control is included only on request. */
export function isSelectable({ status, awaitsApproval, claim }: TransferRow, withManualControl: boolean): boolean {
  return !awaitsApproval && (claim === null || claim.mine) && (status !== 'ManualControl' || withManualControl)
}
