import type { TransferRow } from '../../../../../src/http/dashboard/api'

/** Replaces rows with their newer revisions. Returns the same array if no row changed, so that nothing renders again. */
export function withNewerRows(rows: readonly TransferRow[], changed: readonly TransferRow[]): readonly TransferRow[] {
  const byId = new Map(changed.map((row) => [row.trackingId, row]))
  const newest = rows.map((row) => {
    const next = byId.get(row.trackingId)
    return next && next.revision > row.revision ? next : row
  })
  return newest.some((row, index) => row !== rows[index]) ? newest : rows
}
