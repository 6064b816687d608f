import { oldestFirst } from '../../../../../src/domain/transfer/payout-queue'
import { isTerminal } from '../../../../../src/domain/transfer/status'
import type { TransferRow } from '../../../../../src/http/dashboard/api'
import { withNewerRows } from '../transfers/live-rows'

/**
 * Returns the rows with the results of the user's own actions, because lists show events with a delay. A withdrawal that the user has
 * claimed keeps its place, even if it has left the tab, until it has ended.
 */
export function withKnown(rows: readonly TransferRow[], known: readonly TransferRow[]): TransferRow[] {
  const listed = new Set(rows.map(({ trackingId }) => trackingId))
  const others = known.filter(({ trackingId }) => !listed.has(trackingId))
  return [...withNewerRows(rows, known), ...others].filter(({ status }) => !isTerminal(status)).sort(oldestFirst)
}
