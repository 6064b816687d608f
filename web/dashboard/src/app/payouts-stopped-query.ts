import { useQuery } from '@tanstack/react-query'
import { api } from '../api/api-client'
import type { PayoutsAnswer } from '../api/contract'

export const payoutsQuery = {
  queryKey: ['payouts'],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => api.get<PayoutsAnswer>('/payouts', {}, signal),
  refetchInterval: 30_000,
}

/** Whether nothing is paid out, since the log does not verify. False while it is not known. */
export function usePayoutsStopped(): boolean {
  return useQuery(payoutsQuery).data?.stopped ?? false
}
