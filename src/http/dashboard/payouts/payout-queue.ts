import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { oldestFirst, type PayoutTab, payoutTabs } from '../../../domain/transfer/payout-queue.js'
import type { Page } from '../../../queries/list-page.js'
import type { PayoutQueueQuery, PayoutQueueResponse, TransferRow } from '../api.js'
import { merchantsOf, readBy } from '../session-guard.js'
import { rowsOf } from '../transfers/dashboard-transfer-view.js'

/** The withdrawals of each status that are read and counted, and the rows of a response. */
const limits = { counted: 500, rows: 200 }

const isIn: { readonly [tab in PayoutTab]: (row: TransferRow) => boolean } = {
  unclaimed: ({ claim }) => claim === null,
  mine: ({ claim }) => claim?.mine === true,
  approval: ({ canApprove }) => canApprove,
  all: () => true,
}

/** Returns the withdrawals that wait for a payment, with the number and the sum of every tab. */
export async function payoutQueue(
  request: FastifyRequest,
  { merchantId, tab = 'all' }: Static<typeof PayoutQueueQuery>,
): Promise<PayoutQueueResponse> {
  const { readers } = request.server.services
  const merchantIds = merchantsOf(request, merchantId)
  const pages: Page<TransferRow>[] = []
  // Sequentially, because a withdrawal that is sent to manual control in between is then found twice instead of missed.
  for (const status of ['Pending', 'ManualControl'] as const) {
    const query = { merchantIds, kind: 'withdrawal', status, sort: 'oldest', limit: limits.counted } as const
    const { items, nextCursor } = await readers.page(readBy(request), 'transfers', query)
    pages.push({ items: await rowsOf(request, items), nextCursor })
  }
  const { items: rows, hasMore } = mergeQueue(pages)
  const items = rows.filter(isIn[tab])
  return {
    items: items.slice(0, limits.rows),
    more: hasMore || items.length > limits.rows,
    tabs: payoutTabs.map((name) => {
      const inTab = rows.filter(isIn[name])
      const sumMinor = inTab.reduce((sum, { amountMinor }) => sum + BigInt(amountMinor), 0n)
      return { tab: name, count: inTab.length, sumMinor: String(sumMinor) }
    }),
    uncounted: hasMore,
  }
}

/**
 * Merges lists into one queue, oldest first. The queue ends where the first incomplete list ends, because rows of that list would be
 * missing after it.
 */
export function mergeQueue<Row extends Pick<TransferRow, 'trackingId' | 'revision' | 'createdAt'>>(
  lists: readonly Page<Row>[],
) {
  const ends = lists.flatMap(({ items, nextCursor }) => (nextCursor === null ? [] : [items.at(-1)?.createdAt ?? '']))
  const end = ends.sort()[0]
  const latest = new Map<string, Row>()
  for (const row of lists.flatMap(({ items }) => items)) {
    if ((latest.get(row.trackingId)?.revision ?? -1) < row.revision) latest.set(row.trackingId, row)
  }
  const items = [...latest.values()].filter(({ createdAt }) => end === undefined || createdAt <= end).sort(oldestFirst)
  return { items, hasMore: end !== undefined }
}
