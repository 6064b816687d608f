import type { InfiniteData } from '@tanstack/react-query'
import type { LiveMessage, TransferRow, TransfersResponse } from '../../../../../src/http/dashboard/api'

export type Pages = InfiniteData<TransfersResponse, string | undefined>

/** Replaces rows with newer revisions. Returns the same object if no row changed, so that nothing renders again. */
export function withNewerRows(pages: Pages, { transfers }: LiveMessage): Pages {
  const changed = new Map(transfers.map((row) => [row.trackingId, row]))
  const isOlder = (row: TransferRow) => (changed.get(row.trackingId)?.revision ?? -1) > row.revision
  if (!pages.pages.some(({ items }) => items.some(isOlder))) return pages
  return {
    ...pages,
    pages: pages.pages.map((page) => ({
      ...page,
      items: page.items.map((row) => (isOlder(row) ? (changed.get(row.trackingId) ?? row) : row)),
    })),
  }
}
