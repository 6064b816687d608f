/** The tabs of the payout queue. `approval`: the viewer can approve the withdrawal. */
export const payoutTabs = ['unclaimed', 'mine', 'approval', 'all'] as const
export type PayoutTab = (typeof payoutTabs)[number]

interface Queued {
  readonly trackingId: string
  readonly createdAt: string
}

/** Orders the withdrawals of the payout queue by their creation. */
export function oldestFirst(a: Queued, b: Queued): number {
  const [left, right] = a.createdAt === b.createdAt ? [a.trackingId, b.trackingId] : [a.createdAt, b.createdAt]
  return left < right ? -1 : left > right ? 1 : 0
}
